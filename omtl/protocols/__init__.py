"""The papers' experimental protocols: what one repeat of a learner's grid does and measures.

A protocol is a module with ``play_grid(learners, setting)``, which returns arrays by name, the
first axis of each that tells of learners running over them. A config of the group ``protocol``
names it under ``module``.
"""
