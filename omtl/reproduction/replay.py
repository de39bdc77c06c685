"""Numbers played again from nothing, and compared: pulled units and submissions to the board.

A sample is drawn at random. What strangers wrote is not believed: of pulled units only learners,
data sets and protocols of this installation's own configs are played, because any other name could
be that of a function that harms, and submitted code runs in a process of its own. The results in
git are verified by `omtl.reproduction.verify`.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from omtl.compute.exchange import is_current
from omtl.compute.own_process import Apart, LostProcess
from omtl.compute.store import Store, StoredRow, packed, unpacked
from omtl.evidence.board import BoardPlan, code_of_learner, scored_repeats, stream_of
from omtl.experiment.config import options
from omtl.experiment.playing import compute, load_prepared
from omtl.experiment.specs import FOREIGN, AlgorithmSpec, DataSetSpec, NetworkSpec, ProtocolSpec
from omtl.experiment.unit import Result, Unit
from omtl.protocols.record_schema import check_arrays
from omtl.util import user_folder
from omtl.util.errors import UserError

SAME, CLOSE, DIFFERENT = "same", "close", "different"
NOT_COMPARABLE, OUTDATED = "not comparable", "outdated"
"""What becomes of a number. It is close if the results were made on another kind of CPU, whose bits
may differ, and no repeat differs by more than the repeats' standard deviation."""

LEAST = 10
"""How many pulled units or submitted numbers are played again at least, if there are so many."""

SHARE = 0.1
"""Share of a submission's numbers that is played again."""

SECONDS_EACH, MIB = 3600.0, 8192
"""Limits of the process that plays submitted code, for each number."""


@dataclass(frozen=True)
class Replay:
    """What became of a number that was played again.

    Parameters
    ----------
    name, result, detail : str
        What it is, what became of it, and what differs or is lacking.
    row : mapping
        Of a cell its row in ``results/reproduced``.
    units, points : int
        Of a cell how many repeats were played, and how many points of the grid in each.
    """

    name: str
    result: str
    detail: str = ""
    row: Mapping[str, str] = field(default_factory=dict)
    units: int = 0
    points: int = 0

    def __str__(self) -> str:
        """Return the replay as text."""
        return f"{self.result}: {self.name}" + (f": {self.detail}" if self.detail else "")


def replay_pulled(store: Store, n_units: int = LEAST, seed: int | None = None) -> Iterator[Replay]:
    """Replay pulled units of the installed code, drawn at random, and compare every bit.

    Parameters
    ----------
    store : Store
    n_units : int
        How many.
    seed : int, optional
        Seed of the draw; by default one that nobody knows beforehand.

    Raises
    ------
    UserError
        If the store has no pulled units of the installed code.
    """
    found = [row for row in store.rows() if row.source and is_current(row)]
    if not found:
        raise UserError(f"{store.folder} has no pulled units of the installed code")
    rng = np.random.default_rng(secrets.randbits(128) if seed is None else seed)
    for number in rng.permutation(len(found))[:n_units].tolist():
        yield _replayed_unit(found[number])


def unit_of_identity(identity: dict[str, Any]) -> Unit:
    """Return the unit of an identity.

    Raises
    ------
    UserError
        If no config here has its learner, data set or protocol, or it is malformed.
    """
    algorithms = [AlgorithmSpec.named(name) for name in options("algorithm")]
    learners = {one.learner: one for one in algorithms if one.learner != FOREIGN}
    protocols = {ProtocolSpec.named(name).module for name in options("protocol")}
    asked = {name: identity[name] for name in ("algorithm", "dataset", "protocol", "network")}
    learner, dataset = asked["algorithm"]["learner"], asked["dataset"]["name"]
    if learner not in learners or dataset not in options("dataset"):
        raise UserError(f"no config here has {learner} on {dataset}")
    if asked["protocol"]["module"] not in protocols or asked["dataset"].get("module") not in {
        DataSetSpec.named(name).module for name in options("dataset")
    }:
        raise UserError("no config here has its protocol, or the module of its data")
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


def _replayed_unit(row: StoredRow) -> Replay:
    """Play a pulled unit again, and compare its arrays but for times."""
    name = row.key.hex()[:12]
    try:
        stored = row.result()
        unit = unit_of_identity(stored.facts["unit"])
        name = unit.name
        if bytes.fromhex(unit.key) != row.key:
            raise UserError("what it is of cannot be told from its description")
        found, theirs = compute(unit).arrays, stored.arrays
        untimed = sorted(one for one in {*found, *theirs} if "seconds" not in one)
        other = [one for one in untimed if _bits(found, one) != _bits(theirs, one)]
        result, detail = DIFFERENT if other else SAME, ", ".join(other)
    except (UserError, KeyError, TypeError, AttributeError, ValueError) as fault:
        result, detail = NOT_COMPARABLE, " ".join(str(fault).split())
    return Replay(f"{name}, pulled from {row.source}", result, detail)


def _bits(arrays: Mapping[str, np.ndarray], name: str) -> bytes:
    return packed({"": arrays[name]}) if name in arrays else b""


def replay_sample(
    content: Mapping[str, Any], board: BoardPlan, seed: int, n_numbers: int | None = None
) -> list[Replay]:
    """Play a sample of a submission's numbers again from nothing.

    The learner plays in a process of its own, with limits, and without network where the system
    allows it; its results come back through a pipe, and are scored here. No module of the learner
    is imported here.

    Parameters
    ----------
    content : mapping
        What `omtl.reproduction.submission.read_submission` returned.
    board : BoardPlan
        Of its learner, its data sets and its seed.
    seed : int
        Draws the sample.
    n_numbers : int, optional
        The size of the sample; by default a share `SHARE` of all numbers, and at least `LEAST`.
    """
    rows = [row for row in content["cells"] if row["dataset"] in board.datasets and row["values"]]
    numbers = [(row, repeat) for row in rows for repeat in range(len(row["values"].split()))]
    n_tried = max(LEAST, math.ceil(SHARE * len(numbers))) if n_numbers is None else n_numbers
    drawn = sorted(np.random.default_rng(seed).permutation(len(numbers))[:n_tried].tolist())
    process = Apart(MIB, confined=True)
    try:
        tried = (numbers[at] for at in drawn)
        return [_replayed_number(row, repeat, board, process) for row, repeat in tried]
    finally:
        process.kill()


def _replayed_number(
    row: Mapping[str, Any], repeat: int, board: BoardPlan, process: Apart
) -> Replay:
    """Return what came of playing one number again; it is outdated if its stream has changed."""
    [name] = board.entrants
    dataset, experiment = row["dataset"], board.experiment(row["dataset"], name)
    first, unit = (experiment.unit(board.seed, one) for one in (0, repeat))
    data = load_prepared(first.dataset, first.seed, first.draw).sha256
    if row["stream"] != stream_of(first, data, board.composed(dataset).selection):
        return Replay(dataset, OUTDATED, "its data or options changed since")
    place, submitted = f"{dataset}, repeat {repeat}", row["values"].split()[repeat]
    try:
        result = result_of(process.ask(arrays_of_unit, unit, seconds=SECONDS_EACH), unit)
    except (LostProcess, ValueError) as fault:
        return Replay(place, DIFFERENT, str(fault))
    value = f"{scored_repeats(board, dataset, experiment, [result])[0][0]:.10g}"
    code = "" if row["learner"] == code_of_learner(unit) else ", whose code changed since"
    word = SAME if value == submitted else DIFFERENT
    return Replay(place, word, f"{value}, submitted {submitted}{code}")


def arrays_of_unit(unit: Unit) -> bytes:
    """Return the arrays of a unit's result, as a process of its own sends them."""
    user_folder.make_importable()
    return packed(compute(unit).arrays)


def result_of(content: bytes, unit: Unit) -> Result:
    """Return a unit's result from the bytes of a process that ran submitted code.

    Raises
    ------
    ValueError
        If they are not arrays of numbers, or not those of the unit's protocol.
    """
    arrays = unpacked(content)
    if not {"mistakes", "examples"} <= arrays.keys():
        raise ValueError("its process did not return a result")
    n_points, n_tasks = len(unit.algorithm.points), arrays["examples"].size
    check_arrays(arrays, unit.protocol.module, n_points, n_tasks)
    return Result(arrays, {})
