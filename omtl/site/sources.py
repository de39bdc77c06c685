"""Reading the site's sources: results, the papers' folders and the configs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any

import yaml

from omtl.experiment.config import option_file, options, paper_file, paper_files
from omtl.experiment.descriptions import FigureDescription, Question, TableDescription
from omtl.experiment.readings import questions
from omtl.experiment.specs import AlgorithmSpec, DataSetSpec
from omtl.figures.numbers import drawn_rows
from omtl.tables.plan import describe, descriptions
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
    def papers(self) -> list[str]:
        """The papers, by their short names."""
        return [path.parent.name for path in paper_files("README.md")]

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
    def drawn(self) -> dict[str, list[dict[str, str]]]:
        """The rows of the figures, by id."""
        folder, found = self.results / "figures", {}
        for name in self.figures:
            others = sorted(folder.glob(f"{name}.*.csv"))
            paths = [folder / f"{name}.csv", *(p for p in others if not p.match("*.claims.csv"))]
            each = [row for path in paths for row in drawn_rows(path)]
            found[name] = list({tuple(row.values()): row for row in each}.values())
        return found

    @cached_property
    def questions(self) -> dict[str, Mapping[str, Question]]:
        """The open questions, by paper."""
        found = {}
        for paper in self.papers:
            path = paper_file(paper, "readings.yaml")
            found[paper] = questions(paper) if path.exists() else {}
        return found

    @cached_property
    def readmes(self) -> dict[str, str]:
        """The papers' own pages, as Markdown."""
        return {paper: text_of(paper_file(paper, "README.md")) for paper in self.papers}

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


def yaml_value(value: Any) -> str:
    """Return a value in YAML, on one line."""
    return _yaml_of(json.dumps(value))


@cache  # a table's cells repeat the same few values thousands of times
def _yaml_of(json_text: str) -> str:
    value = json.loads(json_text)
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("\n...").strip()


def in_yaml(values: Mapping[str, Any]) -> dict[str, str]:
    """Return values in YAML, by name."""
    return {name: yaml_value(value) for name, value in values.items()}
