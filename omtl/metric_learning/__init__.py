"""Large margin metrics of one or many tasks: models, their objective, its descent."""
