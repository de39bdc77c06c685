"""The figures of the papers, from a description in ``experiments/`` to files.

`plan` reads what a figure needs, `play` computes what the store lacks of it, `numbers` are what it
shows, `drawing` decides how they look, and `make` writes all of it.
"""
