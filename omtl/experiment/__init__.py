"""Experiments and their identity: configs, prepared data, units, selection."""
