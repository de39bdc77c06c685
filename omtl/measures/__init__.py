"""How well a learner did: metrics, rankings, groups of tasks, corrections for many tests."""
