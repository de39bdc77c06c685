"""Where a number comes from: config, seeds, data, code, host, and the command to reproduce it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

import pandas as pd

from omtl.experiment.descriptions import TableDescription
from omtl.experiment.readings import questions
from omtl.experiment.selection import in_words
from omtl.experiment.unit import Result
from omtl.measures.metrics import METRICS
from omtl.tables.cells import cell_names_in, description_of, each_cell, only, places_in, planned
from omtl.tables.notes import APART, reason_of
from omtl.tables.proofread import suspects
from omtl.tables.published_results import PublishedRun, source_of, stored_or_published
from omtl.tables.request import Request
from omtl.tables.verdict import CLOSE, CLOSEST_SHARE, CONFIDENCE, JUDGED, MATCH, NEAR

LEVEL = f"{CONFIDENCE:.1%}"
"""The level of the intervals of differences, in words."""


def command_of_cell(cell: Any, name: str, own_selection: str, one_draw: bool = False) -> str:
    """Return the command line that makes just the cell of this name."""
    words = ["omtl", "table", cell.table, "--cell", name, "--reading", cell.reading]
    words += ["--repeats", str(cell.asked_repeats), "--seed", str(cell.seed)]
    words += ["--one-draw"] if one_draw else []
    words += ["--selection", cell.selection] if cell.selection != own_selection else []
    return shlex.join(words)


def explain_cell(table: str, name: str, request: Request, full: bool = False) -> dict[str, Any]:
    """Return what is known about a cell: the verdict, the reason, the numbers and their sources.

    They are those of the store, or of ``results/`` where it lacks them; nothing is computed. What
    alternatives, another row that tunes it and the rungs of a search gave is not told in detail.

    Parameters
    ----------
    table, name : str
        The table's id, and the cell's name in it (`cell_names_in`).
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
    every = planned(table, request)
    cells, run = stored_or_published(only(every, name), request)
    name = cell_names_in(every)[list(every.index).index(cells.index[0])]
    of, [cell] = description_of(cells), each_cell(cells)
    odd = suspects(table).get(places_in(cells)[0], [])
    facts: dict[str, Any] = {
        "cell": f"{table}: {name}",
        "verdict": cell.verdict,
        "why": why_of(cell, of),
        "published": _with_spread(cell.published_mean, cell.published_std),
        "suspect in print": "; ".join(finding["says"] for finding in odd),
        "ours": _with_spread(cell.ours_mean, cell.ours_std) if cell.n_repeats else "none",
        "repeats": cell.n_repeats,
        "from": source_of(run),
        "pulled from": cell.pulled_from,
        "command": command_of_cell(cell, name, of.selection, request.one_draw),
        "reading": cell.reading,
        "open questions": answers_in_words(of.paper, cell.answers),
        "selection": in_words(cell.rule),
        "chosen": cell.params,
    }
    facts = {key: value for key, value in facts.items() if value != ""}
    return facts | _units_of(cell, request, run) if full else facts


def explain_claim(row: pd.Series, reading: str) -> dict[str, Any]:
    """Return what the ledger says of a claim under a reading, and why it fails where it does."""
    facts = {
        "claim": f"{row['paper']}: {row['claim']}, {row['place']}",
        "the paper says": row["sentence"],
        "as a predicate": row["predicate"],
        "in print": f"{row['in_print']} {row['untrue_in_print']}".strip(),
        "ours": row.get(reading, "no outcome under this reading"),
        "comparisons": row.get(f"{reading}_comparisons", ""),
        "least effect": row.get(f"{reading}_least_effect", ""),
        "stand-in data": row["stand_ins"],
        "why it fails as published": row["why_it_fails"],
    }
    return {key: value for key, value in facts.items() if value}


def why_of(cell: Any, of: TableDescription) -> str:
    """Return why a cell has its verdict, in words."""
    reason = reason_of(cell, of).removeprefix(f"{cell.verdict}: ").removeprefix(f"{APART}: ")
    if cell.verdict not in JUDGED or not cell.n_repeats:
        return reason
    scale = METRICS[cell.metric].scale
    of_scale = "" if scale is abs else f" of {scale(float(cell.published_mean)):.3g}"
    far = {MATCH: f"within {CLOSEST_SHARE:.0%}", NEAR: f"within {CLOSE:.0%}"}
    found = (
        f"our mean differs by {cell.delta:+.3g} ({cell.share:.1%}{of_scale}) from the published "
        f"number, {far.get(cell.verdict, f'beyond {CLOSE:.0%}')}; the {LEVEL} interval of the "
        f"difference, [{cell.low:+.3g}, {cell.high:+.3g}], {cell.interval} 0"
    )
    return f"{found}. {reason[0].upper()}{reason[1:]}" if reason else found


def answers_in_words(paper: str, answers: Mapping[str, Any]) -> list[str]:
    """Return each open question of a paper with the answer that a number rests on."""
    asked = questions(paper) if answers else {}
    said = []
    for name, answer in answers.items():
        question = asked[name]
        kind = "the literal one" if str(answer) == question.literal else "not the literal one"
        said.append(f"{question.asks} Answer: {str(answer).replace('_', ' ')}, {kind}")
    return said


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
            "selection": cell.rule.as_mapping(),
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
