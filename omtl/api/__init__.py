"""What people import from `omtl`: functions that reproduce, run and compare, and their results."""
