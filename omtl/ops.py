"""The operations for writing your own learner: products with rows, steps along them.

Each works in plain Python and in compiled rules, for dense and sparse rows alike.
`omtl.kernel` has more: scaled and sparse weight vectors, vectors on a network.

>>> import numpy as np
>>> rows = rows_of(np.array([[1.0, 2.0], [3.0, 4.0]]))
>>> x = row_at(rows, 1)
>>> w = np.zeros(2)
>>> axpy(0.5, x, w)
>>> w, dot(w, x)
(array([1.5, 2. ]), 12.5)
"""

from omtl.data.rows import DenseRows, Rows, SparseRows, rows_of, square_norms
from omtl.kernel.inlining import inlined
from omtl.kernel.products import axpy, dot, nonzeros, row_dot, row_sum
from omtl.kernel.rules import Example, row_at

__all__ = [
    "DenseRows",
    "Example",
    "Rows",
    "SparseRows",
    "axpy",
    "dot",
    "inlined",
    "nonzeros",
    "row_at",
    "row_dot",
    "row_sum",
    "rows_of",
    "square_norms",
]
