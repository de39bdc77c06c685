"""The operations for writing your own learner: products with rows, steps along them.

Each works in plain Python and in compiled rules, for dense and sparse rows alike.
`omtl.kernel` has more: scaled and sparse weight vectors, vectors on a network.
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
