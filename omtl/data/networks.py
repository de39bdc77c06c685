"""Networks of learning nodes: neighbours and their combination weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from scipy.sparse.csgraph import connected_components

from omtl.util.errors import UserError, choose


def full(n_nodes: int) -> np.ndarray:
    """Return the adjacency of the network in which all nodes are neighbours."""
    return np.ones((n_nodes, n_nodes)) - np.eye(n_nodes)


def _path(n_nodes: int) -> np.ndarray:
    """Return the adjacency of a path."""
    return np.eye(n_nodes, k=1) + np.eye(n_nodes, k=-1)


def ring(n_nodes: int) -> np.ndarray:
    """Return the adjacency of a ring."""
    near = _path(n_nodes)
    if n_nodes > 1:
        near[0, -1] = near[-1, 0] = 1.0
    return near


def grid(n_nodes: int) -> np.ndarray:
    """Return the adjacency of a rectangular grid, as square as the number of nodes allows."""
    rows = next(k for k in range(int(n_nodes**0.5), 0, -1) if n_nodes % k == 0)
    columns = n_nodes // rows
    return np.kron(_path(rows), np.eye(columns)) + np.kron(np.eye(rows), _path(columns))


TOPOLOGIES = {"full": full, "ring": ring, "grid": grid}
WEIGHTS = ("uniform", "metropolis")


def adjacency(n_nodes: int, edges: Iterable[Sequence[int]]) -> np.ndarray:
    """Return the symmetric 0/1 matrix of the edges.

    Raises
    ------
    UserError
        If an edge leaves the network or the network is not connected.
    """
    near = np.zeros((n_nodes, n_nodes))
    for edge in edges if isinstance(edges, Iterable) else [edges]:
        ends = np.array(edge, dtype=object)
        if ends.shape != (2,) or not all(
            isinstance(end, int | np.integer) and 0 <= end < n_nodes for end in ends
        ):
            raise UserError(
                f"network: edge {edge!r} is not a pair of nodes; give two numbers from 0 to "
                f"{n_nodes - 1}"
            )
        near[ends[0], ends[1]] = near[ends[1], ends[0]] = 1.0
    _refuse_unconnected(near)
    return near


def _refuse_unconnected(links: np.ndarray) -> None:
    """Refuse a network of several parts, by a matrix that is not 0 where two nodes are linked."""
    alone = np.flatnonzero(connected_components(links, directed=False)[1] != 0).tolist()
    if alone:
        raise UserError(
            f"network: nodes {alone} cannot be reached from node 0; add an edge to them"
        )


def uniform_weights(near: np.ndarray, include_self: bool) -> np.ndarray:
    """Return 1/N for each of a node's N neighbours (DOM paper, section 4.1).

    Rows sum to 1; columns do so only if all nodes have the same number of neighbours.
    """
    near = near.copy()
    np.fill_diagonal(near, 1.0 if include_self or near.shape[0] == 1 else 0.0)
    return near / near.sum(axis=1, keepdims=True)


def metropolis_weights(near: np.ndarray) -> np.ndarray:
    """Return the Metropolis weights: doubly stochastic on any network (DOM, assumption 2)."""
    near = near.copy()
    np.fill_diagonal(near, 0.0)
    degree = near.sum(axis=1)
    mixing = near / (1.0 + np.maximum.outer(degree, degree))
    np.fill_diagonal(mixing, 1.0 - mixing.sum(axis=1))
    return mixing


def mixing_matrix(
    n_nodes: int,
    topology: str = "full",
    edges: Iterable[Sequence[int]] | None = None,
    weights: str = "uniform",
    include_self: bool = True,
) -> np.ndarray:
    """Return the combination weights A of a network, shape (n_nodes, n_nodes).

    Parameters
    ----------
    n_nodes : int
        Number of nodes.
    topology : str
        A name in `TOPOLOGIES`; ignored if `edges` are given.
    edges : pairs of node numbers, optional
        Any undirected, connected network.
    weights : {"uniform", "metropolis"}
        How a node weights its neighbours.
    include_self : bool
        Whether a node is its own neighbour (uniform weights only).

    Raises
    ------
    UserError
        On an unknown name, a number of nodes below 1, or a network that is not connected.
    """
    if not isinstance(n_nodes, int | np.integer) or n_nodes < 1:
        raise UserError(f"network.n_nodes={n_nodes!r} must be a positive whole number")
    if edges is None and topology not in TOPOLOGIES:
        raise UserError(
            f"network: no topology {topology!r}; choose from {', '.join(TOPOLOGIES)} "
            "or give network.edges"
        )
    near = TOPOLOGIES[topology](n_nodes) if edges is None else adjacency(n_nodes, edges)
    choose("network.weights", weights, WEIGHTS)
    return uniform_weights(near, include_self) if weights == "uniform" else metropolis_weights(near)


def modes(mixing: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the modes of the combination matrix: A = to_nodes · diag(decay) · from_nodes.

    In this basis one combination multiplies each mode by its decay, whatever the number of
    features.

    Parameters
    ----------
    mixing : ndarray of shape (n_nodes, n_nodes)
        Weights of an undirected network: reversible, that is symmetric up to a scaling of rows.

    Returns
    -------
    decay : ndarray of shape (n_modes,)
        The eigenvalues, largest first; those that are 0 are left out.
    to_nodes : ndarray of shape (n_nodes, n_modes)
    from_nodes : ndarray of shape (n_modes, n_nodes)

    Raises
    ------
    UserError
        If the weights are not those of an undirected, connected network.
    """
    return _modes_of(np.ascontiguousarray(mixing, dtype=float).tobytes(), mixing.shape[0])


@lru_cache(maxsize=64)
def _modes_of(weights: bytes, n_nodes: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the modes of these combination weights, cached: a grid's points share a network."""
    mixing = np.frombuffer(weights).reshape(n_nodes, n_nodes)
    _refuse_unconnected(mixing)
    values, vectors = np.linalg.eig(mixing.T)
    weight = np.abs(np.real(vectors[:, np.argmax(np.real(values))]))
    root = np.sqrt(weight / weight.sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        symmetric = mixing * root[:, None] / root[None, :]
    if not np.allclose(symmetric, symmetric.T, atol=1e-10):
        raise UserError(
            "network: the combination weights belong to no undirected network; "
            "give each link the same weight in both directions"
        )
    decay, basis = np.linalg.eigh((symmetric + symmetric.T) / 2)
    order = np.argsort(-np.abs(decay), kind="stable")
    order = order[np.abs(decay[order]) > 1e-12]
    return (
        decay[order],
        np.ascontiguousarray(basis[:, order] / root[:, None]),
        np.ascontiguousarray(basis[:, order].T * root[None, :]),
    )
