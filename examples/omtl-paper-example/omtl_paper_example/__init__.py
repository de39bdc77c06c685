"""An example of an extension of omtl: a learner, a data set and a paper."""
