"""Reading the site's sources: results, the papers' folders and the configs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any

import pandas as pd

from omtl.experiment.config import option_file, options, paper_files
from omtl.experiment.descriptions import FigureDescription, TableDescription, describe, descriptions
from omtl.experiment.readings import Question, questions
from omtl.experiment.specs import AlgorithmSpec, DataSetSpec
from omtl.figures.numbers import drawn_rows
from omtl.tables.published_results import PublishedRun, runs_of
from omtl.util.result_files import text_of


@dataclass(frozen=True)
class Sources:
    """The files that the site is made from.

    Parameters
    ----------
    results : Path
        The folder of results.
    """

    results: Path

    @cached_property
    def tables(self) -> dict[str, TableDescription]:
        """The descriptions of the tables, by id."""
        return {name: describe("table", name) for name in descriptions("table")}

    @cached_property
    def figures(self) -> dict[str, FigureDescription]:
        """The descriptions of the figures, by id."""
        return {name: describe("figure", name) for name in descriptions("figure")}

    @cached_property
    def runs(self) -> dict[str, list[PublishedRun]]:
        """The runs of the tables, by id; runs with the table's own selection rule come first."""
        return {name: runs_of(self.results, name) for name in self.tables}

    @cached_property
    def drawn(self) -> dict[str, pd.DataFrame]:
        """The rows of the figures under all readings, by id."""
        found = {}
        for name in self.figures:
            paths = sorted(
                (self.results / "figures").glob(f"{name}.*csv"), key=lambda p: len(p.name)
            )
            paths = [path for path in paths if not path.match("*.claims.csv")]
            found[name] = drawn_rows(*paths).drop_duplicates(ignore_index=True)
        return found

    @cached_property
    def questions(self) -> dict[str, Mapping[str, Question]]:
        """The open questions, by paper."""
        asked = {path.parent.name for path in paper_files("readings.yaml")}
        return {paper: questions(paper) if paper in asked else {} for paper in self.readmes}

    @cached_property
    def readmes(self) -> dict[str, str]:
        """The papers' own pages, as Markdown, by the papers' short names."""
        return {path.parent.name: text_of(path) for path in paper_files("README.md")}

    @cached_property
    def algorithms(self) -> dict[str, AlgorithmSpec]:
        """The algorithms, by name."""
        return {name: AlgorithmSpec.named(name) for name in options("algorithm")}

    @cached_property
    def datasets(self) -> dict[str, DataSetSpec]:
        """The data sets, by name."""
        return {name: DataSetSpec.named(name) for name in options("dataset")}


def comment_of(group: str, name: str) -> str:
    """Return the comment at the top of a config, which gives the source of its values."""
    lines = text_of(option_file(group, name)).splitlines()
    head = takewhile(lambda line: line.startswith("#"), lines)
    return " ".join(line.removeprefix("#").strip() for line in head)


def shown_value(value: Any) -> str:
    """Return the value of an option as text."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(shown_value, value))}]"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
