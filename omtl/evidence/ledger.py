"""The claims ledger: every comparative statement of the papers, and its outcome.

It is made from files alone: the claims in ``experiments/*/claims.yaml``, their outcomes beside the
reproduced tables and figures, and the comparisons in ``results/statistics``. So is the audit of the
theorems, from the numbers of the figures that show them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from pathlib import Path
from typing import Any

import pandas as pd

from omtl.evidence.claims import (
    claims_of,
    in_print,
    judge_claim,
    outcome_of,
    stand_ins,
    why_it_fails,
)
from omtl.evidence.comparisons import FAILS, HOLDS, UNDECIDED
from omtl.evidence.scoreboard import write_scoreboard
from omtl.experiment.config import paper_file, paper_files
from omtl.experiment.descriptions import CLOSEST, READINGS, Claim
from omtl.figures.numbers import drawn_rows
from omtl.tables.plan import describe, descriptions
from omtl.util.files import write_whole
from omtl.util.paths import CHECKOUT, RESULTS, results_to_read
from omtl.util.result_files import as_csv, for_markdown, read_csv, write_all

NOT_RUN = "not run"

OUTCOMES = (HOLDS, FAILS, UNDECIDED, NOT_RUN)
"""The outcomes in the order in which a page lists them."""

CHANGED = "the claim has changed since the last run"

OF_A_READING = ("", "_corrected", "_comparisons", "_least_effect")
"""Columns of each reading: the outcome, by an interval for each comparison; the outcome with Holm's
correction over all comparisons that the table or figure decides; how many comparisons came out how;
and the least effect size, positive on the claim's side, with its comparison. Before them stands
whether the claim is true of the paper's own printed means, which comparisons are not, and on which
stand-in data it is decided."""

CONCLUSIONS = "## Which conclusions survive"
"""The heading of a paper's page under which its claims stand."""

COLUMNS = (
    *("paper", "claim", "place", "sentence", "decided_by", "predicate"),
    *("in_print", "untrue_in_print", "stand_ins"),
    *(f"{reading}{what}" for reading in READINGS for what in OF_A_READING),
    "why_it_fails",
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


def papers_with_claims() -> list[str]:
    """Return the papers that have claims."""
    return [path.parent.name for path in paper_files("claims.yaml")]


def predicate(claim: Claim) -> str:
    """Return a claim's predicate in words; parts that differ only in place become one."""

    def each(names: Sequence[str]) -> str:
        told = [
            f"{name} (the better of {', '.join(claim.either[name])})"
            if name in claim.either
            else name
            for name in names
        ]
        return f"each of {', '.join(told)}" if len(told) > 1 else told[0]

    places: dict[str, list[str]] = {}
    for part in claim.all:
        metric = (part.metric or claim.metric) if claim.table else ""
        limits = [f"by {part.by:g}"] if part.by else []
        limits += [f"at least {part.at_least:g}"] if part.at_least else []
        limits += [f"at most {part.at_most:g}"] if part.at_most < inf else []
        what = [metric, each(part.compared), SIDES[part.side], each(part.than)]
        if part.panel:
            where = [f"panel {part.panel}", *part.parts]
            place = f"{', '.join(where)} at {', '.join(map(str, part.at))}"
        else:
            place = " ".join([part.dataset, ", ".join(part.tasks)]).strip()
        told = " ".join(word for word in [*what, " and ".join(limits)] if word)
        places.setdefault(told, []).append(place)
    return "; ".join(f"{what}: on {', '.join(where)}" for what, where in places.items())


def rows_of_claims(*folders: Path) -> dict[tuple[str, ...], pd.DataFrame]:
    """Return rows of results, by the table or figure that decides, the claim and the reading."""
    return {
        (path.name.removesuffix(".claims.csv"), *map(str, key)): rows
        for folder in folders
        for path in sorted(folder.glob("*.claims.csv"))
        for key, rows in read_csv(path).groupby(["claim", "reading"])
    }


def outcome_under(outcomes: pd.DataFrame, tests: pd.DataFrame, said: Sequence[str]) -> list[str]:
    """Return what the columns `OF_A_READING` say of a claim under a reading.

    Parameters
    ----------
    outcomes, tests : DataFrame
        The claim's outcome, and its comparisons with their tests.
    said : sequence of str
        The claim's comparisons as they are now, where they are known: tests of others are older,
        and not told.
    """
    if outcomes.empty:
        return [NOT_RUN, NOT_RUN, "", ""]
    outcome = outcomes["outcome"].iloc[0]
    if tests.empty:
        return [outcome, "", "", ""]
    if said and [*said] != [*tests["comparison"]]:
        return [NOT_RUN, NOT_RUN, CHANGED, ""]
    if outcome_of(tests["outcome"]) != outcome:
        return [outcome, "", "", ""]
    run = tests["n_repeats"] != "0"
    if not run.any():
        return [NOT_RUN, NOT_RUN, "", ""]
    counts = tests["outcome"].where(run, NOT_RUN)
    sized = tests[tests["effect"] != ""]
    effect = ""
    if len(sized):
        least = sized.iloc[int(sized["effect"].astype(float).argmin())]
        effect = f"{least['effect']} ({least['comparison']})"
    return [outcome, outcome_of(tests["corrected"]), _counted(counts), effect]


def claims_ledger(results: Path = RESULTS) -> pd.DataFrame:
    """Return the ledger: one row per claim, by paper and in the order of its claims.

    Parameters
    ----------
    results : Path
        The folder of results.
    """
    outcomes = rows_of_claims(results / "reproduced", results / "figures")
    tests, nothing = rows_of_claims(results / "statistics"), pd.DataFrame()
    found = []
    for paper in papers_with_claims():
        for claim in claims_of(paper):
            row = [paper, claim.id, claim.place, claim.words, claim.decided_by, predicate(claim)]
            row += [*in_print(claim), ", ".join(stand_ins(claim))]
            said = [*judge_claim(claim, [])["comparison"]] if claim.table else []
            for reading in READINGS:
                key = claim.decided_by, claim.id, reading
                under = outcome_under(outcomes.get(key, nothing), tests.get(key, nothing), said)
                row += under
            found.append([*row, why_it_fails(claim, reading, under[0])])  # the last is the closest
    return pd.DataFrame(found, columns=COLUMNS)


def conclusions(claims: pd.DataFrame) -> str:
    """Return which of a paper's claims survive in our numbers as published, in Markdown.

    Parameters
    ----------
    claims : DataFrame
        Its rows of the ledger.
    """
    outcomes = claims[CLOSEST]
    of_print = claims["in_print"] == "true"
    both = int((of_print & (outcomes == HOLDS)).sum())
    apart = int((claims["stand_ins"] != "").sum())
    verbs = dict(zip(OUTCOMES, ("hold", "fail", "are undecided", "were not run"), strict=True))
    counts = [(int((outcomes == outcome).sum()), verb) for outcome, verb in verbs.items()]
    told = ", ".join(f"{count} {verb}" for count, verb in counts if count)
    lines = [
        f"{CONCLUSIONS}\n",
        f"Of {len(claims)} claims, {told} as published. Of the {of_print.sum()} that are true of "
        f"the printed numbers, {both} hold in ours"
        + (f"; {apart} are decided on stand-in data." if apart else "."),
    ]
    for outcome, part in claims.groupby(outcomes.map(OUTCOMES.index), sort=True):
        lines += ["", f"*{OUTCOMES[int(str(outcome))].capitalize()}:*", ""]
        for row in part.to_dict("records"):
            marks = [
                "not true in print" if row["in_print"] == "false" else "",
                f"stand-in: {row['stand_ins']}" if row["stand_ins"] else "",
            ]
            told = "; ".join([row["place"], *filter(None, marks)])
            lines.append(f"- {for_markdown(row['sentence'])} ({for_markdown(told)})")
            lines += [f"  *Why:* {for_markdown(row['why_it_fails'])}"] * bool(row["why_it_fails"])
    return "\n".join(lines) + "\n"


def with_conclusions(page: str, claims: pd.DataFrame) -> str:
    """Return a paper's page with its conclusions, which are its first section."""
    head, *rest = page.split("\n## ")
    others = [part for part in rest if not CONCLUSIONS.endswith(part.partition("\n")[0])]
    return "\n## ".join([f"{head}\n{conclusions(claims)}", *others])


def theory_audit(results: Path = RESULTS) -> pd.DataFrame:
    """Return each bound beside what was measured, on each data set of the figures of theorems.

    What is measured is the first of the lines that were played: the others are of rates that the
    theorems are not of.

    Parameters
    ----------
    results : Path
        The folder of results.
    """
    found = []
    for name in (name for name in descriptions("figure") if "-figtheorem" in name):
        panels = {panel.label: panel for panel in describe("figure", name).panels}
        drawn = pd.DataFrame(drawn_rows(results / "figures" / f"{name}.csv"))
        if drawn.empty:
            continue
        for key, lines in drawn.groupby(["reading", "panel", "part"], sort=False):
            reading, label, part = map(str, key)
            panel = panels[label]
            warnings = [line.warning for line in panel.lines if part == line.title and line.warning]
            about = {"figure": name, "dataset": panel.title, "part": part, "reading": reading}
            found += [{**about, **row, "warning": "; ".join(warnings)} for row in _bounds_of(lines)]
    return pd.DataFrame(found, columns=THEORY)


def _bounds_of(lines: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the columns of `THEORY` that follow from the lines of a panel's part."""
    played = lines[lines["kind"] == "run"]
    if played.empty:
        return
    first = played.iloc[0]
    curves = {
        (kind, label): points.set_index("x")["y"].astype(float)
        for (kind, label), points in lines.groupby(["kind", "label"], sort=False)
        if kind in ("run", "theory")
    }
    measured = curves["run", first["label"]]
    most = curves.pop(("theory", TRIVIAL), None)
    for bound, values in ((label, each) for (kind, label), each in curves.items() if kind != "run"):
        share, last = measured.reindex(values.index) / values, values.index[-1]
        yield {
            "theorem": bound,
            "measure": first["label"],
            "at": f"{first['x_label']} = {last}",
            "measured": f"{measured[last]:.6g}",
            "bound": f"{values[last]:.6g}",
            "tightness": f"{share[last]:.4g}",
            "tightest": f"{share.max():.4g}",
            "trivial": "" if most is None else f"{most[last]:g}",
            "points_above": str(int((share > 1.0).sum())),
            "points": str(len(values)),
            "n_repeats": first["n_repeats"],
            "notes": "; ".join(lines.loc[lines["kind"] == "note", "label"]),
        }


def write_ledgers(results: Path | None = None) -> tuple[list[str], list[Path]]:
    """Write the ledger, the audit and the scoreboard; return what they tell, and the paths.

    Without a folder of results, those written here are read, or else those of the package.
    """
    source, home = results or results_to_read(), results or RESULTS
    claims, audit = claims_ledger(source), theory_audit(source)
    paths = write_all(home, {"claims.csv": as_csv(claims), "theory.csv": as_csv(audit)})
    paths.append(write_scoreboard(source, home))
    for paper, part in claims.groupby("paper") if results is None and CHECKOUT else ():
        page = paper_file(str(paper), "README.md")
        write_whole(page, with_conclusions(page.read_text(encoding="utf-8"), part))
        paths.append(page)
    sentences = [f"{len(claims)} claims, in print: {_counted(claims['in_print'])}"]
    for kind in (f"{reading}{what}" for reading in READINGS for what in ("", "_corrected")):
        outcomes = _counted(claims[kind].replace("", "not tested"))
        sentences.append(f"{len(claims)} claims, {kind.replace('_', ' ')}: {outcomes}")
    return [*sentences, f"{len(audit)} bounds beside what was measured"], paths


def _counted(outcomes: pd.Series) -> str:
    counts = outcomes.value_counts().sort_index()
    return ", ".join(f"{outcome} {n}" for outcome, n in counts.items())
