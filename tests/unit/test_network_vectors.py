"""Vectors side by side and those of a network: several at a time are as one by one."""

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
from omtl.kernel import network, side_by_side
from omtl.kernel.inlining import OPTIONS
from omtl.kernel.network import Network, NodeVectors
from omtl.kernel.play import play
from omtl.kernel.products import row_dot
from omtl.kernel.rules import Shape, row_at
from omtl.kernel.side_by_side import SideBySide
from omtl.learners.dom import DA

compiled = njit(cache=True, **OPTIONS)


@compiled
def dot_slots(W: SideBySide, rows: Rows, x: int, n: int, slots: tuple[int, ...]) -> None:
    """Call the compiled form."""
    side_by_side.dot_slots(W, row_at(rows, x), n, slots)


@compiled
def axpy_slots(W: SideBySide, rows: Rows, x: int, n: int, slots: tuple[int, ...]) -> None:
    """Call the compiled form."""
    side_by_side.axpy_slots(W, row_at(rows, x), n, slots)


@compiled
def dot_node(net: NodeVectors, rows: Rows, x: int, i: int, out: np.ndarray) -> None:
    """Call the compiled form."""
    network.dot_node(net, i, row_at(rows, x), out)


@compiled
def dot_nodes(net: NodeVectors, rows: Rows, x: int, s: int, out: np.ndarray) -> None:
    """Call the compiled form."""
    network.dot_nodes(net, s, row_at(rows, x), out)


@compiled
def add_node(net: NodeVectors, rows: Rows, x: int, i: int, shares: np.ndarray) -> None:
    """Call the compiled form."""
    network.add_node(net, i, 2.0, shares, row_at(rows, x))


@compiled
def set_step(net: Network, i: int, s: int, a: float) -> None:
    """Call the compiled rule."""
    network.set_step(net, i, s, a)


@compiled
def combine(net: Any, rows: Rows) -> None:
    """Call the compiled rule."""
    network.combine(net, rows)


def filled(n: int, is_sparse: bool) -> SideBySide:
    """Return vectors of 20 features and steps that are no zeros, and no products."""
    W = side_by_side.side_by_side(Shape(1, 20, np.ones((1, 1)), sparse=is_sparse), n)
    rng = np.random.default_rng(0)
    W.vectors[:] = rng.normal(size=W.vectors.shape)
    W.steps[:] = rng.normal(size=n)
    W.products[:] = np.nan
    return W


def sparse_rows(*counts: int) -> SparseRows:
    """Return sparse rows of 20 features with so many nonzeros."""
    rng = np.random.default_rng(1)
    X = np.zeros((len(counts), 20))
    for i, n in enumerate(counts):
        X[i, rng.choice(20, n, replace=False)] = rng.normal(size=n)
    rows = rows_of(sparse.csr_array(X))
    assert isinstance(rows, SparseRows)
    return rows


@pytest.mark.parametrize("n", [1, 4, 9, 23])
@pytest.mark.parametrize("slots", [(0,), (2,), (2, 0)])
def test_slots_of_sparse_rows_do_not_meet(slots: tuple[int, ...], n: int) -> None:
    """Every number of lanes: the slots asked for, in the order of the nonzeros, and no other."""
    rows = sparse_rows(7, 0)
    asked = np.concatenate([np.arange(s * n, s * n + n) for s in slots])
    for x in range(2):
        W = filled(3 * n, is_sparse=True)
        before = W.vectors.copy()
        part = slice(rows.indptr[x], rows.indptr[x + 1])
        indices, values = rows.indices[part], rows.values[part]
        dot_slots(W, rows, x, n, slots)
        for s in slots:
            for p in range(s * n, s * n + n - n % 4):
                total = 0.0
                for f, value in zip(indices, values, strict=True):
                    total += value * before[p, f]
                assert W.products[p] == total
        np.testing.assert_allclose(W.products[asked], before[asked][:, indices] @ values, 1e-12)
        assert np.isnan(np.delete(W.products, asked)).all()
        plain = filled(3 * n, is_sparse=True)
        side_by_side.dot_slots(plain, row_at(rows, x), n, slots)
        np.testing.assert_allclose(W.products, plain.products, rtol=1e-12, atol=1e-15)
        axpy_slots(W, rows, x, n, slots)
        for p in asked:
            before[p, indices] += values * W.steps[p]
        np.testing.assert_array_equal(W.vectors, before)
        side_by_side.axpy_slots(plain, row_at(rows, x), n, slots)
        np.testing.assert_array_equal(plain.vectors, before)


@pytest.mark.parametrize("n", [1, 3, 7])
@pytest.mark.parametrize("slots", [(0,), (2,), (2, 0)])
def test_slots_of_dense_rows_do_not_meet(slots: tuple[int, ...], n: int) -> None:
    """The slots asked for and no other, to the bits of one vector at a time."""
    rows = DenseRows(np.random.default_rng(2).normal(size=(3, 20)))
    asked = np.concatenate([np.arange(s * n, s * n + n) for s in slots])
    W, one = filled(3 * n, is_sparse=False), filled(3 * n, is_sparse=False)
    before = W.vectors.copy()
    dot_slots(W, rows, 1, n, slots)
    for p in asked.tolist():
        dot_slots(one, rows, 1, 1, (p,))
    np.testing.assert_array_equal(W.products, one.products)
    np.testing.assert_allclose(W.products[asked], before[asked] @ rows.X[1], rtol=1e-12)
    axpy_slots(W, rows, 2, n, slots)
    before[asked] += np.outer(W.steps[asked], rows.X[2])
    np.testing.assert_array_equal(W.vectors, before)


def own_vectors(n_nodes: int, topology: str, n_slots: int) -> NodeVectors:
    """Return nodes' own vectors of 20 features that are no zeros."""
    mixing = 0.7 * np.eye(n_nodes) + 0.3 * mixing_matrix(n_nodes, topology)
    net = network.network(Shape(n_slots, 20, mixing), n_slots, by_node=True)
    assert isinstance(net, NodeVectors)
    net.W.vectors[:] = np.random.default_rng(0).normal(size=net.W.vectors.shape)
    return net


@pytest.mark.parametrize("n_nodes", [2, 3, 5, 9])
@pytest.mark.parametrize("topology", ["full", "grid", "ring"])
def test_nodes_own_vectors_are_combined(n_nodes: int, topology: str) -> None:
    """Each node's slots are multiplied by the weights, whatever the number of neighbours."""
    net = own_vectors(n_nodes, topology, 2)
    expected = np.einsum("ij,jsf->isf", net.mixing, net.W.vectors.reshape(n_nodes, 2, -1))
    combine(net, rows_of(np.ones((1, 20))))
    got = net.W.vectors.reshape(expected.shape)
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-14)


def test_nodes_own_vectors_are_met_where_they_lie() -> None:
    """One node's slots, or a slot of all nodes, and no others."""
    rows = DenseRows(np.random.default_rng(2).normal(size=(2, 20)))
    net = own_vectors(3, "ring", 4)
    products = (net.W.vectors @ rows.X[1]).reshape(3, 4)
    out = np.zeros(3)
    dot_nodes(net, rows, 1, 2, out)
    np.testing.assert_allclose(out, products[:, 2], rtol=1e-12)
    out = np.zeros(4)
    dot_node(net, rows, 1, 1, out)
    np.testing.assert_allclose(out, products[1], rtol=1e-12)
    before, shares = net.W.vectors.copy(), np.array([0.0, 0.5, 0.25, 0.25])
    add_node(net, rows, 0, 2, shares)
    before[8:] += np.outer(2.0 * shares, rows.X[0])
    np.testing.assert_array_equal(net.W.vectors, before)


@pytest.mark.parametrize("include_self", [True, False])
def test_knowledge_spreads_link_by_link(include_self: bool) -> None:
    """A node scores by a slot once somebody told it of it, and what is settled may change."""
    mixing = mixing_matrix(6, "ring", include_self=include_self)
    rows = rows_of(np.ones((1, 20)))
    net = network.network(Shape(2, 20, mixing), 2)
    assert isinstance(net, Network)
    known = np.zeros((6, 2), dtype=bool)
    for t in range(12):
        if t in (0, 7):
            slot = int(t > 0)
            set_step(net, 3, slot, 1.0)
            known[3, slot] = True
        combine(net, rows)
        known = (mixing @ known) > 0.0
        np.testing.assert_array_equal(net.known, known)
        stays = (known == ((mixing @ known) > 0.0)).all(axis=0)
        assert (~net.settled | stays).all()


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
