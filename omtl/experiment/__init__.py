"""What is run, and its identity: configs, data as learners are fed them, units, selection."""
