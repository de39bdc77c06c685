"""Reading what the site shows: the files of results, the papers' folders and the configs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from omtl.config import options, read_yaml
from omtl.harness.naming import by_reading
from omtl.harness.plan import descriptions
from omtl.paths import CONF, EXPERIMENTS

READINGS = ("as_published", "as_written")
"""The readings that all papers have, in the order in which they are shown; others follow."""


def rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a csv as text; none where the file is not there."""
    if not path.exists():
        return []
    found = pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")
    return [{str(name): value for name, value in row.items()} for row in found]


def text_of(path: Path) -> str:
    """Return a file's text; nothing where it is not there."""
    return path.read_text(encoding="utf-8") if path.exists() else ""


def as_number(text: str) -> float | None:
    """Return a number that is text, or None where there is none."""
    return float(text) if text else None


def ordered(readings: list[str]) -> list[str]:
    """Return readings once each, the ones that all papers have first."""
    return [r for r in dict.fromkeys([*READINGS, *readings]) if r in readings]


def reading_file(folder: Path, name: str, reading: str, form: str) -> Path:
    """Return the place of a file of a reading; that of the closest carries no name."""
    return folder / f"{by_reading(name, reading)}.{form}"


@dataclass(frozen=True)
class Run:
    """A table as it was run: under a reading, by a selection rule.

    Parameters
    ----------
    table, reading : str
    selection : str
        Another rule than the table's own; empty for that.
    rows : list of dict
        Its rows of the reproduced table.
    folder : Path
        Where its files are.
    """

    table: str
    reading: str
    selection: str
    rows: list[dict[str, str]]
    folder: Path

    @property
    def name(self) -> str:
        """What the run is called among those of its table."""
        return f"{self.reading}_by_{self.selection}" if self.selection else self.reading

    def text(self, form: str) -> str:
        """Return the text of one of its files; nothing where it is not there."""
        stem = f"{self.table}.{self.selection}" if self.selection else self.table
        return text_of(reading_file(self.folder, stem, self.reading, form))

    @cached_property
    def meta(self) -> dict[str, Any]:
        """What is kept beside the table; nothing where it is not there."""
        text = self.text("meta.json")
        return json.loads(text) if text else {}

    @property
    def experiments(self) -> dict[str, dict[str, Any]]:
        """The resolved configs, by algorithm and data set."""
        return self.meta.get("experiments", {})


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
        return sorted({path.parent.name for path in EXPERIMENTS.glob("*/README.md")})

    @cached_property
    def tables(self) -> dict[str, dict[str, Any]]:
        """The descriptions of the tables, by id."""
        return {name: read_yaml(path) for name, path in descriptions("table").items()}

    @cached_property
    def figures(self) -> dict[str, dict[str, Any]]:
        """The descriptions of the figures, by id."""
        return {name: read_yaml(path) for name, path in descriptions("figure").items()}

    @cached_property
    def runs(self) -> dict[str, list[Run]]:
        """The runs of the tables, by id: those by the table's own rule first."""
        folder = self.results / "reproduced"
        found: dict[str, list[Run]] = {}
        for name in self.tables:
            found[name] = []
            for selection in ("", *options("selection")):
                each = rows(folder / (f"{name}.{selection}.csv" if selection else f"{name}.csv"))
                for reading in ordered([row["reading"] for row in each]):
                    mine = [row for row in each if row["reading"] == reading]
                    found[name].append(Run(name, reading, selection, mine, folder))
        return found

    @cached_property
    def drawn(self) -> dict[str, list[dict[str, str]]]:
        """The rows of the figures, by id."""
        found = {}
        for name in self.figures:
            paths = [
                self.results / "figures" / f"{name}.csv",
                *sorted((self.results / "figures").glob(f"{name}.*.csv")),
            ]
            each = [row for path in paths for row in rows(path) if "panel" in row]
            found[name] = list({tuple(row.values()): row for row in each}.values())
        return found

    @cached_property
    def claims(self) -> list[dict[str, str]]:
        """The ledger of all claims."""
        return rows(self.results / "claims.csv")

    @cached_property
    def theory(self) -> list[dict[str, str]]:
        """The audit of the theorems."""
        return rows(self.results / "theory.csv")

    @cached_property
    def questions(self) -> dict[str, dict[str, Any]]:
        """What the papers leave open, by paper."""
        found = {}
        for paper in self.papers:
            path = EXPERIMENTS / paper / "readings.yaml"
            found[paper] = read_yaml(path)["questions"] if path.exists() else {}
        return found

    @cached_property
    def readmes(self) -> dict[str, str]:
        """The papers' own pages, as Markdown."""
        return {paper: text_of(EXPERIMENTS / paper / "README.md") for paper in self.papers}

    @cached_property
    def algorithms(self) -> dict[str, dict[str, Any]]:
        """The configs of the algorithms, by name."""
        return _group("algorithm")

    @cached_property
    def datasets(self) -> dict[str, dict[str, Any]]:
        """The configs of the data sets, by name."""
        return _group("dataset")

    def outcomes(self, name: str, kind: str) -> list[dict[str, str]]:
        """Return the outcomes of the claims of a table or figure, of all readings."""
        folder = {"table": "reproduced", "figure": "figures"}[kind]
        return rows(self.results / folder / f"{name}.claims.csv")

    def tests(self, name: str) -> list[dict[str, str]]:
        """Return the tests of the comparisons of a table's or figure's claims."""
        return rows(self.results / "statistics" / f"{name}.claims.csv")


def _group(name: str) -> dict[str, dict[str, Any]]:
    return {option: read_yaml(CONF / name / f"{option}.yaml") for option in options(name)}


def comment_of(group: str, name: str) -> str:
    """Return the comment at the top of a config: where its values are from, what is open."""
    lines = []
    for line in text_of(CONF / group / f"{name}.yaml").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.removeprefix("#").strip())
    return " ".join(lines)


def yaml_value(value: Any) -> str:
    """Return a value as a config spells it, in one line."""
    text = yaml.safe_dump(value, default_flow_style=True, width=10_000, allow_unicode=True)
    return text.removesuffix("\n").removesuffix("\n...").strip()
