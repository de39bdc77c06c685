"""The notes below a table: why cells are missing or off, trends, findings, suspect numbers."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pandas as pd

from omtl.compute.store import pulled_note
from omtl.experiment.config import options
from omtl.experiment.descriptions import TableDescription, diagnoses
from omtl.experiment.readings import BLIND, LITERAL, READINGS, Reading
from omtl.experiment.unit import CONDITIONAL, ONE_DATA_SET
from omtl.measures.metrics import METRICS
from omtl.tables import verdict
from omtl.tables.agreement import trend_sentences
from omtl.tables.cells import ALL_TASKS, description_of, each_cell, first_cell, place_of, places_in
from omtl.tables.placebo_test import HALVES, recorded_placebos
from omtl.tables.proofread import by_row, suspects
from omtl.tables.scoring import ALL_PLAYED, ERROR, SETTLED
from omtl.util.screen import plural

LEVEL = f"{verdict.CONFIDENCE:.1%}"
"""The level of the intervals of differences, in words."""

APART = f"within {verdict.NEAR_WITHIN:.0%}, but many standard errors from print"
"""How the note on such a cell begins."""


def notes(cells: pd.DataFrame, findings: Sequence[str] | None = None) -> list[str]:
    """Return the notes below a table, one sentence or line each.

    Parameters
    ----------
    cells : DataFrame
        Of `omtl.tables.verdict.judged`.
    findings : sequence of str, optional
        What learners found about tasks, in place of what the cells have of it.
    """
    of, asked = description_of(cells), first_cell(cells)
    here = set(places_in(cells))
    placebos = _placebos(of.id, asked.reading) if asked.selection == of.selection else []
    odd = by_row(found for found in suspects(of.id) if place_of(found) in here)
    return [
        *_reasons(cells),
        *_pulled(cells),
        *_repeats(cells),
        *trend_sentences(cells),
        *_better_than_all(cells, of),
        *(_findings(cells, of) if findings is None else findings),
        *(f"suspect in print (omtl audit proofread) — {text}" for text in odd),
        *_conditional(cells),
        *_same_readings(cells, of),
        *placebos,
    ]


def diagnosis_of(cell: Any, paper: str) -> str:
    """Return why a cell is off or far from the printed number; empty without a diagnosis."""
    for entry in diagnoses(paper):
        if (
            entry.table == cell.table
            and cell.reading in entry.readings
            and cell.dataset == entry.dataset
            and cell.algorithm in entry.algorithms
            and cell.metric in (entry.metrics or [cell.metric])
        ):
            return " ".join(entry.text.split())
    return ""


def reason_of(cell: Any, of: TableDescription) -> str:
    """Return why a cell is missing, diverged, off or apart; empty if it is none of these."""
    if cell.verdict == verdict.MISSING:
        return f"missing: {cell.why}"
    if cell.diverged:
        return f"diverged in {cell.diverged} of {cell.n_repeats} repeats"
    own_rule = cell.selection == of.selection
    if cell.verdict in (verdict.MATCH, verdict.NEAR) and cell.is_apart and own_rule:
        why = diagnosis_of(cell, of.paper)
        return f"{APART}: {why}" if why else ""
    if cell.verdict != verdict.OFF:
        return ""
    if cell.n_repeats == 1:
        return "off: a single repeat cannot tell whether that is by chance"
    if cell.interval == verdict.CONTAINS:
        return "off: the interval contains print, so the runs cannot tell"
    if not own_rule:
        return f"off: chosen by {cell.selection}, the printed number is not"
    return f"off: {diagnosis_of(cell, of.paper) or 'no diagnosis yet'}"


def notes_on_sources(cells: pd.DataFrame) -> list[str]:
    """Return what nobody may overlook: why cells are missing, and which were not computed here."""
    is_missing = cells["verdict"] == verdict.MISSING
    return [*_reasons(cells, is_missing), *_pulled(cells), *_repeats(cells)]


def _reasons(cells: pd.DataFrame, among: pd.Series | None = None) -> list[str]:
    """Return why some cells are missing, diverged, off or apart, one note for each reason."""
    of, asked = description_of(cells), cells if among is None else cells[among]
    return _by_text(asked, [reason_of(cell, of) for cell in each_cell(asked)], cells)


def _pulled(cells: pd.DataFrame) -> list[str]:
    """Return which cells have units that others computed, a note for each source."""
    return _by_text(cells, [pulled_note([source]) for source in cells["pulled_from"]], cells)


def _by_text(some: pd.DataFrame, texts: list[str], cells: pd.DataFrame) -> list[str]:
    """Return each text that is said of some cells, after their places among all cells."""
    groups = some.groupby(pd.Series(texts, some.index, dtype=str), sort=False)
    return [f"{_places(group, cells)} — {text}" for text, group in groups if text]


def _repeats(cells: pd.DataFrame) -> list[str]:
    """Return in a sentence how many repeats were played, if each cell was played until settled."""
    if "stopped" not in cells:
        return []
    settled = cells[cells["stopped"] == SETTLED]
    full = int((cells["stopped"] == ALL_PLAYED).sum())
    if settled.empty:
        return []
    least, most = settled["n_repeats"].min(), settled["n_repeats"].max()
    of = f"{least}" if least == most else f"{least} to {most}"
    rest = f"; {full} needed all repeats" if full else ""
    return [
        f"{len(settled)} of {plural(len(cells), 'cell')} stopped after {of} repeats, when another "
        f"verdict had a probability of at most {ERROR:.0%}, if repeats vary normally{rest} "
        "(--repeats paper plays all)"
    ]


def _places(group: pd.DataFrame, cells: pd.DataFrame) -> str:
    """Return the place of a group of cells: by data set, its algorithms, or all of several."""
    everywhere = Counter(cells["dataset"][cells["kind"] != verdict.OURS])
    here = Counter(group["dataset"][group["kind"] != verdict.OURS])
    several = cells["metric"].nunique() > 1
    by_dataset: dict[str, list[str]] = {}
    for dataset, algorithm, task, metric in places_in(group):
        parts = (algorithm, "" if task == ALL_TASKS else task, metric if several else "")
        by_dataset.setdefault(dataset, []).append(" ".join(filter(None, parts)))
    return "; ".join(
        f"{data}: {'all' if here[data] == everywhere[data] > 1 else ', '.join(names)}"
        for data, names in by_dataset.items()
    )


def _better_than_all(cells: pd.DataFrame, of: TableDescription) -> list[str]:
    """Return where our extra baselines beat everything in the paper, in at most one line.

    They are compared with our runs of the paper's algorithms; the best printed number is given too.
    Only the table's main metric counts, if it is not a time, and only complete columns.
    """
    metric, digits, advantages = METRICS[of.metric], of.digits_of(of.metric), []
    main = cells[(cells["metric"] == metric.name) & metric.compares]
    main = main.assign(cost=metric.sign * main["ours_mean"])
    for (dataset, task), column in main.groupby(["dataset", "task"], sort=False):
        is_ours = column["kind"] == verdict.OURS
        theirs = column[~is_ours]
        if theirs.empty or not theirs["n_repeats"].all():
            continue
        best = theirs.iloc[theirs["cost"].argmin()]
        best_printed = min(theirs["published_mean"], key=lambda mean: metric.sign * float(mean))
        better = column[is_ours & (column["cost"] < best["cost"])]
        named = [f"{c.algorithm} {c.ours_mean:.{digits}f}" for c in each_cell(better)]
        if named:
            place = dataset if task == ALL_TASKS else f"{dataset} {task}"
            against = f"{best['algorithm']} {best['ours_mean']:.{digits}f}, best as printed "
            advantages.append(f"{place}: {', '.join(named)} ({against}{best_printed})")
    line = "baselines of ours that are better than every algorithm of the paper as we ran it"
    return [f"{line} — {'; '.join(advantages)}"] if advantages else []


def _findings(cells: pd.DataFrame, of: TableDescription) -> list[str]:
    """Return the learners' findings about tasks, in the words of the description's ``findings``.

    By name, a phrase that is followed by the tasks and in what share of the repeats.
    """
    lines = {}
    for name, phrase in of.findings.items():
        for cell in each_cell(cells):
            if name in cell.findings:
                share = cell.findings[name]
                tasks = [f"{k} ({x:.0%})" for k, x in enumerate(share, start=1) if x > 0]
                shown = "all" if share.min() >= 1.0 else ", ".join(tasks) or "none"
                place = f"{cell.algorithm} on {cell.dataset}"
                lines[name, place] = f"{place}: {phrase}: {shown}"
    return list(lines.values())


def _conditional(cells: pd.DataFrame) -> list[str]:
    """Return a note if spreads are over shuffles of one data set, in at most one line."""
    was_run = cells[cells["n_repeats"] > 0]
    one_data_set = [one.repeats_are_of == ONE_DATA_SET for one in was_run["experiment"]]
    named = was_run["dataset"][one_data_set].unique()
    return [f"{', '.join(named)} — {CONDITIONAL}"] if len(named) else []


def _same_readings(cells: pd.DataFrame, of: TableDescription) -> list[str]:
    """Return which other standard readings have the same answers for this table."""
    name = first_cell(cells).reading
    if name not in READINGS:
        return []
    there = (LITERAL, *options("reading"))  # a new paper has no other yet

    def answers(reading: str) -> list[Any]:
        given = Reading.of(of.paper, reading)
        return [given.for_column(column.published).answers for column in of.columns]

    mine = answers(name)
    others = [one for one in READINGS if one != name and {one, f"{of.paper}/{one}"} & set(there)]
    same = " and ".join(one for one in others if answers(one) == mine)
    return [f"reading — the answers for this table are also those of {same}"] if same else []


def why_of(cell: Any, of: TableDescription) -> str:
    """Return why a cell has its verdict, in words."""
    reason = reason_of(cell, of).removeprefix(f"{cell.verdict}: ").removeprefix(f"{APART}: ")
    if cell.verdict not in verdict.JUDGED or not cell.n_repeats:
        return reason
    scale = METRICS[cell.metric].scale
    of_scale = "" if scale is abs else f" of {scale(float(cell.published_mean)):.3g}"
    close = f"{verdict.NEAR_WITHIN:.0%}"
    far = {verdict.MATCH: f"within {verdict.MATCH_WITHIN:.0%}", verdict.NEAR: f"within {close}"}
    found = (
        f"our mean differs by {cell.delta:+.3g} ({cell.share:.1%}{of_scale}) from the published "
        f"number, {far.get(cell.verdict, f'beyond {close}')}"
    )
    if cell.n_repeats > 1:
        ends = f"[{cell.low:+.3g}, {cell.high:+.3g}]"
        found += f"; the {LEVEL} interval of the difference, {ends}, {cell.interval} 0"
    return f"{found}. {reason[0].upper()}{reason[1:]}" if reason else found


def command_of_cell(cell: Any, name: str, own_selection: str, one_draw: bool = False) -> str:
    """Return the command line that makes just the cell of this name."""
    words = ["omtl", "table", cell.table, "--cell", name, "--reading", cell.reading]
    words += ["--repeats", str(cell.asked_repeats), "--seed", str(cell.seed)]
    words += ["--one-draw"] if one_draw else []
    words += ["--selection", cell.selection] if cell.selection != own_selection else []
    return shlex.join(words)


def _placebos(table: str, reading: str) -> list[str]:
    """Return what a search finds of a table and of placebos, in a sentence, if measured."""
    row = recorded_placebos(table, reading)
    if row is None:
        return []
    searched, held, literal = (f"{100.0 * float(row[name]):.0f}%" for name in HALVES)
    blind = recorded_placebos(table, BLIND)
    n_post_hoc = "" if blind is None else int(row["trials"]) - int(blind["trials"])
    bound = (
        f". {n_post_hoc} of the trials have answers found by looking at print, or contrived ones: "
        f"for these p is a lower bound; without them the closest brings {blind['found']}"
        if blind is not None and n_post_hoc
        else ""
    )
    return [
        f"placebo test — the closest of {row['trials']} recorded trials bring {row['found']} of "
        f"{row['cells']} cells within 10% of print (literal answers: {row['literal']}). Had the "
        f"printed rows been permuted, they would bring {row['permuted']} on average "
        f"(p = {row['permuted_p']}); had the numbers been perturbed, {row['perturbed']} "
        f"(p = {row['perturbed_p']}). Chosen by half of the rows, they bring {searched} of that "
        f"half and {held} of the other within 10% (literal answers: {literal} of the other){bound}"
    ]
