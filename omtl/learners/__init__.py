"""Learners: the rules of one round, in the symbols of their papers, one module per family.

The rules are compiled into the loop that plays a stream (`omtl.kernel.rules` says which there are).
`omtl.sklearn` has them as scikit-learn estimators, `omtl.reference` in plain NumPy.
"""
