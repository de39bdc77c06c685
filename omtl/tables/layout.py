"""The layout of a table as printed in its paper, the source of every output format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from omtl.experiment.config import options
from omtl.experiment.descriptions import TableDescription
from omtl.experiment.experiment import CONDITIONAL, ONE_DATA_SET
from omtl.experiment.naming import LITERAL, READINGS
from omtl.experiment.readings import Reading
from omtl.measures.metrics import METRICS
from omtl.tables import luck
from omtl.tables.diagnosis import diagnosis_of
from omtl.tables.plan import Table
from omtl.tables.proofread import Finding, Place, by_row, suspects
from omtl.tables.request import Request
from omtl.tables.scoring import Scored
from omtl.tables.trends import sentences
from omtl.tables.verdict import MATCH, MISSING, NEAR, OFF, VERDICTS

GROUP_OF_OURS = "Ours (not in the paper)"


def plural(n: int, what: str) -> str:
    """Return a count with its noun: ``1 repeat``, ``2 repeats``."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


@dataclass(frozen=True)
class Line:
    """A row of a laid-out table: a group's name, or an algorithm with its cells."""

    label: str
    cells: tuple[Scored | None, ...] = ()

    @property
    def is_group(self) -> bool:
        """Whether the line only names a group of algorithms."""
        return not self.cells

    @property
    def is_ours(self) -> bool:
        """Whether it is of a learner that the paper does not have."""
        return any(s and s.cell.is_ours for s in self.cells)


@dataclass(frozen=True)
class Layout:
    """A laid-out table.

    Parameters
    ----------
    description : TableDescription
    subtitle : str
        Reading, selection rule, repeats, seed.
    heads : tuple of str
        The columns' heads, without that of the algorithms.
    lines : tuple of Line
    notes : tuple of str
        What is missing and why, and the diagnoses of cells that are off.
    suspects : mapping
        The findings about cells that are suspect in print, by place.
    """

    description: TableDescription
    subtitle: str
    heads: tuple[str, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...]
    suspects: Mapping[Place, Sequence[Finding]] = field(default_factory=dict)


def counts(scored: Sequence[Scored]) -> str:
    """Return the number of the paper's cells with each verdict, as text."""
    tally = Counter(s.verdict for s in scored if not s.cell.is_ours)
    parts = [f"{verdict} {tally[verdict]}" for verdict in VERDICTS if tally[verdict]]
    if not parts:
        return "no cell of the paper"
    return f"{plural(tally.total(), 'cell')}: {', '.join(parts)}"


def lay_out(table: Table, scored: Sequence[Scored], request: Request) -> Layout:
    """Return a table in its paper's layout.

    With ``blocks: dataset`` in the description, there is a block of rows per data set, with the
    tasks as columns; otherwise the data sets are columns, each with its metrics. Our extra
    baselines are a separate group.
    """
    in_blocks = table.description.blocks == "dataset"
    heads = tuple(dict.fromkeys(_head(s) for s in scored))
    several = len({s.cell.metric for s in scored}) > 1
    shown = tuple(
        f"task {task.removeprefix('task')}"
        if in_blocks
        else f"{data} {metric}"
        if several
        else data
        for data, task, metric in heads
    )
    selection = request.rule(table.description)
    subtitle = (
        f"reading {table.reading.name}, selection {selection}, "
        f"{_repeats(table, scored, request)}, seed {request.seed}; {counts(scored)}"
    )
    here = {s.cell.place for s in scored}
    odd = {place: found for place, found in suspects(table.id).items() if place in here}
    notes = [
        *_reasons(table, scored, selection),
        *sentences(scored),
        *_before_all(table, scored),
        *_findings(table, scored),
        *(f"suspect in print (omtl proofread) — {text}" for text in by_row(chain(*odd.values()))),
        *_conditional(scored),
        *_of_reading(table, selection),
    ]
    lines = tuple(_lines(table, scored, heads))
    return Layout(table.description, subtitle, shown, lines, tuple(notes), odd)


def _repeats(table: Table, scored: Sequence[Scored], request: Request) -> str:
    """Return how many repeats were played, and how they differ from the paper's, as text."""
    plays = max(s.cell.experiment.plays for s in scored)
    drawn = any(s.cell.experiment.drawn for s in scored)
    apart = [
        *([f"{plays} for each of the paper's"] if plays > 1 else []),
        *(["synthetic data: one draw each"] if drawn else []),
    ]
    text = plural(plays * request.n_repeats(table.description), "repeat")
    return f"{text} ({'; '.join(apart)})" if apart else text


def _lines(
    table: Table, scored: Sequence[Scored], heads: Sequence[tuple[str, str, str]]
) -> list[Line]:
    """Return the rows of a table, those of each data set apart if these are blocks."""
    in_blocks = table.description.blocks == "dataset"
    place = {(s.cell.dataset if in_blocks else "", s.cell.algorithm, _head(s)): s for s in scored}
    lines = []
    for block in dict.fromkeys(block for block, *_ in place):
        part = [Line(block)] if block else []
        group = ""
        for row in table.description.rows:
            cells = tuple(place.get((block, row.label, head)) for head in heads)
            group = row.group or (GROUP_OF_OURS if row.ours else group)
            if any(cells):
                if group and Line(group) not in part:
                    part.append(Line(group))
                part.append(Line(row.label, cells))
        lines += part
    return lines


def _head(s: Scored) -> tuple[str, str, str]:
    """Return the column of a cell: only its task if data sets are blocks of rows."""
    return (s.cell.dataset if s.cell.task == "all" else "", s.cell.task, s.cell.metric)


def is_apart(s: Scored) -> bool:
    """Whether a cell is within 10 % of the printed number, but too far away to be chance."""
    return s.verdict in (MATCH, NEAR) and s.difference is not None and s.difference.is_apart


def reason_of(table: Table, s: Scored, selection: str) -> str:
    """Return why a cell is missing, diverged, off or apart; empty if it is none of these."""
    if s.verdict == MISSING:
        return f"missing: {s.why}"
    if s.diverged:
        return f"diverged in {s.diverged} of {s.values.size} repeats"
    if is_apart(s) and selection == table.description.selection:
        why = diagnosis_of(table, s.cell)
        return f"within 10 %, but many standard errors from print: {why}" if why else ""
    if s.verdict != OFF:
        return ""
    if selection != table.description.selection:
        return f"off: chosen by {selection}, the printed number is not"
    return f"off: {diagnosis_of(table, s.cell) or 'no diagnosis yet'}"


def _reasons(table: Table, scored: Sequence[Scored], selection: str) -> list[str]:
    """Return why cells are missing, diverged, off or apart, a note for each reason."""
    reasons: dict[str, list[Scored]] = {}
    for s in scored:
        if reason := reason_of(table, s, selection):
            reasons.setdefault(reason, []).append(s)
    return [f"{_places(group, scored)} — {reason}" for reason, group in reasons.items()]


def _of_reading(table: Table, selection: str) -> list[str]:
    """Return which standard readings coincide for this table, and how much is luck."""
    name = table.reading.name
    if name not in READINGS:
        return []
    paper = table.description.paper
    columns = [column.published for column in table.description.columns]

    def answers(reading: Reading) -> list[Mapping[str, Any]]:
        return [reading.for_column(column).answers for column in columns]

    there = (LITERAL, *options("reading"))  # a new paper has no other yet
    others = [one for one in READINGS if one != name and {one, f"{paper}/{one}"} & set(there)]
    same = [o for o in others if answers(Reading.of(paper, o)) == answers(table.reading)]
    same_as = [f"reading — the answers for this table are also those of {' and '.join(same)}"]
    own = selection == table.description.selection
    return [*(same_as if same else []), *(luck.sentences(table.id, name) if own else [])]


def _before_all(table: Table, scored: Sequence[Scored]) -> list[str]:
    """Return where our extra baselines beat everything in the paper, in at most one line.

    They are compared with our runs of the paper's algorithms; the best printed number is given too.
    Only the table's main metric counts, if it is not a time, and only complete columns.
    """
    metric = METRICS[table.description.metric]
    sign = metric.sign
    columns: dict[tuple[str, str], list[Scored]] = {}
    for s in scored:
        if s.cell.metric == metric.name and metric.compares:
            columns.setdefault((s.cell.dataset, s.cell.task), []).append(s)
    advantages = []
    for (dataset, task), column in columns.items():
        theirs = [s for s in column if not s.cell.is_ours]
        if not theirs or any(s.mean is None for s in theirs):
            continue
        best = min(theirs, key=lambda s: sign * float(s.mean or 0.0))
        printed = min((s.cell.mean for s in theirs), key=lambda text: sign * float(text))
        better = [
            f"{s.cell.algorithm} {_short(table, s)}"
            for s in column
            if s.cell.is_ours
            and s.mean is not None
            and sign * s.mean < sign * float(best.mean or 0.0)
        ]
        if better:
            place = dataset if task == "all" else f"{dataset} {task}"
            against = f"{best.cell.algorithm} {_short(table, best)}, best as printed {printed}"
            advantages.append(f"{place}: {', '.join(better)} ({against})")
    line = "baselines of ours that are better than every algorithm of the paper as we ran it"
    return [f"{line} — {'; '.join(advantages)}"] if advantages else []


def _conditional(scored: Sequence[Scored]) -> list[str]:
    """Return a note if spreads are over shuffles of one data set, in at most one line."""
    named = dict.fromkeys(
        s.cell.dataset
        for s in scored
        if s.values.size and s.cell.experiment.repeats_are_of == ONE_DATA_SET
    )
    return [f"{', '.join(named)} — {CONDITIONAL}"] if named else []


def _short(table: Table, s: Scored) -> str:
    return f"{s.mean:.{table.description.digits_of(s.cell.metric)}f}"


def _findings(table: Table, scored: Sequence[Scored]) -> list[str]:
    """Return the learners' findings about tasks, in the words of the description's ``findings``.

    By name, a phrase that is followed by the tasks and in what share of the repeats.
    """
    lines = {}
    for name, phrase in table.description.findings.items():
        for s in scored:
            if name in s.found:
                share = s.found[name]
                tasks = [f"{k} ({x:.0%})" for k, x in enumerate(share, start=1) if x > 0]
                shown = "all" if share.min() >= 1.0 else ", ".join(tasks) or "none"
                place = f"{s.cell.algorithm} on {s.cell.dataset}"
                lines[name, place] = f"{place}: {phrase}: {shown}"
    return list(lines.values())


def _places(group: Sequence[Scored], scored: Sequence[Scored]) -> str:
    """Return the place of a group of cells: by data set, its algorithms, or all of several."""
    everywhere = Counter(s.cell.dataset for s in scored if not s.cell.is_ours)
    here = Counter(s.cell.dataset for s in group if not s.cell.is_ours)
    by_dataset: dict[str, list[str]] = {}
    several = len({s.cell.metric for s in scored}) > 1
    for s in group:
        task = "" if s.cell.task == "all" else f" {s.cell.task}"
        metric = f" {s.cell.metric}" if several else ""
        by_dataset.setdefault(s.cell.dataset, []).append(f"{s.cell.algorithm}{task}{metric}")
    return "; ".join(
        f"{data}: {'all' if here[data] == everywhere[data] > 1 else ', '.join(names)}"
        for data, names in by_dataset.items()
    )


def spread(mean: Any, std: Any, digits: int) -> str:
    """Return a mean with its spread, as in the papers."""
    shown = f"{float(mean):.{digits}f}"
    return f"{shown} ± {float(std):.{digits}f}" if std not in ("", None) else shown
