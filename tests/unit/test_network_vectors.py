"""The network's vectors: many places at a time are heard and learnt as one by one, to the bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numba import njit
from scipy import sparse

from omtl.data.examples import examples_of
from omtl.data.networks import mixing_matrix
from omtl.data.rows import DenseRows, Rows, SparseRows, rows_of
from omtl.data.streams import Tasks, rounds
from omtl.kernel import network
from omtl.kernel.inlining import OPTIONS
from omtl.kernel.network import Network
from omtl.kernel.play import play
from omtl.kernel.products import row_dot
from omtl.kernel.rules import Shape, row_at
from omtl.learners.dom import DA

compiled = njit(cache=True, **OPTIONS)


@compiled
def dot_slots(net: Network, rows: Rows, x: int, first: int, last: int) -> None:
    """Call the compiled twin."""
    network.dot_slots(net, row_at(rows, x), first, last)


@compiled
def axpy_slots(net: Network, rows: Rows, x: int, first: int, last: int) -> None:
    """Call the compiled twin."""
    network.axpy_slots(net, row_at(rows, x), first, last)


@compiled
def dot_pair(net: Network, rows: Rows, x: int, slot: int, other: int) -> None:
    """Call the compiled twin."""
    network.dot_pair(net, row_at(rows, x), slot, other)


@compiled
def axpy_pair(net: Network, rows: Rows, x: int, slot: int, other: int) -> None:
    """Call the compiled twin."""
    network.axpy_pair(net, row_at(rows, x), slot, other)


@compiled
def dot_node(net: Network, node: int, rows: Rows, x: int, first: int, last: int) -> None:
    """Call the compiled twin."""
    network.dot_node(net, node, row_at(rows, x), first, last)


@compiled
def axpy_node(net: Network, node: int, rows: Rows, x: int, first: int, last: int) -> None:
    """Call the compiled twin."""
    network.axpy_node(net, node, row_at(rows, x), first, last)


@compiled
def set_step(a: float, net: Network, node: int, slot: int) -> None:
    """Call the compiled rule."""
    network.set_step(a, net, node, slot)


@compiled
def combine(net: Network, rows: Rows) -> None:
    """Call the compiled rule."""
    network.combine(net, rows)


def filled(n_slots: int, mixing: np.ndarray, rows: Rows, **how: Any) -> Network:
    """Return vectors, steps and products that are no zeros, for rows of 20 features."""
    is_sparse = isinstance(rows, SparseRows)
    net = network.network(Shape(n_slots, 20, mixing, sparse=is_sparse), n_slots, **how)
    rng = np.random.default_rng(0)
    for p in range(net.steps.size):
        network.place(net, rows, p)[:] = rng.normal(size=20)
    net.steps[:] = rng.normal(size=net.steps.size)
    net.products[:] = np.nan
    return net


def sparse_rows(*counts: int) -> SparseRows:
    """Return sparse rows of 20 features with so many nonzeros."""
    rng = np.random.default_rng(1)
    X = np.zeros((len(counts), 20))
    for i, n in enumerate(counts):
        X[i, rng.choice(20, n, replace=False)] = rng.normal(size=n)
    rows = rows_of(sparse.csr_array(X))
    assert isinstance(rows, SparseRows)
    return rows


@pytest.mark.parametrize("n_modes", [1, 4, 9])
@pytest.mark.parametrize("n_slots", range(1, 8))
def test_places_of_sparse_rows_do_not_meet(n_slots: int, n_modes: int) -> None:
    """Every number of lanes: the slots asked for, in the order of the nonzeros, and no other."""
    mixing = 0.7 * np.eye(n_modes) + 0.3 * mixing_matrix(n_modes, "ring")
    rows = sparse_rows(7, 0)
    first, last = min(1, n_slots - 1), n_slots
    begin, end = first * n_modes, last * n_modes
    in_fours = end - (end - begin) % 4
    for x in range(2):
        net = filled(n_slots, mixing, rows)
        before = net.vectors.copy()
        part = slice(rows.indptr[x], rows.indptr[x + 1])
        dot_slots(net, rows, x, first, last)
        for p in range(begin, in_fours):
            total = 0.0
            for i, value in zip(rows.indices[part], rows.values[part], strict=True):
                total += value * before[i, p]
            assert net.products[p] == total
        expected = before[rows.indices[part]].T @ rows.values[part]
        np.testing.assert_allclose(net.products[begin:end], expected[begin:end], rtol=1e-12)
        assert np.isnan(np.delete(net.products, slice(begin, end))).all()
        axpy_slots(net, rows, x, first, last)
        before[rows.indices[part], begin:end] += np.outer(rows.values[part], net.steps[begin:end])
        np.testing.assert_array_equal(net.vectors, before)


@pytest.mark.parametrize("n_slots", [1, 3, 6])
def test_places_of_dense_rows_do_not_meet(n_slots: int) -> None:
    """Few places and many, where the row is copied first; what follows the features stays zero."""
    rows = DenseRows(np.random.default_rng(2).normal(size=(3, 20)))
    net = filled(n_slots, 0.7 * np.eye(3) + 0.3 * mixing_matrix(3, "ring"), rows)
    before = net.vectors.copy()
    dot_slots(net, rows, 1, 0, n_slots)
    np.testing.assert_allclose(net.products, before[:, :20] @ rows.X[1], rtol=1e-12)
    axpy_slots(net, rows, 2, 0, n_slots)
    before[:, :20] += np.outer(net.steps, rows.X[2])
    np.testing.assert_array_equal(net.vectors, before)
    assert not net.vectors[:, 20:].any()


@pytest.mark.parametrize("n_nodes", [2, 3, 5, 9])
@pytest.mark.parametrize("topology", ["full", "grid", "ring"])
def test_nodes_own_vectors_are_combined(n_nodes: int, topology: str) -> None:
    """Each node's slots are multiplied by the weights, whatever the number of neighbours."""
    mixing = 0.7 * np.eye(n_nodes) + 0.3 * mixing_matrix(n_nodes, topology)
    rows = rows_of(np.ones((1, 20)))
    net = filled(2, mixing, rows, by_node=True)
    expected = np.einsum("ij,jsf->isf", mixing, net.vectors.reshape(n_nodes, 2, -1))
    combine(net, rows)
    got = net.vectors.reshape(expected.shape)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)


def test_nodes_own_vectors_are_met_where_they_lie() -> None:
    """One node's slots, or a slot of all nodes, and no others."""
    rows = DenseRows(np.random.default_rng(2).normal(size=(2, 20)))
    net = filled(4, 0.7 * np.eye(3) + 0.3 * mixing_matrix(3, "ring"), rows, by_node=True)
    products = (net.vectors[:, :20] @ rows.X[1]).reshape(3, 4)
    dot_slots(net, rows, 1, 2, 3)
    expected = np.full((3, 4), np.nan)
    expected[:, 2] = products[:, 2]
    np.testing.assert_allclose(net.products, expected.ravel(), rtol=1e-12)
    dot_node(net, 1, rows, 1, 0, 4)
    expected[1] = products[1]
    np.testing.assert_allclose(net.products, expected.ravel(), rtol=1e-12)
    before = net.vectors.copy()
    axpy_node(net, 2, rows, 0, 1, 3)
    before[9:11, :20] += np.outer(net.steps[9:11], rows.X[0])
    np.testing.assert_array_equal(net.vectors, before)


@pytest.mark.parametrize("n_modes", [1, 2, 3, 4, 7, 9])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_two_slots_are_met_as_one_by_one(n_modes: int, is_sparse: bool) -> None:
    """To the bit, and no other slot is touched."""
    mixing = 0.7 * np.eye(n_modes) + 0.3 * mixing_matrix(n_modes, "ring")
    rows: Rows = sparse_rows(11, 2)
    if not is_sparse:
        rows = DenseRows(np.random.default_rng(2).normal(size=(2, 20)))
    for x in range(2):
        one, both = filled(3, mixing, rows), filled(3, mixing, rows)
        for slot in (2, 0):
            dot_slots(one, rows, x, slot, slot + 1)
            axpy_slots(one, rows, x, slot, slot + 1)
        dot_pair(both, rows, x, 2, 0)
        axpy_pair(both, rows, x, 2, 0)
        np.testing.assert_array_equal(both.products, one.products)
        np.testing.assert_array_equal(both.vectors, one.vectors)


@pytest.mark.parametrize("include_self", [True, False])
def test_knowledge_spreads_link_by_link(include_self: bool) -> None:
    """A node scores by a slot once somebody told it of it, and what is settled may change."""
    mixing = mixing_matrix(6, "ring", include_self=include_self)
    rows = rows_of(np.ones((1, 20)))
    net = network.network(Shape(2, 20, mixing), 2)
    known = np.zeros((6, 2), dtype=bool)
    for t in range(12):
        if t in (0, 7):
            slot = int(t > 0)
            set_step(1.0, net, 3, slot)
            known[3, slot] = True
        combine(net, rows)
        known = (mixing @ known) > 0.0
        np.testing.assert_array_equal(net.known, known)
        assert not net.settled[0] or (known == ((mixing @ known) > 0.0)).all()


@pytest.mark.parametrize("n_nodes", [2, 4])
def test_products_in_common_are_the_rows_own(n_nodes: int) -> None:
    """DA's points read what others have filled in, and play as they do alone."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 6)) * (rng.random((80, 6)) < 0.5)
    labels = np.where(X.sum(axis=1) + 0.1 * rng.normal(size=80) > 0, 1.0, -1.0)
    tasks = Tasks(sparse.csr_array(X), labels, np.arange(80) % 4, tuple("abcd"))
    stream = rounds(tasks, np.random.default_rng(4), np.random.default_rng(5), n_nodes)
    shape = Shape(4, 6, mixing_matrix(n_nodes), sparse=True, n_examples=(20,) * 4)
    examples = examples_of(tasks)
    common = DA(1.0, 2.0).in_common(shape)
    for learner in (DA(0.01, 2.0), DA(1.0, 0.0), DA(10.0, 8.0)):
        got, state = play(learner, examples, stream, shape, in_common=common)
        alone, _ = play(learner, examples, stream, shape._replace(n_examples=()))
        assert state.pairs is common
        for one, other in zip(got, alone, strict=True):
            np.testing.assert_array_equal(one, other)
    rows = examples.rows
    met = np.flatnonzero(common.before >= 0)
    assert met.size > 20
    for x in met.tolist():
        assert common.product[x] == pytest.approx(
            row_dot(row_at(rows, common.before[x]), row_at(rows, x))
        )
