"""End to end: compute missing units, compare with the published numbers, show, write."""
