"""What is known about a number or a claim: verdict, reason, sources, and how to make it again."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from omtl.experiment.descriptions import descriptions, known_id
from omtl.experiment.readings import questions
from omtl.experiment.selection import in_words
from omtl.tables.cells import (
    alternatives_of,
    cell_names_in,
    description_of,
    each_cell,
    only,
    place_of,
    places_in,
    planned,
)
from omtl.tables.notes import command_of_cell, why_of
from omtl.tables.proofread import suspects
from omtl.tables.published_results import GROUPS, PublishedRun, source_of, stored_or_published
from omtl.tables.request import Request, RequestOptions, request_for
from omtl.util.errors import UserError, known_name
from omtl.util.screen import say
from omtl.util.views import DisplayedResult, View

if TYPE_CHECKING:
    from typing import Unpack


@dataclass(frozen=True, repr=False)
class Explanation(DisplayedResult):
    """What is known about a number: the verdict and why, its sources, how to make it again.

    Parameters
    ----------
    facts : dict
        By name.
    """

    facts: dict[str, Any]

    @property
    def lines(self) -> list[str]:
        """The facts as lines of text, nested ones indented."""
        return fact_lines(self.facts)

    @property
    def view(self) -> View:
        """The facts, one a row."""
        return View(["", ""], [[name, str(value)] for name, value in self.facts.items()])

    def show(self) -> None:
        """Print the facts."""
        for line in self.lines:
            say(line)

    def __repr__(self) -> str:
        """Return the facts as text."""
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        """Return the facts as HTML."""
        return f"<pre>{html.escape(repr(self))}</pre>"


def fact_lines(facts: dict[str, Any], indent: str = "") -> list[str]:
    """Return a mapping as lines: nested mappings are indented, short ones stay on one line."""
    lines = []
    for name, value in facts.items():
        if isinstance(value, list) and any(isinstance(one, dict) for one in value):
            for one in value:
                lines += fact_lines({name: one}, indent)
        elif isinstance(value, list) and value and isinstance(value[0], str):
            lines += [f"{indent}{name}:", *(f"{indent}  {one}" for one in value)]
        elif isinstance(value, dict) and len(str(value)) > 60:
            lines += [f"{indent}{name}:", *fact_lines(value, indent + "  ")]
        elif isinstance(value, dict):
            lines.append(f"{indent}{name}: {', '.join(f'{k}={v}' for k, v in value.items())}")
        else:
            lines.append(f"{indent}{name}: {value}")
    return lines


def explain(
    name: str, cell: str, *, full: bool = False, **given: Unpack[RequestOptions]
) -> Explanation:
    """Return what is known about a number, or a claim; nothing is computed.

    Parameters
    ----------
    name, cell : str
        The table's id, and the cell's name in it (`cell_names`); or the id of a table or figure,
        and that of a claim that it decides.
    full : bool
        Whether to add configs, seeds, hashes of data and code, and machines.
    **given
        As in `omtl.table`.

    Raises
    ------
    UserError
        If there is no such table, cell, reading or rule.

    Examples
    --------
    >>> import omtl
    >>> omtl.explain("dom-table1", "dom-i (ring) on synthetic").facts["verdict"]
    'match'
    """
    request, known = request_for(**given), known_id(name)
    claims = _claims_by(known)
    is_figure = known in descriptions("figure")
    if is_figure and not claims:
        raise UserError(
            f"results/claims.csv has no claim of {known}; `omtl audit claims` adds the paper's"
        )
    cell = str(cell)
    if cell.casefold() in claims or is_figure:
        claim = claims[known_name(f"claim of {known}", cell, claims)]
        return Explanation(explain_claim(claim, request.reading))
    return Explanation(explain_cell(known, cell, request, full))


def cell_names(name: str, **given: Unpack[RequestOptions]) -> Sequence[str]:
    """Return the names of a table's cells, then the ids of the claims that it decides.

    A figure has claims only.
    """
    request, known = request_for(**given), known_id(name)
    is_table = known in descriptions("table")
    return [*(cell_names_in(planned(known, request)) if is_table else ()), *_claims_by(known)]


def _claims_by(name: str) -> dict[str, pd.Series]:
    """Return the rows of the ledger of claims that a table or figure decides, by the claim's id."""
    from omtl.results import claims

    ledger = claims()
    rows = ledger[ledger["decided_by"] == name]
    return {str(row["claim"]): row for _, row in rows.iterrows()}


def explain_cell(table: str, name: str, request: Request, full: bool = False) -> dict[str, Any]:
    """Return what is known about a cell: the verdict, the reason, the numbers and their sources.

    They are those of the store, or of ``results/`` where it lacks them; nothing is computed. What
    another row that tunes it and the rungs of a search gave is not told in detail.

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
    asked = only(every, name)
    cells, run = stored_or_published(asked, request)
    name = cell_names_in(every)[list(every.index).index(cells.index[0])]
    of, [cell], [row] = description_of(cells), each_cell(cells), each_cell(asked)
    [place] = places_in(cells)
    odd = [one["says"] for one in suspects(table) if place_of(one) == place]
    facts: dict[str, Any] = {
        "cell": f"{table}: {name}",
        "verdict": cell.verdict,
        "why": why_of(cell, of),
        "published": _with_spread(cell.published_mean, cell.published_std),
        "suspect in print": "; ".join(odd),
        "ours": _with_spread(cell.ours_mean, cell.ours_std) if cell.n_repeats else "none",
        "repeats": cell.n_repeats,
        "from": source_of(run),
        "pulled from": cell.pulled_from,
        "command": command_of_cell(cell, name, of.selection, request.one_draw),
        "reading": cell.reading,
        "open questions": answers_in_words(of.paper, cell.answers),
        "best of": _best_of(row, cell),
        "selection": in_words(cell.rule),
        "chosen": cell.params,
    }
    facts = {key: value for key, value in facts.items() if value not in ("", [], {})}
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


def answers_in_words(paper: str, answers: Mapping[str, Any]) -> list[str]:
    """Return each open question of a paper with the answer that a number rests on."""
    asked = questions(paper) if answers else {}
    said = []
    for name, answer in answers.items():
        question = asked[name]
        kind = "the literal one" if str(answer) == question.literal else "not the literal one"
        said.append(f"{question.asks} Answer: {str(answer).replace('_', ' ')}, {kind}")
    return said


def _best_of(row: Any, cell: Any) -> str:
    """Return which learners a row prints the best of, and whose number ours is."""
    if not row.alternatives:
        return ""
    names = ", ".join(one.algorithm.label for one in alternatives_of(row))
    ours = "" if cell.alternatives or not cell.n_repeats else cell.experiment.algorithm.label
    return f"{names}: ours is of {ours}" if ours else names


def _units_of(cell: Any, request: Request, run: PublishedRun | None) -> dict[str, Any]:
    """Return what the units of a cell say of themselves, or the run that it is of."""
    experiment = cell.experiment
    units = experiment.repeats(cell.seed, cell.asked_repeats)
    identity, specs = units[0].identity, {group: getattr(experiment, group) for group in GROUPS}
    facts = [] if run else [result.facts for result in request.store.stored(units)]
    hashes = [cell.data_sha256] if run else sorted({one["data_sha256"] for one in facts})
    hosts: list[Any] = [run.machine.get("host", {"cpu": run.meta["cpu"]})] if run else []
    for one in facts:
        host = one.get("host", "not recorded: stored before hosts were recorded")
        hosts += [] if host in hosts else [host]
    return {
        "config": {
            **{group: spec and spec.as_mapping() for group, spec in specs.items()},
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
        "seconds": round(sum(one["seconds"] for one in facts), 3),
        "made on": hosts,
        "units": {f"repeat {unit.repeat}": unit.key for unit in units},
    }


def _with_spread(mean: Any, std: Any) -> str:
    if mean in ("", None):
        return "none"
    return f"{float(mean):g}" if std == "" or pd.isna(std) else f"{float(mean):g} ± {float(std):g}"
