"""The networks: who is whose neighbour, the combination weights, and their modes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from learner_cases import edges_of
from profiles import thorough
from scipy.sparse.csgraph import connected_components

from omtl.data.networks import (
    TOPOLOGIES,
    adjacency,
    grid,
    metropolis_weights,
    modes,
    uniform_weights,
)

THOROUGH = thorough(40)
SIZES = list(range(1, 14))
DEGREES = {"full": 13, "ring": 2}


@st.composite
def networks(draw: st.DrawFn) -> np.ndarray:
    """Draw the adjacency of a connected network of 1 to 8 nodes."""
    n_nodes = draw(st.integers(1, 8))
    return adjacency(n_nodes, draw(edges_of(n_nodes)))


@pytest.mark.parametrize("n_nodes", SIZES)
@pytest.mark.parametrize("topology", TOPOLOGIES)
def test_topologies_are_connected(topology: str, n_nodes: int) -> None:
    """Every named network has all its nodes in one piece, and no node linked to itself.

    All are neighbours in the full network; two are, in a ring.
    """
    near = TOPOLOGIES[topology](n_nodes)
    assert near.shape == (n_nodes, n_nodes)
    assert connected_components(near)[0] == 1
    np.testing.assert_array_equal(near, near.T)
    assert set(np.unique(near)) <= {0.0, 1.0}
    assert not near.diagonal().any()
    if topology in DEGREES:
        assert set(near.sum(axis=1)) == {min(DEGREES[topology], n_nodes - 1)}


@pytest.mark.parametrize(
    ("n_nodes", "degrees", "n_edges"),
    [
        (4, {2: 4}, 4),
        (9, {2: 4, 3: 4, 4: 1}, 12),
        (12, {2: 4, 3: 6, 4: 2}, 17),
        (6, {2: 4, 3: 2}, 7),
        (5, {1: 2, 2: 3}, 4),
    ],
)
def test_grids(n_nodes: int, degrees: dict[int, int], n_edges: int) -> None:
    """Grids of 2×2, 3×3, 3×4, 2×3, and a path where the number of nodes is prime."""
    near = grid(n_nodes)
    assert Counter(near.sum(axis=1).astype(int).tolist()) == degrees
    assert near.sum() == 2 * n_edges


KINDS = st.sampled_from(["uniform", "no self", "metropolis"])


def weights(near: np.ndarray, kind: str) -> np.ndarray:
    """Return the mixing of a network by weights of a kind."""
    if kind == "metropolis":
        return metropolis_weights(near)
    return uniform_weights(near, kind == "uniform")


@THOROUGH
@given(networks(), KINDS)
def test_weights_of_a_network(near: np.ndarray, kind: str) -> None:
    """On neighbours alone; rows sum to 1. Uniform ones are equal, the others symmetric."""
    mixing = weights(near, kind)
    linked = near.copy()
    np.fill_diagonal(linked, kind != "no self" or near.shape[0] == 1)
    np.testing.assert_array_equal(mixing > 0, linked > 0)
    np.testing.assert_allclose(mixing.sum(axis=1), 1.0, rtol=1e-14)
    if kind == "metropolis":
        np.testing.assert_array_equal(mixing, mixing.T)
    else:
        assert all(len(set(row[row > 0])) == 1 for row in mixing)


@THOROUGH
@given(networks(), KINDS, st.integers(0, 40))
def test_modes_are_the_mixing(near: np.ndarray, kind: str, power: int) -> None:
    """A = to_nodes · diag(decay) · from_nodes, and so for its powers."""
    mixing = weights(near, kind)
    decay, to_nodes, from_nodes = modes(mixing)
    n_nodes, n_modes = mixing.shape[0], decay.size
    assert to_nodes.shape == (n_nodes, n_modes)
    assert from_nodes.shape == (n_modes, n_nodes)
    assert to_nodes.flags.c_contiguous
    assert from_nodes.flags.c_contiguous
    np.testing.assert_allclose((to_nodes * decay) @ from_nodes, mixing, atol=1e-12)
    np.testing.assert_allclose(
        (to_nodes * decay ** (power + 1)) @ from_nodes,
        np.linalg.matrix_power(mixing, power + 1),
        atol=1e-11,
    )
    np.testing.assert_allclose(from_nodes @ to_nodes, np.eye(n_modes), atol=1e-11)
    assert np.all(np.abs(decay[:-1]) >= np.abs(decay[1:]))
    assert np.abs(decay).max() == pytest.approx(1.0)
    assert n_modes == np.linalg.matrix_rank(mixing, tol=1e-11)


@pytest.mark.parametrize(("apart", "n_modes"), [(1e-6, 2), (1e-14, 1)])
def test_only_modes_below_rounding_vanish(apart: float, n_modes: int) -> None:
    near, far = 0.5 + apart, 0.5 - apart
    assert modes(np.array([[near, far], [far, near]]))[0].size == n_modes
