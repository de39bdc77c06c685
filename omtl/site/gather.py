"""Reading the site's sources: results, the papers' folders and the configs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from omtl.evidence.claims import claims_of
from omtl.experiment.config import option_files, read_yaml
from omtl.experiment.descriptions import FigureDescription, TableDescription
from omtl.experiment.papers import paper_file, paper_files
from omtl.figures.numbers import drawn_rows
from omtl.site.text import plain
from omtl.tables.committed import Run, rows, runs, text_of
from omtl.tables.plan import describe, descriptions


def as_number(text: str) -> float | None:
    """Return a text as a number, or None if it is empty."""
    return float(text) if text else None


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
    def runs(self) -> dict[str, list[Run]]:
        """The runs of the tables, by id; runs with the table's own selection rule come first."""
        return {name: runs(self.results, name) for name in self.tables}

    @cached_property
    def drawn(self) -> dict[str, list[dict[str, str]]]:
        """The rows of the figures, by id."""
        found = {}
        for name in self.figures:
            paths = [
                self.results / "figures" / f"{name}.csv",
                *sorted(
                    path
                    for path in (self.results / "figures").glob(f"{name}.*.csv")
                    if not path.name.endswith(".claims.csv")
                ),
            ]
            each = [row for path in paths for row in drawn_rows(path)]
            found[name] = list({tuple(row.values()): row for row in each}.values())
        return found

    @cached_property
    def claims(self) -> list[dict[str, str]]:
        """The ledger of all claims."""
        return rows(self.results / "claims.csv")

    @cached_property
    def quotes(self) -> dict[tuple[str, str], str]:
        """The quotations in the papers' claims, by paper and claim."""
        return {
            (paper, claim.id): plain(claim.quote)
            for paper in self.papers
            for claim in claims_of(paper)
            if claim.quote
        }

    @cached_property
    def theory(self) -> list[dict[str, str]]:
        """The audit of the theorems."""
        return rows(self.results / "theory.csv")

    @cached_property
    def questions(self) -> dict[str, dict[str, Any]]:
        """The open questions, by paper."""
        found = {}
        for paper in self.papers:
            path = paper_file(paper, "readings.yaml")
            found[paper] = read_yaml(path)["questions"] if path.exists() else {}
        return found

    @cached_property
    def readmes(self) -> dict[str, str]:
        """The papers' own pages, as Markdown."""
        return {paper: text_of(paper_file(paper, "README.md")) for paper in self.papers}

    @cached_property
    def algorithms(self) -> dict[str, dict[str, Any]]:
        """The configs of the algorithms, by name."""
        return _group("algorithm")

    @cached_property
    def datasets(self) -> dict[str, dict[str, Any]]:
        """The configs of the data sets, by name."""
        return _group("dataset")


def _group(name: str) -> dict[str, dict[str, Any]]:
    return {option: read_yaml(path) for option, path in option_files(name).items()}


def comment_of(group: str, name: str) -> str:
    """Return the comment at the top of a config, which gives the source of its values."""
    lines = []
    for line in text_of(option_files(group)[name]).splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    return " ".join(lines)


def yaml_value(value: Any) -> str:
    """Return a value in YAML, on one line."""
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("\n...").strip()
