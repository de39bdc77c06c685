"""Numbers played again from nothing, and compared to the last digit.

They are of three sources: cells of ``results/``, which have all digits beside their tables; pulled
units; and submissions to the board. Each gives a random sample. The store of earlier runs is not
read, so whoever has the repository can verify it. What strangers wrote is not believed: of pulled
units only learners, data sets and protocols of this installation's own configs are played, because
any other name could be that of a function that harms, and submitted code runs in a process of its
own.
"""

from __future__ import annotations

import json
import math
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd

from omtl.compute import engine
from omtl.compute.exchange import is_current
from omtl.compute.own_process import Apart, LostProcess
from omtl.compute.store import Store, StoredRow, packed, unpacked
from omtl.evidence.board import CELLS, BoardPlan, as_cells, code_of_learner, of_results, stream_of
from omtl.experiment.config import options
from omtl.experiment.descriptions import descriptions, known_table
from omtl.experiment.loading import load_prepared
from omtl.experiment.playing import compute
from omtl.experiment.selection import by_repeat
from omtl.experiment.specs import (
    FOREIGN,
    SERIAL,
    AlgorithmSpec,
    DataSetSpec,
    NetworkSpec,
    ParallelSpec,
    ProtocolSpec,
    SelectionSpec,
)
from omtl.experiment.unit import ONE_DATA_SET, Experiment, Result, Unit
from omtl.measures.metrics import METRICS
from omtl.protocols.record_schema import check_arrays
from omtl.tables.cells import alternatives_of, each_cell, is_searched, place_of, places_in, planned
from omtl.tables.published_results import PublishedRun, runs_of
from omtl.tables.scoring import played_cell, stages, units_at, with_experiments
from omtl.tables.verdict import std_of
from omtl.util import files, paths, user_folder
from omtl.util.errors import UserError
from omtl.util.host import host
from omtl.util.paths import results_to_read
from omtl.util.result_files import rows_in
from omtl.util.screen import plural
from omtl.util.seeds import generator

SAME, CLOSE, DIFFERENT = "same", "close", "different"
NOT_COMPARABLE, OUTDATED = "not comparable", "outdated"
"""What becomes of a number. It is close if the results were made on another kind of CPU, whose bits
may differ, and no repeat differs by more than the repeats' standard deviation."""

RESULTS_OF = (SAME, CLOSE, DIFFERENT, NOT_COMPARABLE)

LARGE = 40
"""Where more points than this are played again, it is in one repeat only."""

MOST_REPEATS = 5
"""Else so many repeats of a cell are played again at most, drawn at random."""

PLACE = ("table", "dataset", "algorithm", "task", "metric", "reading", "selection")
"""What names a row of the reproduced tables."""


THE_POINT = SelectionSpec(name="the_point", rule="fixed")
"""The rule that chooses the only point of a grid."""

LEAST = 10
"""How many pulled units or submitted numbers are played again at least, if there are so many."""

SHARE = 0.1
"""Share of a submission's numbers that is played again."""

OF_REPEATS = ("values", "chosen")
"""Columns of a submission that have one entry for each repeat; others follow from all repeats."""

OF_PLAN = ("dataset", "algorithm", "stream", "learner")
"""Columns that follow from no result."""

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


def draw_cells(
    results: Path, tables: Sequence[str], n_cells: int, seed: int
) -> list[tuple[PublishedRun, dict[str, str]]]:
    """Return rows of the reproduced tables, drawn at random without return, spread over the tables.

    Times are left out, as no two plays take the same.

    Parameters
    ----------
    results : Path
        The folder of results.
    tables : sequence of str
        The ids of the tables to draw from.
    n_cells : int
        How many; all of them where there are no more.
    seed : int

    Raises
    ------
    UserError
        If no cell was run.
    """
    rng = generator(seed, of="verify")
    shuffled = []
    for table in rng.permutation(sorted(tables)).tolist():
        found = [
            (run, row)
            for run in runs_of(results, table)
            for row in run.cells.to_dict("records")
            if row["ours_mean"] and not METRICS[row["metric"]].timing
        ]
        shuffled.append([found[i] for i in rng.permutation(len(found))])
    in_turn = [one for turn in zip_longest(*shuffled) for one in turn if one is not None]
    if not in_turn:
        raise UserError(
            f"{', '.join(tables)}: no cell has been run except timings; "
            "run `omtl table TABLE` first"
        )
    return in_turn[:n_cells]


def each_play(run: PublishedRun, row: Mapping[str, str], cell: Any) -> list[Any]:
    """Return what may be played again to get a row's number in a repeat, one cell each.

    Where each repeat has parameters of its own, by the rule or by its draw of data, it is the cell
    with all points that it chose from: of a searched grid those that the search left, by its
    record. Else the chosen point is played alone, of each of the alternatives that have it.
    """
    if by_repeat(cell.rule) or cell.experiment.drawn:
        if not is_searched(cell):
            return [cell]
        left = _left_by_search(run, row)
        if left is None:
            return []
        return [cell._replace(experiment=cell.experiment.only(left), search=None)]
    point = json.loads(row["params"])
    return [
        cell._replace(
            experiment=one.only([one.points.index(point)]),
            **{"alternatives": (), "tuned_by": None, "rule": THE_POINT, "search": None},
        )
        for one in alternatives_of(cell)
        if point in one.points
    ]


def _left_by_search(run: PublishedRun, row: Mapping[str, str]) -> list[int] | None:
    """Return the numbers of the points that a search left, or None where there is no record."""
    for each in reversed(rows_in(run.folder.parent / "search" / f"{run.stem}.points.csv")):
        if all(each[name] == row[name] for name in ("dataset", "algorithm", "reading")):
            return [int(number) for number in each["points"].split()]
    return None


def check_cell(
    run: PublishedRun, row: Mapping[str, str], seed: int, parallel: ParallelSpec = SERIAL
) -> Replay:
    """Play repeats of a row's cell from nothing and compare them with those beside its table.

    Parameters
    ----------
    run : PublishedRun
        The run that the row is of.
    row : mapping
        A row of ``results/reproduced``.
    seed : int
        Of the draw of repeats.
    parallel : ParallelSpec
        By which the repeats are played.

    Raises
    ------
    UserError
        If the table has no such cell or reading any more.
    """
    place = {name: row[name] for name in PLACE}

    def ended(result: str, detail: str = "", units: int = 0, points: int = 0) -> Replay:
        played = f"{plural(units, 'repeat')}, {plural(points, 'point')} each"
        name = f"{', '.join(place.values())} ({played})"
        return Replay(name, result, detail, row, units, points)

    published = np.array(row["values"].split(), dtype=float)
    if not (published.size and run.meta):
        return ended(NOT_COMPARABLE, "the repeats beside the table")
    cells = planned(run.table, run.request)
    there = dict(zip(places_in(cells), each_cell(cells), strict=True))
    if place_of(row) not in there:
        named = ", ".join(place_of(row))
        raise UserError(f"{row['table']} has no cell {named} any more; run the table again")
    plays = each_play(run, row, there[place_of(row)])
    if not plays:
        return ended(NOT_COMPARABLE, f"the point {row['params']} in the grid")
    points = sum(len(one.points) for one in alternatives_of(plays[0]))
    order = generator(seed, of="verified repeats", **place).permutation(published.size)
    repeats = sorted(order[: 1 if points > LARGE else MOST_REPEATS].tolist())
    found = _played_again(plays, repeats, parallel)
    if why := next((one["why"] for one in found if one["why"]), ""):
        return ended(NOT_COMPARABLE, why)
    made, here = run.meta["cpu"], host()["cpu"]
    differences, close = list[str](), made != here
    is_one_data_set = plays[0].experiment.repeats_are_of == ONE_DATA_SET
    if is_one_data_set and found[0]["data_sha256"] != row["data_sha256"]:
        differences, close = ["other data"], False
    for repeat, *values in zip(repeats, *(one["values"].tolist() for one in found), strict=True):
        kept = float(published[repeat])
        value = min(values, key=lambda value: abs(value - kept))
        if not np.array_equal(value, kept, equal_nan=True):
            differences.append(f"repeat {repeat}: {value!r}, in results/ {kept!r}")
            close &= abs(value - kept) <= std_of(published)
    if not differences:
        return ended(SAME, "", len(repeats), points)
    detail = "; ".join([*differences, f"made on {made}, played on {here}"])
    return ended(CLOSE if close else DIFFERENT, detail, len(repeats), points)


def _played_again(
    cells: Sequence[Any], repeats: Sequence[int], parallel: ParallelSpec
) -> list[dict[str, Any]]:
    """Return the columns with our numbers of cells (`played`) in some repeats, from nothing.

    Raises
    ------
    UserError
        If a unit fails, and not for missing data.
    """
    some = [with_experiments(cell, Experiment.in_repeats, repeats) for cell in cells]
    units = [unit for cell in some for unit in units_at(cell, stages(cell, None)[-1])]
    with TemporaryDirectory() as folder:
        store = Store(Path(folder))
        outcome = engine.run_units(units, store, parallel, quiet=True)
        if outcome.is_broken:
            raise UserError(next(iter(outcome.failed.values())).reason)
        return [played_cell(cell, store, outcome.failed) for cell in some]


def signed_off(replays: Sequence[Replay], seed: int) -> pd.DataFrame:
    """Return the rows of ``results/verify.csv``: one per cell, with the machine and the time."""
    on = host()
    made = {
        "date": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "commit": on["commit"],
        "python": on["python"],
        "packages": " ".join(f"{name} {version}" for name, version in on["packages"].items()),
        "machine": f"{on['cpu']}, {on['cores']} cores, {on['machine']}, {on['system']}",
        "seed": str(seed),
    }
    return pd.DataFrame(
        made
        | {name: one.row[name] for name in PLACE}
        | {"units": str(one.units), "points": str(one.points)}
        | {"result": one.result, "detail": one.detail}
        for one in replays
    )


SIGNED = ("date", "name", "commit", "machine", "seed", "cells", *RESULTS_OF, "result")
"""Columns of ``results/reproductions.csv``, the log of reproductions by others."""


def signature(replays: Sequence[Replay], name: str, seed: int) -> pd.DataFrame:
    """Return the line by which someone signs off what became of replayed cells."""
    counts = {kind: sum(one.result == kind for one in replays) for kind in RESULTS_OF}
    tables = " ".join(dict.fromkeys(one.row["table"] for one in replays))
    line = signed_off(replays, seed).head(1).assign(name=name.strip(), cells=tables)
    line = line.assign(result="differs" if counts[DIFFERENT] else "reproduced")
    return line.assign(**{kind: str(count) for kind, count in counts.items()})[[*SIGNED]]


def append_rows(path: Path, rows: pd.DataFrame) -> None:
    """Add rows to a csv, which is made where there is none; what it has stays as it is."""
    text = rows.to_csv(index=False, header=False, lineterminator="\n")
    files.append(path, text, rows.head(0).to_csv(index=False, lineterminator="\n"))


def verify(
    tables: Sequence[str], n_cells: int | None, seed: int, sign: str | None, parallel: ParallelSpec
) -> tuple[list[Path], str]:
    """Compute random cells again, print and record whether every digit is that of ``results/``.

    Parameters
    ----------
    tables : sequence of str
        Their ids; none for all.
    n_cells : int or None
        The number of cells; None for one from each table.
    seed : int
        Seed of the draw of cells.
    sign : str or None
        Under which name to add a line to ``results/reproductions.csv``.
    parallel : ParallelSpec

    Returns
    -------
    list of Path
        The files that say so.
    str
        How many cells differ, and what that means; empty if none does.

    Raises
    ------
    UserError
        If there is no such table, the name is not one line, or no cell can be compared.
    """
    names = list(dict.fromkeys(map(known_table, tables))) or list(descriptions("table"))
    if sign is not None and not (sign.strip() and sign.isprintable()):
        raise UserError(f"--sign {sign!r}: a name must be one line of text")
    checks = []
    for run, row in draw_cells(results_to_read(), names, n_cells or len(names), seed):
        checks.append(check_cell(run, row, seed, parallel))
        print(checks[-1], flush=True)
    if all(done.result == NOT_COMPARABLE for done in checks):
        raise UserError("no cell could be compared, for the reasons above; nothing was recorded")
    append_rows(paths.RESULTS / "verify.csv", signed_off(checks, seed))
    written = [paths.RESULTS / "verify.csv"]
    if sign is not None:
        written.append(paths.RESULTS / "reproductions.csv")
        append_rows(written[-1], signature(checks, sign, seed))
    different = sum(done.result == DIFFERENT for done in checks)
    warning = (
        f"{different} of {len(checks)} cells differ from results/: the code or the packages have "
        "changed since they were made, or this machine computes different bits"
    )
    return written, warning if different else ""


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
    """Play a sample of a submission's numbers again from nothing, and all those of one row.

    What is submitted beside the numbers is compared too, where it follows from all repeats of a
    row: of that one, and of others that happen to be played whole.

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

    Raises
    ------
    UserError
        If it has no numbers.
    """
    rows = [row for row in content["cells"] if row["dataset"] in board.datasets and row["values"]]
    numbers = [(at, k) for at, row in enumerate(rows) for k in range(len(row["values"].split()))]
    if not numbers:
        whys = [row["why"] for row in content["cells"] if row["why"]]
        raise UserError(
            ": ".join([f"{content['learner']} has no numbers on any data set", *whys[:1]])
        )
    n_tried = max(LEAST, math.ceil(SHARE * len(numbers))) if n_numbers is None else n_numbers
    order = [numbers[at] for at in np.random.default_rng(seed).permutation(len(numbers))]
    tried = sorted({*order[:n_tried], *(one for one in numbers if one[0] == order[0][0])})
    process = Apart(MIB, confined=True)
    try:
        return [
            replay
            for at, row in enumerate(rows)
            if (repeats := [repeat for one, repeat in tried if one == at])
            for replay in _replayed_row(row, repeats, board, process)
        ]
    finally:
        process.kill()


def _replayed_row(
    row: Mapping[str, Any], repeats: Sequence[int], board: BoardPlan, process: Apart
) -> list[Replay]:
    """Return what came of playing repeats of a row, and of the row itself if they are all of it.

    It is outdated if its stream has changed.
    """
    dataset, experiment = row["dataset"], board.experiment(row["dataset"], board.only_entrant)
    first = experiment.unit(board.seed, 0)
    data = load_prepared(first.dataset, first.seed, first.draw).sha256
    if row["stream"] != stream_of(first, data, board.composed(dataset).selection):
        return [Replay(dataset, OUTDATED, "its data or options changed since")]
    notes = [] if row["learner"] == code_of_learner(first) else ["its code changed since"]
    replays, results = [], []
    for repeat in repeats:
        place, unit = f"{dataset}, repeat {repeat}", experiment.unit(board.seed, repeat)
        try:
            result = result_of(process.ask(arrays_of_unit, unit, seconds=SECONDS_EACH), unit)
        except (LostProcess, ValueError) as fault:
            replays.append(Replay(place, DIFFERENT, str(fault)))
            continue
        results.append(result)
        submitted = {name: row[name].split()[repeat] for name in OF_REPEATS}
        found = of_results(board, dataset, experiment, [result])
        replays.append(_compared(place, submitted, found, notes))
    if len(results) == len(row["values"].split()):
        submitted = {name: row[name] for name in CELLS if name not in OF_PLAN}
        found = of_results(board, dataset, experiment, results)
        replays.append(_compared(f"{dataset}, all repeats", submitted, found, notes))
    return replays


def _compared(
    place: str, submitted: Mapping[str, Any], found: Mapping[str, Any], notes: Sequence[str]
) -> Replay:
    """Return whether submitted columns are those that were found, with those that differ."""
    [row] = as_cells([found]).to_dict("records")
    other = [
        f"{name}={row[name]}, submitted {value}"
        for name, value in submitted.items()
        if not is_same(value, row[name])
    ]
    return Replay(place, DIFFERENT if other else SAME, "; ".join([*other, *notes]))


def is_same(submitted: Any, found: Any) -> bool:
    """Whether a submitted value is the one found, but for the rounding of a number."""
    if isinstance(found, str):
        return submitted == found
    given = math.nan if submitted is None else submitted
    return bool(np.isclose(given, found, rtol=1e-6, atol=1e-6, equal_nan=True))


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
