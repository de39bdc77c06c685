"""What the files in ``results/`` say together: the ledger of claims, the audit of the theorems, the
scoreboard.

The ledger has every comparative statement of the papers and its outcome: the claims are in
``experiments/*/claims.yaml``, their outcomes beside the reproduced tables and figures, and the
comparisons in ``results/statistics``. The audit compares each bound of a theorem with what was
measured, from the figures that show them. The scoreboard counts cells by verdict and claims by
outcome.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import pandas as pd

from omtl.evidence.claims import (
    claims_of,
    in_print,
    judge_claims,
    outcome_of,
    predicate,
    stand_ins,
    why_it_fails,
)
from omtl.evidence.comparisons import FAILS, HOLDS, UNDECIDED
from omtl.experiment.config import paper_file, paper_files
from omtl.experiment.descriptions import describe, descriptions
from omtl.experiment.readings import CLOSEST, OF_TABLES, READINGS, SEARCHED, by_reading
from omtl.figures.numbers import drawn_rows
from omtl.tables.cells import each_cell
from omtl.tables.placebo_test import recorded_placebos
from omtl.tables.verdict import MATCH, MISSING, NEAR, SUBSTITUTE, TIMING, VERDICTS
from omtl.util.files import write_whole
from omtl.util.paths import CHECKOUT, RESULTS, ROOT, results_to_read
from omtl.util.result_files import as_csv, for_markdown, markdown_table, read_csv, write_all

NOT_RUN = "not run"

VERBS = {
    HOLDS: ("holds", "hold"),
    FAILS: ("fails", "fail"),
    UNDECIDED: ("is undecided", "are undecided"),
    NOT_RUN: ("was not run", "were not run"),
}
"""The outcomes in the order in which a page lists them, with what a claim does, or several."""

CHANGED = "the claim has changed since the last run"

OF_A_READING = ("", "_corrected", "_comparisons", "_least_effect")
"""Columns of each reading: the outcome, by an interval for each comparison; the outcome with Holm's
correction over all comparisons that the table or figure decides; how many comparisons came out how;
and the least effect size, positive on the claim's side, with its comparison. Before them stands
whether the claim is true of the paper's own printed means, which comparisons are not, and on which
stand-in data it is decided."""

CONCLUSIONS = "## Which conclusions survive"
"""The heading of a paper's page under which its claims stand."""

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
"""The line of a figure that is not a theorem, but the most that can be measured."""


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
    if len(tests) and said and [*said] != [*tests["comparison"]]:
        return [NOT_RUN, NOT_RUN, CHANGED, ""]
    if tests.empty or outcome_of(tests["outcome"]) != outcome:
        return [outcome, "", "", ""]
    run = tests["n_repeats"] != "0"
    if not run.any():
        return [NOT_RUN, NOT_RUN, "", ""]
    sized = tests[tests["effect"] != ""].sort_values("effect", key=pd.to_numeric, kind="stable")
    effects = [f"{one.effect} ({one.comparison})" for one in each_cell(sized)]
    counts = _counted(tests["outcome"].where(run, NOT_RUN))
    return [outcome, outcome_of(tests["corrected"]), counts, next(iter(effects), "")]


def claims_ledger(results: Path = RESULTS) -> pd.DataFrame:
    """Return the ledger: one row per claim, by paper and in the order of its claims.

    Parameters
    ----------
    results : Path
        The folder of results.
    """
    outcomes = rows_of_claims(results / "reproduced", results / "figures")
    tests, nothing = rows_of_claims(results / "statistics"), pd.DataFrame()
    found: list[dict[str, str]] = []
    for path in paper_files("claims.yaml"):
        paper = path.parent.name
        for claim in claims_of(paper):
            true, untrue = in_print(claim)
            row = {"paper": paper, "claim": claim.id, "place": claim.place, "sentence": claim.words}
            row |= {"decided_by": claim.decided_by, "predicate": predicate(claim)}
            row |= {"in_print": true, "untrue_in_print": untrue}
            row["stand_ins"] = ", ".join(stand_ins(claim))
            said = [*judge_claims([claim], [])["comparison"]] if claim.table else []
            for reading in READINGS:
                key = claim.decided_by, claim.id, reading
                under = outcome_under(outcomes.get(key, nothing), tests.get(key, nothing), said)
                row |= {
                    f"{reading}{what}": one for what, one in zip(OF_A_READING, under, strict=True)
                }
            found.append(row | {"why_it_fails": why_it_fails(claim, CLOSEST, row[CLOSEST])})
    return pd.DataFrame(found)


def conclusions(claims: pd.DataFrame) -> str:
    """Return which of a paper's claims survive in our numbers as published, in Markdown.

    Parameters
    ----------
    claims : DataFrame
        Its rows of the ledger.
    """
    by_outcome = {outcome: claims[claims[CLOSEST] == outcome] for outcome in VERBS}
    told = ", ".join(
        f"{len(of)} {VERBS[one][len(of) > 1]}" for one, of in by_outcome.items() if len(of)
    )
    of_print = claims["in_print"] == "true"
    both = int((of_print & (claims[CLOSEST] == HOLDS)).sum())
    apart = int((claims["stand_ins"] != "").sum())
    lines = [
        f"{CONCLUSIONS}\n",
        f"Of {len(claims)} claims, {told} as published. Of the {of_print.sum()} that are true of "
        f"the printed numbers, {both} hold in ours"
        + (f"; {apart} are decided on stand-in data." if apart else "."),
    ]
    for outcome, part in by_outcome.items():
        lines += ["", f"*{outcome.capitalize()}:*", ""] if len(part) else []
        for row in part.to_dict("records"):
            marks = ["not true in print"] if row["in_print"] == "false" else []
            marks += [f"stand-in: {row['stand_ins']}"] if row["stand_ins"] else []
            told = for_markdown("; ".join([row["place"], *marks]))
            lines.append(f"- {for_markdown(row['sentence'])} ({told})")
            why = for_markdown(row["why_it_fails"])
            lines += [f"  *Why:* {why}"] if why else []
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
    found: list[dict[str, Any]] = []
    for name in (name for name in descriptions("figure") if "-figtheorem" in name):
        panels = {panel.label: panel for panel in describe("figure", name).panels}
        drawn = drawn_rows(results / "figures" / f"{name}.csv")
        for key, lines in drawn.groupby(["reading", "panel", "part"], sort=False):
            reading, label, part = map(str, key)
            shown = [line for line in panels[label].lines if line.title == part]
            row = {"figure": name, "dataset": panels[label].title, "part": part, "reading": reading}
            row["warning"] = "; ".join(line.warning for line in shown if line.warning)
            found += [row | of_bound for of_bound in _bounds_of(lines)]
    return pd.DataFrame(found, columns=THEORY)


def _bounds_of(lines: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the columns of `THEORY` that follow from the lines of a panel's part."""
    played = lines[lines["kind"] == "run"]
    bounds = {
        str(label): points.set_index("x")["y"].astype(float)
        for label, points in lines[lines["kind"] == "theory"].groupby("label", sort=False)
    }
    most = bounds.pop(TRIVIAL, None)
    for bound, values in bounds.items() if len(played) else ():
        first, last = played.iloc[0], values.index[-1]
        points = played[played["label"] == first["label"]].set_index("x")["y"]
        measured = points.astype(float).reindex(values.index)
        share = measured / values
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


APART = (SUBSTITUTE, TIMING, MISSING)
"""Verdicts of cells that are not compared; they share a column."""

COMPARED = tuple(verdict for verdict in VERDICTS if verdict not in APART)

DECIDED = (HOLDS, FAILS, UNDECIDED)
"""Outcomes of claims, in the scoreboard's order."""

AGREEMENT = ("floor", "ceiling", "of the way", "rows in order")
"""Heads of the columns with a table's agreement."""


def made_rows(results: Path, end: str) -> pd.DataFrame:
    """Return the rows of a kind of file, of all tables that were made."""
    paths = {name: results / "reproduced" / f"{name}.{end}" for name in descriptions("table")}
    made = [read_csv(path).assign(table=name) for name, path in paths.items() if path.exists()]
    return pd.concat([pd.DataFrame(columns=["table"]), *made])


def table_standings(results: Path) -> pd.DataFrame:
    """Return how each table that was made stands under each reading, in their order.

    A row has the number of cells with each verdict, and of those ``compared`` with print; the
    number of claims with each outcome; and the columns `AGREEMENT`.
    """
    cells, claims = made_rows(results, "csv"), made_rows(results, "claims.csv")
    counts = [
        pd.crosstab([rows["table"], rows["reading"]], rows[what])
        for rows, what in ((cells, "verdict"), (claims, "outcome"))
    ]
    run = ["table", "reading"]
    runs = pd.MultiIndex.from_product([cells["table"].unique(), OF_TABLES], names=run)
    found = pd.concat(counts, axis="columns").reindex(index=runs, columns=[*VERDICTS, *DECIDED])
    found = found.fillna(0).astype(int).assign(compared=lambda all_: all_[[*COMPARED]].sum(axis=1))
    of = made_rows(results, "agreement.csv").set_index(run)
    bounds = of[["floor", "ceiling"]].astype(float).map("{:.1f}".format)
    texts = [
        bounds["floor"] + " of " + of["floor_cells"],
        bounds["ceiling"],
        of["reached"].map(lambda share: f"{float(share):.0%}" if share else "–"),
        of["in_order"] + " of " + of["pairs"],
    ]
    agreement = pd.concat(texts, axis="columns", keys=AGREEMENT)
    return found.join(agreement).fillna("–").reset_index()


def overview(results: Path = RESULTS) -> str:
    """Return a line per table in Markdown, its links from the project's folder on.

    It has the cells that are compared with print, how many of them each reading brings within 10%;
    as published, floor and ceiling, the way from one to the other, the pairs of rows in the printed
    order, and the claims that hold.

    Parameters
    ----------
    results : Path
        The folder of results.
    """
    standing, claims = table_standings(results), made_rows(results, "claims.csv")
    of_papers = chain(*(claims_of(path.parent.name) for path in paper_files("claims.yaml")))
    apart = [one.id for one in of_papers if stand_ins(one)]
    on_stand_ins = claims[(claims["reading"] == CLOSEST) & claims["claim"].isin(apart)]
    n_apart = on_stand_ins["table"].value_counts().to_dict()
    rows = []
    for name, each in standing.groupby("table", sort=False):
        within = each[[MATCH, NEAR]].sum(axis=1).astype(str).where(each["compared"] > 0, "–")
        one = each.iloc[-1]  # the closest reading
        holding = f"{one[HOLDS]} of {one[[*DECIDED]].sum()}"
        holding += f" ({n_apart[name]} on stand-in data)" if name in n_apart else ""
        link, compared = f"[{name}](results/reproduced/{name}.md)", str(one["compared"] or "–")
        rows.append([link, compared, *within, *one[[*AGREEMENT]], holding])
    names = [reading.replace("_", " ") for reading in OF_TABLES]
    heads = ["table", "cells compared", *names, *AGREEMENT, "claims that hold"]
    return "\n".join(markdown_table(heads, rows)) + "\n"


def scoreboard(results: Path = RESULTS) -> str:
    """Return the scoreboard in Markdown, its links from the project's folder on.

    Parameters
    ----------
    results : Path
        The folder of results.
    """
    standing, rows = table_standings(results), []
    for _, one in standing[standing[[*VERDICTS]].any(axis=1)].iterrows():
        address = f"results/reproduced/{by_reading(one['table'], one['reading'])}.md"
        shown = [f"[{one['table']}]({address})", one["reading"].replace("_", " ")]
        shown += map(str, one[[*COMPARED, *AGREEMENT]])
        others = ", ".join(f"{one[verdict]} {verdict}" for verdict in APART if one[verdict])
        rows.append([*shown, others or "–", ", ".join(map(str, one[[*DECIDED]]))])
    heads = ["table", "reading", *COMPARED, *AGREEMENT, "not compared"]
    return "\n".join(markdown_table([*heads, "claims: hold, fail, undecided"], rows)) + "\n"


def placebos(results: Path = RESULTS) -> str:
    """Return, in Markdown, what each recorded search of readings finds, and what of placebos.

    Parameters
    ----------
    results : Path
        The folder of results.
    """
    lines = []
    for name in descriptions("table"):
        for reading in SEARCHED:
            if (row := recorded_placebos(name, reading, results)) is None:
                continue
            halves = (row["searched_half"], row["held_out_half"])
            lines.append(
                [
                    f"[{name}](results/readings/{name}.md)",
                    reading.replace("_", " "),
                    *(row[of] for of in ("trials", "cells", "literal", "found")),
                    *(f"{row[of]} ({row[f'{of}_p']})" for of in ("permuted", "perturbed")),
                    *(f"{100.0 * float(half):.0f}%" for half in halves),
                ]
            )
    heads = ["table", "reading", "trials", "cells", "literal", "closest"]
    heads += ["rows permuted (p)", "numbers perturbed (p)", "chosen half", "other half"]
    return "\n".join(markdown_table(heads, lines)) + "\n"


def write_ledgers(results: Path | None = None) -> tuple[list[str], list[Path]]:
    """Write the ledger, the audit and the scoreboard; return what they tell, and the paths.

    Without a folder of results, those written here are read, or else those of the package.
    """
    source, home = results or results_to_read(), results or RESULTS
    claims, audit = claims_ledger(source), theory_audit(source)
    board = "\n".join((overview(source), scoreboard(source), placebos(source)))
    texts = {"claims.csv": as_csv(claims), "theory.csv": as_csv(audit), "scoreboard.md": board}
    paths = write_all(home, texts)
    for paper, part in claims.groupby("paper") if results is None and ROOT == CHECKOUT else ():
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
