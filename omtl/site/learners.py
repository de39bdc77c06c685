"""The learners: equations, cost, implementation notes and uses of each."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from markupsafe import Markup

from omtl.experiment.config import grid_points
from omtl.reference.transcriptions import transcriptions
from omtl.site.gather import Sources, comment_of, yaml_value
from omtl.site.tables import TablePage
from omtl.site.text import code, docstring, entries, items, markdown, plain, prose, sections

NUMBERED = ("Implementation details", "Deviations", "Findings")
"""Sections of a paper's page whose numbered items may concern a learner."""

COST = re.compile(r"((?:An? \w+|A step|Cost[^:.\n]*)(?: costs|:) .*?)(?=\n\s*\n|\Z)", re.DOTALL)
"""Matches the paragraph of a docstring that states the cost."""

METHODS = ("open_round", "score", "update", "close_round", "fit")
"""The methods of a learner whose code is shown."""


@dataclass(frozen=True)
class Config:
    """A config of a learner: fixed hyper-parameters and the grid."""

    name: str
    label: str
    comment: str
    fixed: list[tuple[str, str]]
    grid: list[tuple[str, str]]
    n_points: int


@dataclass(frozen=True)
class Note:
    """A numbered item of a paper's page that mentions the learner."""

    paper: str
    section: str
    text: Markup


@dataclass(frozen=True)
class Use:
    """A table row that the learner fills, with its verdicts by reading."""

    table: str
    title: str
    row: str
    verdicts: dict[str, dict[str, int]]


@dataclass(frozen=True)
class Learner:
    """A learner."""

    id: str
    name: str
    module: str
    summary: str
    text: Markup
    cost: str
    family: Markup
    parameters: list[tuple[str, str, Markup]]
    configs: list[Config]
    notes: list[Note]
    readmes: list[str]
    uses: list[Use]
    source: list[tuple[str, str]]
    reference: str
    reference_module: str

    @property
    def labels(self) -> list[str]:
        """Its names in tables and configs."""
        return list(dict.fromkeys([*(c.label for c in self.configs), *(u.row for u in self.uses)]))


def learners(sources: Sources, tables: list[TablePage]) -> list[Learner]:
    """Return all learners that have a config, sorted by name."""
    configs: dict[str, list[dict[str, Any]]] = {}
    for config in sources.algorithms.values():
        configs.setdefault(config["learner"], []).append(config)
    found = [_learner(path, each, sources, tables) for path, each in configs.items()]
    return sorted(found, key=lambda learner: learner.name.lower())


def _learner(
    path: str, configs: list[dict[str, Any]], sources: Sources, tables: list[TablePage]
) -> Learner:
    module_name, _, name = path.rpartition(".")
    module = import_module(module_name)
    kind = getattr(module, name)
    parts = docstring(inspect.getdoc(kind) or "")
    summary, _, text = parts[""].partition("\n\n")
    cost = COST.search(parts[""])
    plain_rules = transcriptions().get(kind)
    uses = list(_uses(path, sources, tables))
    labels = {config["label"] for config in configs} | {use.row for use in uses}
    of_papers = {sources.tables[use.table].paper for use in uses}
    of_papers |= {p for p in sources.papers if re.search(rf"\b{p.upper()}\b", parts[""])}
    return Learner(
        f"learner-{name.lower()}.html",
        name,
        module_name.replace(".", "/") + ("/" if hasattr(module, "__path__") else ".py"),
        plain(summary),
        prose(text.replace(cost.group(1), "") if cost else text),
        plain(cost.group(1)) if cost else "",
        prose(inspect.getdoc(module) or ""),
        [(n, k, code(t)) for n, k, t in entries(parts.get("Parameters", ""))],
        [_config(config) for config in configs],
        list(_notes(sorted(of_papers), labels, sources)),
        sorted(of_papers),
        uses,
        [
            (method, inspect.cleandoc("\n" + inspect.getsource(getattr(kind, method))))
            for method in METHODS
            if hasattr(kind, method)
        ],
        _with_helpers(plain_rules) if plain_rules else "",
        plain_rules.__module__.replace(".", "/") + ".py" if plain_rules else "",
    )


def _with_helpers(function: Callable[..., Any]) -> str:
    """Return the source of a function, followed by the private functions that it calls."""
    found, waiting = [], [function]
    while waiting:
        one = waiting.pop(0)
        text = inspect.getsource(one)
        if text in found:
            continue
        found.append(text)
        called = (one.__globals__.get(name) for name in re.findall(r"\b(_\w+)\(", text))
        waiting += [each for each in called if inspect.isfunction(each)]
    return "\n\n".join(found)


def _config(config: Mapping[str, Any]) -> Config:
    return Config(
        config["name"],
        config["label"],
        comment_of("algorithm", config["name"]),
        [(key, yaml_value(value)) for key, value in config["fixed"].items()],
        [(key, yaml_value(value)) for key, value in config["grid"].items()],
        len(grid_points(config)),
    )


def _uses(path: str, sources: Sources, tables: list[TablePage]) -> Any:
    """Yield the table rows that the learner fills."""
    for table in tables:
        for row in sources.tables[table.id].rows:
            learners = [sources.algorithms[name]["learner"] for name in row.algorithms]
            if path not in learners:
                continue
            verdicts = {}
            for view in table.views:
                tally: dict[str, int] = {}
                for line in view.rows:
                    if line.label == row.label:
                        for cell in filter(None, line.cells):
                            tally[cell.verdict] = tally.get(cell.verdict, 0) + 1
                verdicts[view.name] = tally
            yield Use(table.id, table.title, row.label, verdicts)


def _notes(papers: list[str], labels: set[str], sources: Sources) -> Any:
    """Yield the numbered items of the papers' pages that mention the learner."""
    stems = {label.partition(" (")[0] for label in labels}
    named = re.compile("|".join(rf"(?<![\w-]){re.escape(s)}(?![\w])" for s in sorted(stems)))
    for paper in papers:
        for heading, text in sections(sources.readmes[paper]).items():
            if heading in NUMBERED:
                yield from (
                    Note(paper, heading, markdown(item))
                    for item in items(text)
                    if named.search(item)
                )
