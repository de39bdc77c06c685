"""Statistics beside the tables and figures.

`paired_tests` decide what claims compare, `ranks` are those of a table's algorithms over its data
sets, `diagrams` draws them, and `make` writes all of it.
"""
