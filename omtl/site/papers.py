"""The papers: the page of each, its line on the scoreboard, and how open it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from omtl.experiment.config import paper_file
from omtl.experiment.descriptions import TableDescription
from omtl.experiment.schema import read_yaml
from omtl.experiment.specs import DataSetSpec
from omtl.site.audits import tallied
from omtl.site.sources import Sources
from omtl.site.text import inline, markdown_html, sections
from omtl.tables.layout import plural
from omtl.tables.published_results import SHOWN_READINGS

OPEN, IN_PART, CLOSED = "open", "in part", "not open"


class Badge(NamedTuple):
    """Whether one aspect of a paper is open, and why."""

    what: str
    state: str
    why: str


def papers(
    sources: Sources,
    tables: list[dict[str, Any]],
    figures: list[dict[str, Any]],
    claims: list[dict[str, Any]],
) -> list[dict[str, Any]]:
    """Return all papers: the authors of each, what was reproduced, and how."""
    found = []
    for paper, readme in sources.readmes.items():
        parts = sections(readme)
        head, _, rest = parts.pop("").strip().partition("\n")
        name, _, title = head.removeprefix("# ").partition(": ")
        citation, _, lead = rest.strip().partition("\n\n")
        mine = [claim for claim in claims if claim["paper"] == paper]
        described = [table for table in sources.tables.values() if table.paper == paper]
        found.append(
            {
                "id": paper,
                "name": name,
                "title": title,
                "citation": inline(citation),
                "lead": markdown_html(lead),
                "parts": [(heading, markdown_html(text)) for heading, text in parts.items()],
                "tables": [table for table in tables if table["paper"] == paper],
                "figures": [figure for figure in figures if figure["paper"] == paper],
                "claims": mine,
                "tally": {reading: tallied(mine, reading) for reading in SHOWN_READINGS},
                "badges": badges(paper, described, sources.questions[paper]),
            }
        )
    return found


def totals(tables: list[dict[str, Any]]) -> dict[str, Counter[str]]:
    """Return the number of published cells with each verdict, by reading."""
    found: dict[str, Counter[str]] = {reading: Counter() for reading in SHOWN_READINGS}
    for reading, tally in found.items():
        for table in tables:
            tally.update(table["counts"].get(reading, {}))
    return found


def badges(
    paper: str, tables: Iterable[TableDescription], questions: Mapping[str, Any]
) -> list[Badge]:
    """Return how open a paper is, according to the project's own files.

    Parameters
    ----------
    paper : str
    tables : iterable of TableDescription
    questions : mapping
        Its open questions; one whose option sets a grid means that the paper leaves it open.
    """
    columns = {column.dataset: column.kind for table in tables for column in table.columns}
    drawn = sorted(name for name in columns if DataSetSpec.named(name).is_synthetic)
    real = {name: kind for name, kind in columns.items() if name not in drawn}
    program = read_yaml(paper_file(paper, "paper.yaml")).get("program")
    grids = [
        name
        for name, question in questions.items()
        if any(".grid" in key for patch in question.options.values() for key in patch)
    ]
    return [
        Badge("program", OPEN if program else CLOSED, program or "none was found"),
        *([_of_data(real)] if real else []),
        *([Badge("draw", CLOSED, "the authors' synthetic data are not public")] if drawn else []),
        Badge(
            "grids",
            CLOSED if grids else OPEN,
            f"{plural(len(grids), 'open question')}: {', '.join(grids)}" if grids else "as printed",
        ),
    ]


def _of_data(real: Mapping[str, str]) -> Badge:
    lacking = sorted(name for name, kind in real.items() if kind == "substitute")
    if not lacking:
        return Badge("data", OPEN, f"{plural(len(real), 'data set')} from public sources")
    state = CLOSED if len(lacking) == len(real) else IN_PART
    return Badge("data", state, f"substitutes for {', '.join(lacking)}")
