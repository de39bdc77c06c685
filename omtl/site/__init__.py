"""The static site of all results, made from ``results/``, the configs and the docstrings.

It is made from files alone and needs no server: a page refers to its neighbours by relative names,
and to nothing outside but by plain links. The store is only read, for what ``results/`` does not
keep: the numbers of the single repeats and their learning curves. Without it the site is whole, and
says what would fill it.

`gather` reads the files, one module per kind of page prepares what it shows, `templates` has the
pages themselves, `build` writes them.
"""
