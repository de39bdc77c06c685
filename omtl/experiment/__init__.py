"""Experiments: configs and descriptions, readings, units and their keys, playing, selection."""
