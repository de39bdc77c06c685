"""The claims ledger: every comparative statement of the papers, and its outcome.

It is made from files alone: the claims in ``experiments/*/claims.yaml``, their outcomes beside the
reproduced tables and figures, and the tables of comparisons in ``results/statistics``. So is the
audit of the theorems, from the numbers of the figures that show them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain
from math import inf
from pathlib import Path
from typing import Any

import pandas as pd

from omtl.evidence.claims import claims_of, in_print, judge_claim, outcome_of
from omtl.evidence.scoreboard import write_scoreboard
from omtl.experiment.descriptions import Claim
from omtl.experiment.naming import READINGS
from omtl.experiment.papers import paper_files
from omtl.figures.numbers import drawn_rows
from omtl.tables.plan import describe, descriptions
from omtl.util.paths import RESULTS, results_to_read
from omtl.util.result_files import as_csv, rows_in, write_all

NOT_RUN = "not run"

CHANGED = "the claim has changed since the last run"

OF_A_READING = ("", "_corrected", "_comparisons", "_least_effect")
"""Columns of each reading: the outcome, by an interval for each comparison; the outcome with Holm's
correction over all comparisons that the table or figure decides; how many comparisons came out how;
and the least effect size, positive on the claim's side, with its comparison. Before them stands
whether the claim is true of the paper's own printed means, and which comparisons are not."""

COLUMNS = (
    *("paper", "claim", "place", "sentence", "decided_by", "predicate"),
    *("in_print", "untrue_in_print"),
    *(f"{reading}{what}" for reading in READINGS for what in OF_A_READING),
)

THEORY = (
    *("figure", "dataset", "part", "reading", "theorem", "measure"),
    *("at", "measured", "bound", "tightness"),
    *("tightest", "trivial", "points_above", "points"),
    *("n_repeats", "warning", "notes"),
)
"""Columns of ``results/theory.csv``.

`tightness` is the measured over the bound at the last point of the line, where `at` is: after all
rounds, or the largest parameter; `tightest` is the largest over all points. `trivial` is the number
of examples there, where the figure shows it: a bound above it says nothing. `points_above` counts
the points at which the measured is above the bound. `warning` is why the theorem is not of this
run; `notes` are the constants and assumptions as the run has them.
"""

TRIVIAL = "examples"
"""The line of a figure that is no theorem, but what can be measured at most."""

SIDES = {"lower": "below", "higher": "above", "ratio": "over"}
"""What a part of a claim says of its rows and what they are compared with."""


def papers() -> list[str]:
    """Return the papers that have claims."""
    return [path.parent.name for path in paper_files("claims.yaml")]


def predicate(claim: Claim) -> str:
    """Return a claim's predicate in words; parts that differ only in place become one."""
    places: dict[str, list[str]] = {}
    for part in claim.all:
        metric = (part.metric or claim.metric) if claim.table else ""
        limits = [f"by {part.by:g}"] if part.by else []
        limits += [f"at least {part.at_least:g}"] if part.at_least else []
        limits += [f"at most {part.at_most:g}"] if part.at_most < inf else []
        mine, theirs = (_each(_with_forms(claim, names)) for names in (part.compared, part.than))
        what = [metric, mine, SIDES[part.side], theirs, " and ".join(limits)]
        if part.panel:
            where = [f"panel {part.panel}", *part.parts]
            place = f"{', '.join(where)} at {', '.join(map(str, part.at))}"
        else:
            place = " ".join([part.dataset, ", ".join(part.tasks)]).strip()
        places.setdefault(" ".join(word for word in what if word), []).append(place)
    return "; ".join(f"{what}: on {', '.join(where)}" for what, where in places.items())


def _with_forms(claim: Claim, names: Sequence[str]) -> list[str]:
    """Return names of rows; those that are the better of several with the several."""
    return [
        f"{name} (the better of {', '.join(claim.either[name])})" if name in claim.either else name
        for name in names
    ]


def _each(names: Sequence[str]) -> str:
    return f"each of {', '.join(names)}" if len(names) > 1 else names[0]


def rows_of(folder: Path, name: str, claim: str, reading: str) -> list[dict[str, str]]:
    """Return the rows of a claim under a reading in a table's or figure's file of claims."""
    each = rows_in(folder / f"{name}.claims.csv")
    return [row for row in each if (row["claim"], row["reading"]) == (claim, reading)]


def tests_of(results: Path, name: str, claim: str, reading: str) -> list[dict[str, str]]:
    """Return the comparisons of a claim under a reading, from ``results/statistics``."""
    return rows_of(results / "statistics", name, claim, reading)


def outcome_under(claim: Claim, reading: str, results: Path) -> tuple[str, ...]:
    """Return what the columns `OF_A_READING` say of a claim under a reading.

    What is of its comparisons follows from their tests. Those that are not of the same comparisons,
    because they are older, are not told.
    """
    folder = results / ("reproduced" if claim.table else "figures")
    outcomes = rows_of(folder, claim.decided_by, claim.id, reading)
    tests = tests_of(results, claim.decided_by, claim.id, reading)
    if not outcomes:
        return NOT_RUN, NOT_RUN, "", ""
    asked = [one.relation for one in judge_claim(claim, [])] if tests and claim.table else []
    if asked and asked != [row["comparison"] for row in tests]:
        return NOT_RUN, NOT_RUN, CHANGED, ""
    outcome = outcomes[0]["outcome"]
    if not tests or outcome_of(row["outcome"] for row in tests) != outcome:
        return outcome, "", "", ""
    tally = Counter(row["outcome"] if int(row["n_repeats"]) else NOT_RUN for row in tests)
    if set(tally) == {NOT_RUN}:
        return NOT_RUN, NOT_RUN, "", ""
    counts = ", ".join(f"{one} {n}" for one, n in sorted(tally.items()))
    least = least_effect(tests)
    effect = f"{least['effect']} ({least['comparison']})" if least else ""
    return outcome, outcome_of(row["corrected"] for row in tests), counts, effect


def least_effect(tests: Sequence[Mapping[str, str]]) -> Mapping[str, str] | None:
    """Return the test with the least effect on the claim's side; None where none has one."""
    sized = [row for row in tests if row["effect"]]
    return min(sized, key=lambda row: float(row["effect"]), default=None)


def claims_ledger(results: Path = RESULTS) -> pd.DataFrame:
    """Return the ledger: one row per claim, by paper and in the order of its claims.

    Parameters
    ----------
    results : Path
        The folder of results.
    """
    found = []
    for paper in papers():
        for claim in claims_of(paper):
            about = (paper, claim.id, claim.place, claim.words, claim.decided_by, predicate(claim))
            under = chain(*(outcome_under(claim, reading, results) for reading in READINGS))
            found.append((*about, *in_print(claim), *under))
    return pd.DataFrame(found, columns=COLUMNS)


def theory_audit(results: Path = RESULTS) -> pd.DataFrame:
    """Return each bound beside what was measured, on each data set of the figures of theorems.

    What is measured is the first of the lines that were played: the others are of rates that the
    theorems are not of.

    Parameters
    ----------
    results : Path
        The folder of results.
    """
    found: list[tuple[Any, ...]] = []
    for name in (name for name in descriptions("figure") if "-figtheorem" in name):
        path = results / "figures" / f"{name}.csv"
        if not path.exists():
            continue
        panels = {panel.label: panel for panel in describe("figure", name).panels}
        drawn = pd.DataFrame(drawn_rows(path))
        for (reading, label, part), lines in drawn.groupby(
            ["reading", "panel", "part"], sort=False
        ):
            played = lines[lines["kind"] == "run"]
            if played.empty:
                continue
            panel = panels[str(label)]
            measure = played["label"].iloc[0]
            measured = played[played["label"] == measure].set_index("x")["y"].astype(float)
            warnings = [line.warning for line in panel.lines if part == line.title]
            notes = "; ".join(lines[lines["kind"] == "note"]["label"])
            curves = {
                bound: points.set_index("x")["y"].astype(float)
                for bound, points in lines[lines["kind"] == "theory"].groupby("label", sort=False)
            }
            most = curves.pop(TRIVIAL, None)
            for bound, values in curves.items():
                share = measured.reindex(values.index) / values
                last = values.index[-1]
                found.append(
                    (
                        *(name, panel.title, part, reading, bound, measure),
                        f"{played['x_label'].iloc[0]} = {last}",
                        *(f"{measured[last]:.6g}", f"{values[last]:.6g}"),
                        *(f"{share[last]:.4g}", f"{share.max():.4g}"),
                        "" if most is None else f"{most[last]:g}",
                        *(str(int((share > 1.0).sum())), str(len(values))),
                        played["n_repeats"].iloc[0],
                        *("; ".join(filter(None, warnings)), notes),
                    )
                )
    return pd.DataFrame(found, columns=THEORY)


def write_ledgers(results: Path | None = None) -> tuple[list[str], list[Path]]:
    """Write the ledger, the audit and the scoreboard; return what they tell, and the paths.

    Without a folder of results, those written here are read, or else those of the package.
    """
    source, home = results or results_to_read(), results or RESULTS
    claims, audit = claims_ledger(source), theory_audit(source)
    paths = write_all(home, {"claims.csv": as_csv(claims), "theory.csv": as_csv(audit)})
    paths.append(write_scoreboard(source, home))
    sentences = [f"{len(claims)} claims, in print: {_counted(claims['in_print'])}"]
    for reading in READINGS:
        for kind in (reading, f"{reading}_corrected"):
            outcomes = _counted(claims[kind].replace("", "not tested"))
            sentences.append(f"{len(claims)} claims, {kind.replace('_', ' ')}: {outcomes}")
    return [*sentences, f"{len(audit)} bounds beside what was measured"], paths


def _counted(outcomes: pd.Series) -> str:
    return ", ".join(
        f"{outcome} {n}" for outcome, n in outcomes.value_counts().sort_index().items()
    )
