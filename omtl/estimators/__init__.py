"""The learners as scikit-learn estimators; `omtl.learners` gives them by their names."""
