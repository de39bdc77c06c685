"""The neighbours in a network, laid out for sums of three vectors at a time."""

from __future__ import annotations

import numpy as np

from omtl.data.rows import SparseRows


def threes_of(mixing: np.ndarray) -> tuple[SparseRows, np.ndarray]:
    """Return each node's neighbours and their weights, three per row, and the node of each row.

    If a node has exactly four, they are in one row: their sum is bit-identical.
    """
    node, neighbour = np.nonzero(mixing)
    rank = np.arange(node.size) - np.searchsorted(node, node)
    of_four = np.bincount(node)[node] == 4
    begin = np.flatnonzero((rank % 3 == 0) & ~(of_four & (rank == 3)))
    weights = mixing[node, neighbour]
    links = SparseRows(np.append(begin, node.size), neighbour.astype(np.int32), weights)
    return links, node[begin]
