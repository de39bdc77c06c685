"""End-to-end runs: compute missing units, compare with the published numbers, show, write."""
