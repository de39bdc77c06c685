"""Tables, raw repeats and figures in the forms that papers and other programs read."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from omtl.config import choose, named_reading
from omtl.files import write_whole
from omtl.harness import plan
from omtl.harness.figures import numbers
from omtl.harness.figures.drawing import draw
from omtl.harness.figures.plan import plan_figure
from omtl.harness.figures.play import as_chosen
from omtl.harness.layout import lay_out
from omtl.harness.naming import by_reading, by_rule
from omtl.harness.pictures import FORMS, render
from omtl.harness.plan import Experiment
from omtl.harness.render import latex, markdown
from omtl.harness.reproduce import Wanted
from omtl.harness.store import Store
from omtl.harness.table import frame, raw_repeats, score_table
from omtl.references import bibtex

Contents = dict[str, str | bytes]
"""What is written, by the endings of the files' names."""


def export(name: str, wanted: Wanted, store: Store, folder: Path) -> list[Path]:
    """Write a table or figure as the store has it in all forms; nothing of a table is computed.

    All files carry the names of the reading and of the selection rule, but for the closest reading
    and the own rule (`omtl.harness.naming`).

    Returns
    -------
    list of Path
        What was written: of a table csv, md, tex, parquet, its repeats as csv and parquet; of a
        figure svg, pdf, png and csv; and of both the BibTeX of all that they use.

    Raises
    ------
    UserError
        On an unknown table, figure, reading or rule.
    """
    makers = dict.fromkeys(plan.descriptions("table"), _table)
    makers |= dict.fromkeys(plan.descriptions("figure"), _figure)
    contents, stem = makers[choose("table or figure", name, list(makers))](name, wanted, store)
    paths = []
    for ending, content in contents.items():
        paths.append(folder / f"{stem}.{ending}")
        write_whole(paths[-1], content)
    return paths


def _table(name: str, wanted: Wanted, store: Store) -> tuple[Contents, str]:
    """Return a table's files by their endings, and what they are called before these."""
    description = plan.describe("table", name)
    table = plan.plan_table(name, named_reading(description["paper"], wanted.reading))
    n_repeats, selection = wanted.n_repeats(description), wanted.rule(description)
    scored = score_table(table, store, wanted.seed, n_repeats, None, selection)
    layout = lay_out(table, scored, selection, wanted.seed, n_repeats)
    rows = frame(table, scored, selection)
    repeats = raw_repeats(table, scored, wanted.seed)
    contents: Contents = {
        "csv": _csv(rows),
        "md": markdown(layout),
        "tex": latex(layout),
        "parquet": _parquet(rows),
        "repeats.csv": _csv(repeats),
        "repeats.parquet": _parquet(repeats),
        "bib": _bib(description["paper"], [cell.experiment for cell in table.cells]),
    }
    return contents, _stem(wanted, description)


def _figure(name: str, wanted: Wanted, store: Store) -> tuple[Contents, str]:
    """Return a figure's files by their endings, and what they are called before these."""
    description = plan.describe("figure", name)
    asked = wanted.asked(description)
    figure = as_chosen(plan_figure(name, asked.pop("reading")), store, **asked)
    n_repeats, selection = asked["n_repeats"], asked["selection"]
    shown = numbers.show_figure(figure, store, wanted.seed, n_repeats, {}, selection)
    pictures = render(lambda: draw(figure, shown, ""), name, tuple(FORMS))
    units = figure.units(wanted.seed, 1)
    experiments = [Experiment(u.algorithm, u.dataset, u.protocol, u.network) for u in units]
    contents: Contents = {
        **pictures,
        "csv": _csv(numbers.frame(figure, shown, selection)),
        "bib": _bib(description["paper"], experiments),
    }
    return contents, _stem(wanted, description)


def _stem(wanted: Wanted, description: Mapping[str, Any]) -> str:
    named = by_rule(description["id"], wanted.rule(description), description["selection"])
    return by_reading(named, wanted.reading)


def _bib(paper: str, experiments: Sequence[Experiment]) -> str:
    algorithms = [experiment.algorithm for experiment in experiments]
    return bibtex(algorithms, [experiment.dataset for experiment in experiments], [paper])


def _csv(rows: pd.DataFrame) -> str:
    return rows.to_csv(index=False, lineterminator="\n")


def _parquet(rows: pd.DataFrame) -> bytes:
    content = io.BytesIO()
    rows.to_parquet(content, index=False)
    return content.getvalue()
