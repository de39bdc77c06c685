"""The papers: the page of each, its line on the scoreboard, and how open it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from omtl.experiment.config import paper_file
from omtl.experiment.descriptions import TableDescription
from omtl.experiment.schema import read_yaml
from omtl.experiment.specs import DataSetSpec
from omtl.site.sources import Sources
from omtl.site.text import inline, markdown_html, sections
from omtl.tables.published_results import SHOWN_OF_TABLES, SHOWN_READINGS
from omtl.util.screen import plural

OPEN, IN_PART, CLOSED = "open", "in part", "not open"

Rows = list[dict[str, Any]]


class Badge(NamedTuple):
    """Whether one aspect of a paper is open, and why."""

    what: str
    state: str
    why: str


def papers(sources: Sources, tables: Rows, figures: Rows, claims: Rows) -> Rows:
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
                "tally": {r: Counter(claim[r] for claim in mine) for r in SHOWN_READINGS},
                "badges": [*badges(paper, described, sources.questions[paper])],
            }
        )
    return found


def totals(tables: Rows) -> dict[str, Counter[str]]:
    """Return the number of published cells with each verdict, by reading."""
    views = [table["views"] for table in tables]
    return {
        reading: sum((each[reading]["published"] for each in views if reading in each), Counter())
        for reading in SHOWN_OF_TABLES
    }


def badges(
    paper: str, tables: Iterable[TableDescription], questions: Mapping[str, Any]
) -> Iterator[Badge]:
    """Yield how open a paper is, according to the project's own files.

    Parameters
    ----------
    paper : str
    tables : iterable of TableDescription
    questions : mapping
        Its open questions; one whose option sets a grid means that the paper leaves it open.
    """
    program = read_yaml(paper_file(paper, "paper.yaml")).get("program")
    yield Badge("program", OPEN if program else CLOSED, program or "none was found")
    columns = {column.dataset: column.kind for table in tables for column in table.columns}
    real = [name for name in columns if not DataSetSpec.named(name).is_synthetic]
    lacking = sorted(name for name in real if columns[name] == "substitute")
    if real:
        state = IN_PART if len(lacking) < len(real) else CLOSED
        source = f"{plural(len(real), 'data set')} from public sources"
        why = f"substitutes for {', '.join(lacking)}" if lacking else source
        yield Badge("data", state if lacking else OPEN, why)
    if len(columns) > len(real):
        yield Badge("draw", CLOSED, "the authors' synthetic data are not public")
    grids = [
        name
        for name, question in questions.items()
        if any(".grid" in key for patch in question.options.values() for key in patch)
    ]
    why = f"{plural(len(grids), 'open question')}: {', '.join(grids)}" if grids else "as printed"
    yield Badge("grids", CLOSED if grids else OPEN, why)
