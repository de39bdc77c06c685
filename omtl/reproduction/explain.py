"""Where a number comes from: config, seeds, data, code, host, and the command to reproduce it."""

from __future__ import annotations

import shlex
from typing import Any

import pandas as pd
from rich.console import Console

from omtl.compute.engine import Outcome
from omtl.experiment.schema import did_you_mean
from omtl.experiment.unit import Result
from omtl.tables.cells import ALL_TASKS, description_of, each_cell, first_cell, places_in, planned
from omtl.tables.layout import lay_out
from omtl.tables.notes import notes, reason_of
from omtl.tables.play import play
from omtl.tables.proofread import suspects
from omtl.tables.published_results import PublishedRun, source_of, stored_or_published
from omtl.tables.render import show
from omtl.tables.request import Request
from omtl.tables.scoring import scored
from omtl.util.errors import UserError


def names_of(cells: pd.DataFrame) -> list[str]:
    """Return the names of a table's cells.

    A name is ``<algorithm> on <data set>``, with the task where it is of one, and with the metric
    where the table has several: ``OSMTL-e on Landmine Detection, auc``.
    """
    several = cells["metric"].nunique() > 1
    return [
        ", ".join(
            [
                f"{cell.algorithm} on {cell.dataset}",
                *([] if cell.task == ALL_TASKS else [cell.task]),
                *([cell.metric] if several else []),
            ]
        )
        for cell in each_cell(cells)
    ]


def only(cells: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the cell of a table that has a name.

    Raises
    ------
    UserError
        If there is no cell of that name.
    """
    names = names_of(cells)
    if name not in names:
        table, hint = first_cell(cells).table, did_you_mean(name, names, cutoff=0.3)
        raise UserError(f"{table} has no cell {name!r}{hint}; `omtl explain {table}` lists them")
    return cells.iloc[[names.index(name)]]


def command_of(cell: Any, name: str, own_selection: str, one_draw: bool = False) -> str:
    """Return the command line that makes just the cell of this name."""
    words = ["omtl", "table", cell.table, "--cell", name, "--reading", cell.reading]
    words += ["--repeats", str(cell.asked_repeats), "--seed", str(cell.seed)]
    words += ["--one-draw"] if one_draw else []
    words += ["--selection", cell.selection] if cell.selection != own_selection else []
    return shlex.join(words)


def make_cell(table: str, name: str, request: Request, console: Console) -> Outcome:
    """Compute one cell's missing units and print it; write no result files.

    Raises
    ------
    UserError
        If there is no such table, cell, reading or rule.
    """
    alone = only(planned(table, request), name)
    outcome = play(alone, request)
    cells = scored(alone, request.store, outcome.failed)
    show(lay_out(cells, notes(cells)), console)
    return outcome


def explain(table: str, name: str, request: Request, full: bool = False) -> dict[str, Any]:
    """Return what is known about a cell: the verdict, the reason, the numbers and their sources.

    They are those of the store, or of ``results/`` where it lacks them; nothing is computed. What
    alternatives, another row that tunes it and the rungs of a search gave is not told in detail.

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
    cells, run = stored_or_published(only(planned(table, request), name), request)
    of, [cell] = description_of(cells), each_cell(cells)
    odd = suspects(table).get(places_in(cells)[0], [])
    facts: dict[str, Any] = {
        "cell": f"{table}: {name}",
        "verdict": cell.verdict,
        "why": reason_of(cell, of).removeprefix(f"{cell.verdict}: "),
        "published": _with_spread(cell.published_mean, cell.published_std),
        "suspect in print": "; ".join(finding["says"] for finding in odd),
        "ours": _with_spread(cell.ours_mean, cell.ours_std) if cell.n_repeats else "none",
        "repeats": cell.n_repeats,
        "from": source_of(run),
        "pulled from": cell.pulled_from,
        "command": command_of(cell, name, of.selection, request.one_draw),
        "reading": {"name": cell.reading, "answers": cell.answers},
        "selection": cell.rule.as_written(),
        "chosen": cell.params,
    }
    facts = {key: value for key, value in facts.items() if value != ""}
    return facts | _units_of(cell, request, run) if full else facts


def _units_of(cell: Any, request: Request, run: PublishedRun | None) -> dict[str, Any]:
    """Return what the units of a cell say of themselves, or the run that it is of."""
    experiment = cell.experiment
    units = experiment.repeats(cell.seed, cell.asked_repeats)
    identity = units[0].identity
    stored: list[Result] = []
    hashes = [cell.data_sha256]
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
            "seed": cell.seed,
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


def _with_spread(mean: Any, std: Any) -> str:
    if mean in ("", None):
        return "none"
    return f"{float(mean):g} ± {float(std):g}" if std not in ("", None) else f"{float(mean):g}"
