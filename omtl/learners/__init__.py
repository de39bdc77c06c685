"""Learners: the rules of one round, in the symbols of their papers, one module per family.

The rules, listed in `omtl.kernel.rules`, are compiled into the loop that plays a stream.
`omtl.sklearn` has the learners as scikit-learn estimators, `omtl.reference` in plain NumPy.
"""
