"""The papers' experimental protocols: what one repeat of a learner's grid plays and measures.

A protocol is a module with ``play_grid(learners, setting)``, which returns arrays by name; the
first axis of arrays about learners runs over the learners. A config of the group ``protocol`` names
it under ``module``. ``NEEDS`` may list the methods that a learner must have; missing ones are
reported before anything is played. ``TRACED`` is False in a module that does not note mistakes
along the stream, so that rules without hindsight cannot choose by them.
"""
