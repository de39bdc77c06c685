"""The provenance of a number: config, seeds, data, code, host, and the command to reproduce it."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import Any

from rich.console import Console

from omtl.compute.engine import Outcome
from omtl.experiment.schema import did_you_mean
from omtl.experiment.unit import Result
from omtl.tables.committed import Run, source, stored_or_kept
from omtl.tables.layout import lay_out, reason_of
from omtl.tables.plan import Cell, Table
from omtl.tables.play import play
from omtl.tables.proofread import suspects
from omtl.tables.render import show
from omtl.tables.request import Request
from omtl.tables.scoring import Scored, score_table
from omtl.util.errors import UserError


def names_of(table: Table) -> dict[str, Cell]:
    """Return the cells of a table by name.

    A name is ``<algorithm> on <data set>``, with the task where it is of one, and with the metric
    where the table has several: ``OSMTL-e on Landmine Detection, auc``.
    """
    several = len({cell.metric for cell in table.cells}) > 1
    named = {}
    for cell in table.cells:
        task = [] if cell.task == "all" else [cell.task]
        metric = [cell.metric] if several else []
        named[", ".join([f"{cell.algorithm} on {cell.dataset}", *task, *metric])] = cell
    return named


def only(table: Table, name: str) -> Table:
    """Return a table with one of its cells.

    Raises
    ------
    UserError
        If there is no cell of that name.
    """
    named = names_of(table)
    if name not in named:
        hint = did_you_mean(name, named, cutoff=0.3)
        raise UserError(
            f"{table.id} has no cell {name!r}{hint}; `omtl explain {table.id}` lists them"
        )
    return replace(table, cells=[named[name]])


def command_of(table: Table, name: str, request: Request) -> str:
    """Return the command line that makes just this cell."""
    words = ["omtl", "table", table.id, "--cell", name, "--reading", request.reading]
    words += ["--repeats", str(request.n_repeats(table.description)), "--seed", str(request.seed)]
    if request.one_draw:
        words.append("--one-draw")
    if request.selection:
        words += ["--selection", request.selection]
    return shlex.join(words)


def make_cell(table: str, name: str, request: Request, console: Console) -> Outcome:
    """Compute one cell's missing units and print it; write no result files.

    Raises
    ------
    UserError
        If there is no such table, cell, reading or rule.
    """
    alone = only(request.planned(table), name)
    outcome = play(alone, request)
    show(lay_out(alone, score_table(alone, request, outcome.failed), request), console)
    return outcome


def explain(table: str, name: str, request: Request, full: bool = False) -> dict[str, Any]:
    """Return what is known about a cell: the verdict, the reason, the numbers and their sources.

    They are those of the store, or of the kept results where it lacks them; nothing is computed.
    Of rivals, a chooser and the rungs of a search, which a cell may have besides, only what came of
    them is told.

    Parameters
    ----------
    table, name : str
        The table's id, and the cell's name in it (`names_of`).
    request : Request
        Reading, repeats, seed and selection rule; the store.
    full : bool
        Whether to add everything that determines the number: configs, seeds, hashes of data and
        code, machines.

    Raises
    ------
    UserError
        If there is no such table, cell, reading or rule.
    """
    alone = only(request.planned(table), name)
    selection = request.rule(alone.description)
    [scored], run = stored_or_kept(alone, request)
    reading = scored.cell.reading
    facts: dict[str, Any] = {
        "cell": f"{table}: {name}",
        "verdict": scored.verdict,
        "why": reason_of(alone, scored, selection).removeprefix(f"{scored.verdict}: "),
        "published": _spread(scored.cell.mean, scored.cell.std),
        "suspect in print": "; ".join(
            finding["says"] for finding in suspects(table).get(scored.cell.place, [])
        ),
        "ours": _spread(scored.mean, scored.std) if scored.values.size else "none",
        "repeats": scored.values.size,
        "from": source(run),
        "command": command_of(alone, name, request),
        "reading": {"name": alone.reading.name, "answers": reading.answers},
        "selection": scored.cell.rule(selection).as_mapping(),
        "chosen": scored.params,
    }
    facts = {key: value for key, value in facts.items() if value != ""}
    return facts | _of_units(alone, scored, request, run) if full else facts


def _of_units(table: Table, scored: Scored, request: Request, run: Run | None) -> dict[str, Any]:
    """Return what the units of a cell say of themselves, or the kept run that it is of."""
    experiment = scored.cell.experiment
    units = experiment.repeats(request.seed, request.n_repeats(table.description))
    identity = units[0].identity
    stored: list[Result] = []
    hashes = [scored.data_sha256]
    if run is None:
        stored = [result for unit in units if (result := request.store.load(unit)) is not None]
        hashes = sorted({result.facts["data_sha256"] for result in stored})
    hosts: list[Any] = [] if run is None else [run.machine.get("host", {"cpu": run.meta["cpu"]})]
    for result in stored:
        host = result.facts.get("host", "not recorded: stored before hosts were recorded")
        if host not in hosts:
            hosts.append(host)
    return {
        "config": {
            "algorithm": experiment.algorithm.as_mapping(),
            "dataset": experiment.dataset.as_mapping(),
            "protocol": experiment.protocol.as_mapping(),
            "network": experiment.network and experiment.network.as_mapping(),
        },
        "seeds": {
            "seed": request.seed,
            "repeats": [unit.repeat for unit in units],
            "draws": sorted({unit.draw for unit in units}),
        },
        "data": {"files_sha256": identity["files"], "rows_sha256": hashes},
        "code": {
            experiment.algorithm.learner: identity["code"]["learner"],
            experiment.dataset.name: identity["code"]["data"],
            experiment.protocol.module: identity["code"]["protocol"],
        },
        "seconds": round(sum(result.facts["seconds"] for result in stored), 3),
        "made on": hosts,
        "units": {f"repeat {unit.repeat}": unit.key for unit in units},
    }


def _spread(mean: Any, std: Any) -> str:
    if mean in ("", None):
        return "none"
    return f"{float(mean):g} ± {float(std):g}" if std not in ("", None) else f"{float(mean):g}"
