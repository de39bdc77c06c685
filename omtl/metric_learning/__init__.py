"""Large-margin metrics for one or many tasks: models, objective and descent."""
