"""Distances between rows under a metric, and the gradients of weighted sums of them.

A squared distance (x_i - x_j)ᵀ M (x_i - x_j) is linear in the metric M. The gradient of a sum of
them, weighted by w_ij, is XᵀLX with the Laplacian L of the graph whose edges have these weights.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from omtl.util.compile_cache import kept

BLOCK = 128
"""Number of columns of a symmetric product computed together."""

DENSE = 8
"""With at least this part of all pairs, 1 / DENSE, it is cheaper to compute all products."""


class Edges(NamedTuple):
    """A weighted graph of a task's n examples: edge e from start[e] to end[e].

    Shapes: `start` and `end` (n_edges,), int64; `weight` (n_edges,).
    """

    start: np.ndarray
    end: np.ndarray
    weight: np.ndarray


def quadratic_form(X: np.ndarray, graph: Edges) -> np.ndarray:
    """Return XᵀLX: the sum over edges e of weight_e (x_start - x_end)(x_start - x_end)ᵀ.

    Parameters
    ----------
    X : ndarray of shape (n, n_features)
    graph : Edges
    """
    n = len(X)
    if DENSE * graph.weight.size > n * n:
        return symmetric_product(X.T, (laplacian(*graph, n) @ X).T)
    shape = (n, n)
    one_way = sparse.coo_array((graph.weight, (graph.start, graph.end)), shape=shape).tocsr()
    degree = np.bincount(graph.start, graph.weight, n) + np.bincount(graph.end, graph.weight, n)
    images = degree[:, None] * X - one_way @ X - one_way.T @ X
    return symmetric_product(X.T, images.T)


def laplacian(start: np.ndarray, end: np.ndarray, weight: np.ndarray, n: int) -> np.ndarray:
    """Return the Laplacian of a graph without parallel edges, shape (n, n)."""
    found = np.zeros((n, n))
    found[start, end] -= weight
    found[end, start] -= weight
    ends = np.column_stack([start, end])
    np.fill_diagonal(found, np.bincount(ends.ravel(), np.repeat(weight, 2), n))
    return found


def all_distances(images: np.ndarray, X: np.ndarray) -> np.ndarray:
    """Return d² between all examples.

    Parameters
    ----------
    images : ndarray of shape (n, n_features)
        The examples times the metric.
    X : ndarray of shape (n, n_features)
    """
    products = images @ X.T
    own = products.diagonal()
    return own[:, None] + own - products - products.T


def some_distances(
    images: np.ndarray, X: np.ndarray, own: np.ndarray, start: np.ndarray, end: np.ndarray
) -> np.ndarray:
    """Return d² between pairs of examples.

    Parameters
    ----------
    images : ndarray of shape (n, n_features)
        The examples times the metric.
    X : ndarray of shape (n, n_features)
    own : ndarray of shape (n,)
        Each example's product with its image.
    start, end : ndarray of int
    """
    return own[start] + own[end] - 2.0 * products(images, X, start, end)


@kept(nogil=True, fastmath={"reassoc", "contract"})
def products(A, B, start, end):
    """Return the products of rows of A with rows of B, by pair, without copies of the rows."""
    found = np.empty(start.size)
    for e in range(start.size):
        total = 0.0
        for f in range(A.shape[1]):
            total += A[start[e], f] * B[end[e], f]
        found[e] = total
    return found


def to_pairs(products: np.ndarray, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """Return d² between pairs of examples, given their products through the metric."""
    own = products.diagonal()
    return own[start] + own[end] - 2.0 * products[start, end]


def symmetric_product(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return A Bᵀ if that is symmetric, at little more than half the cost.

    Parameters
    ----------
    A, B : ndarray of shape (n, m)
    """
    n = len(A)
    product = np.empty((n, n))
    for first in range(0, n, BLOCK):
        block = slice(first, first + BLOCK)
        np.matmul(A[first:], B[block].T, out=product[first:, block])
    return np.tril(product) + np.tril(product, -1).T


def squares(matrices: np.ndarray) -> float:
    """Return the sum of all squared entries."""
    return float(np.vdot(matrices, matrices))


def nearest_in_cone(matrix: np.ndarray) -> np.ndarray:
    """Return the nearest positive semidefinite matrix to a symmetric one.

    NumPy computes eigenvectors without holding Python's lock, so that threads do not wait for each
    other.

    Parameters
    ----------
    matrix : ndarray of shape (n, n)
    """
    values, vectors = np.linalg.eigh(matrix)
    negative = values < 0.0
    fewer = negative if 2 * np.count_nonzero(negative) <= values.size else ~negative
    half = vectors[:, fewer] * np.sqrt(np.abs(values[fewer]))
    product = half @ half.T
    return matrix + product if fewer is negative else product
