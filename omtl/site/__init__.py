"""The static site of all results, made from ``results/``, the configs and the docstrings.

It is made from files alone, never from the store, and needs no server: a page refers to its
neighbours by relative names, and to nothing outside but by plain links.

`sources` reads the files, one module per kind of page prepares what it shows, `templates` has the
pages themselves, `build` writes them.
"""
