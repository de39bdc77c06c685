"""Measures of success: metrics, rankings, groups of tasks, corrections for many tests."""
