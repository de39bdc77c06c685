"""The papers' experimental protocols: what one repeat of a learner's grid plays and measures.

A protocol is a module with ``play_grid(learners, setting)``, which returns arrays by name, the
first axis of each that tells of learners running over them. A config of the group ``protocol``
names it under ``module``. A protocol may name in ``NEEDS`` the methods that a learner must have
for it; what a learner lacks is then said before anything is played.
"""
