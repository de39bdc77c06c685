# The researcher with a method and data of their own: from an empty folder to a paper's table.
set -eu
omtl new learner my_learner
omtl check my_learner.py
omtl run algorithm=my_learner dataset=random_walk dataset.options.n_examples=100 repeats=2
omtl compare algorithm=my_learner dataset.options.n_examples=100 repeats=5 --against pa,pa_pooled
omtl compare algorithm=my_learner dataset=random_walk,outlier_walk_small dataset.options.n_examples=60 repeats=3 --against pa,pm,coml --to paper
grep textbf paper/comparison.tex
test -s paper/curves.svg
test -s paper/repeats.csv
omtl new dataset my_data
omtl list datasets | grep my_data
omtl compare algorithm=coml dataset=my_data --against pa,pa_pooled repeats=5 selection=progressive
