"""Replaying a sample of pulled units: does what others sent have the numbers that it says?

What a unit says of itself was written by a stranger, so only learners, data sets and protocols of
this installation's own configs are played: any other name could be that of a function that harms.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from data_fetchers.fetch import DataMissing
from omtl.compute.exchange import Current, identity_of
from omtl.compute.store import Store, StoredRow, packed, unpacked
from omtl.experiment.config import options
from omtl.experiment.playing import compute
from omtl.experiment.specs import FOREIGN, AlgorithmSpec, DataSetSpec, NetworkSpec, ProtocolSpec
from omtl.experiment.unit import Unit
from omtl.util.errors import UserError

SAME, DIFFERENT, NOT_PLAYED = "same", "different", "not played"

SAMPLE = 10
"""Number of units that are replayed by default."""


@dataclass(frozen=True)
class Replay:
    """What became of a pulled unit: its name, where it came from, the result, and why."""

    name: str
    source: str
    result: str
    detail: str = ""

    def __str__(self) -> str:
        """Return the replay as text."""
        detail = f": {self.detail}" if self.detail else ""
        return f"{self.result}: {self.name}, pulled from {self.source}{detail}"


def replay_pulled(
    store: Store, n_units: int | None = None, seed: int | None = None
) -> Iterator[Replay]:
    """Replay pulled units of the installed code, drawn at random, and compare every bit.

    Parameters
    ----------
    store : Store
    n_units : int, optional
        How many; `SAMPLE` by default.
    seed : int, optional
        Seed of the draw; by default one that nobody knows beforehand.

    Raises
    ------
    UserError
        If the store has no pulled units of the installed code.
    """
    is_current = Current()
    found = [row for row in store.rows() if row.source and is_current(row)]
    if not found:
        raise UserError(f"{store.folder} has no pulled units of the installed code")
    rng = np.random.default_rng(secrets.randbits(128) if seed is None else seed)
    for number in rng.permutation(len(found))[: n_units or SAMPLE].tolist():
        yield _replay(found[number])


def unit_of_identity(identity: dict[str, Any]) -> Unit:
    """Return the unit of an identity.

    Raises
    ------
    UserError
        If its learner, data set or protocol is of no config here, or it is malformed.
    """
    algorithms = [AlgorithmSpec.named(name) for name in options("algorithm")]
    learners = {one.learner: one for one in algorithms if one.learner != FOREIGN}
    protocols = {ProtocolSpec.named(name).module for name in options("protocol")}
    asked = {name: identity[name] for name in ("algorithm", "dataset", "protocol", "network")}
    learner, dataset = asked["algorithm"]["learner"], asked["dataset"]["name"]
    if learner not in learners or dataset not in options("dataset"):
        raise UserError(f"{learner} on {dataset} is of no config here")
    if asked["protocol"]["module"] not in protocols or asked["dataset"].get("module") not in {
        DataSetSpec.named(name).module for name in options("dataset")
    }:
        raise UserError("its protocol, or the module of its data, is of no config here")
    name = learner.rpartition(".")[2]  # of the configs that have it, any may be meant
    algorithm = {"name": name, "label": name, "networked": learners[learner].networked}
    grid = {name: asked["algorithm"]["grid"][name] for name in identity["order"]}
    network = asked["network"]
    return Unit(
        AlgorithmSpec.read({**asked["algorithm"], **algorithm, "grid": grid}),
        DataSetSpec.read({**asked["dataset"], "label": dataset}),
        ProtocolSpec.read(asked["protocol"]),
        network and NetworkSpec.read({**network, "name": network["topology"]}),
        *(identity[name] for name in ("seed", "repeat", "draw")),
    )


def _replay(row: StoredRow) -> Replay:
    """Play a pulled unit again, and compare."""
    name, identity = row.key.hex()[:12], identity_of(row)
    try:
        unit = unit_of_identity(identity or {})
        name = unit.name
        if bytes.fromhex(unit.key) != row.key:
            raise UserError("what it is of cannot be told from its description")
        found = compute(unit).arrays
    except DataMissing as fault:
        return Replay(name, row.source, NOT_PLAYED, str(fault))
    except (UserError, KeyError, TypeError, AttributeError, ValueError) as fault:
        return Replay(name, row.source, NOT_PLAYED, " ".join(str(fault).split()))
    theirs = unpacked(row.arrays)
    timed = {one for one in found if "seconds" in one}
    names = sorted({*found, *theirs} - timed)
    other = [one for one in names if not _is_same(found.get(one), theirs.get(one))]
    return Replay(name, row.source, DIFFERENT if other else SAME, ", ".join(other))


def _is_same(one: np.ndarray | None, other: np.ndarray | None) -> bool:
    if one is None or other is None:
        return False
    return packed({"": one}) == packed({"": other})
