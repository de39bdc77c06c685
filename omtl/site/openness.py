"""How open a paper is: its program, its data, its draw of synthetic data, its grids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from omtl.experiment.data_sets import is_synthetic
from omtl.experiment.descriptions import TableDescription
from omtl.experiment.papers import paper_file
from omtl.experiment.schema import read_yaml
from omtl.experiment.specs import DataSetSpec
from omtl.tables.layout import plural

OPEN, IN_PART, CLOSED = "open", "in part", "not open"


@dataclass(frozen=True)
class Badge:
    """Whether one aspect of a paper is open, and why."""

    what: str
    state: str
    why: str


def badges(
    paper: str, tables: Iterable[TableDescription], questions: Mapping[str, Any]
) -> list[Badge]:
    """Return how open a paper is, according to the project's own files.

    Parameters
    ----------
    paper : str
    tables : iterable of TableDescription
    questions : mapping
        Its open questions.
    """
    columns = {column.dataset: column.kind for table in tables for column in table.columns}
    drawn = sorted(name for name in columns if is_synthetic(DataSetSpec.named(name)))
    real = {name: kind for name, kind in columns.items() if name not in drawn}
    program = read_yaml(paper_file(paper, "paper.yaml")).get("program")
    grids = [name for name, question in questions.items() if _sets_a_grid(question.options)]
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


def _sets_a_grid(choices: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether an option sets a grid, which the paper then leaves open."""
    return any(".grid" in key for patch in choices.values() for key in patch)
