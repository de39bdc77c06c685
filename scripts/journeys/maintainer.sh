# The maintainer who adds a paper, with its learner and its data, and leaves no file edited.
set -eu
omtl doctor
omtl new learner toy_learner
omtl check toy_learner.py
omtl new dataset toy_data
omtl run dataset=toy_data algorithm=toy_learner
omtl new paper toy
omtl table toy-table1 --cell "PA on Synthetic" --repeats 2
omtl explain toy-table1 "PA on Synthetic" --repeats 2 | grep verdict
