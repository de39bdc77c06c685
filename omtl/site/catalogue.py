"""The catalogue: a page for each paper, learner and data set, from READMEs, configs, docstrings."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any

import data_fetchers
from data_fetchers._catalogue import total_counts
from omtl.experiment.config import paper_file
from omtl.experiment.descriptions import TableDescription
from omtl.experiment.schema import read_yaml
from omtl.experiment.specs import AlgorithmSpec, DataSetSpec
from omtl.reference.transcriptions import transcriptions
from omtl.site.sources import Sources
from omtl.site.text import docstring_entries, inline, items, markdown_html, plain, prose, sections
from omtl.sklearn.parameters import sections_of
from omtl.tables.published_results import SHOWN_OF_TABLES, SHOWN_READINGS
from omtl.util.screen import plural

NUMBERED = ("Implementation details", "Deviations", "Findings")
"""Sections of a paper's page whose numbered items may concern a learner."""

COST = re.compile(r"((?:An? \w+|A step|Cost[^:.\n]*)(?: costs|:) .*?)(?=\n\s*\n|\Z)", re.DOTALL)
"""Matches the paragraph of a docstring that states the cost."""

METHODS = ("open_round", "score", "update", "close_round", "attend", "fit", "metrics")
"""The methods of a learner whose code is shown."""


def learners(sources: Sources, tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return all learners that have a config, sorted by name."""
    specs: dict[str, list[AlgorithmSpec]] = {}
    for spec in sources.algorithms.values():
        specs.setdefault(spec.learner, []).append(spec)
    found = [_learner(path, each, sources, tables) for path, each in specs.items()]
    return sorted(found, key=lambda learner: learner["name"].lower())


def _learner(
    path: str, specs: list[AlgorithmSpec], sources: Sources, tables: list[dict[str, Any]]
) -> dict[str, Any]:
    """Return a learner: its equations, configs, code, and the notes on it of the papers' pages."""
    module_name, _, name = path.rpartition(".")
    module = import_module(module_name)
    kind = getattr(module, name)
    parts = sections_of(kind.__doc__)
    summary, _, text = parts[""].partition("\n\n")
    cost = COST.search(parts[""])
    plain_rules = transcriptions().get(kind)
    uses = list(_uses(path, sources, tables))
    labels = list(dict.fromkeys([*(spec.label for spec in specs), *(use["row"] for use in uses)]))
    of_papers = {sources.tables[use["table"]].paper for use in uses}
    of_papers |= {p for p in sources.readmes if re.search(rf"\b{p.upper()}\b", parts[""])}
    return {
        "id": name.lower(),
        "name": name,
        "module": module_name.replace(".", "/") + ("/" if hasattr(module, "__path__") else ".py"),
        "summary": plain(summary),
        "text": prose(text.replace(cost[1], "") if cost else text),
        "cost": plain(cost[1]) if cost else "",
        "family": prose(inspect.getdoc(module) or ""),
        "parameters": docstring_entries(parts.get("Parameters", "")),
        "labels": labels,
        "configs": specs,
        "notes": list(_notes(sorted(of_papers), labels, sources)),
        "papers": sorted(of_papers),
        "uses": uses,
        "source": [
            inspect.cleandoc("\n" + inspect.getsource(getattr(kind, method)))
            for method in METHODS
            if hasattr(kind, method)
        ],
        "reference": _with_helpers(plain_rules) if plain_rules else "",
        "reference_module": f"{plain_rules.__module__.replace('.', '/')}.py" if plain_rules else "",
    }


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


def _uses(path: str, sources: Sources, tables: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield the table rows that the learner fills, with their verdicts by reading."""
    for table in tables:
        for row in sources.tables[table["id"]].rows:
            if path in [sources.algorithms[name].learner for name in row.algorithms]:
                by_view = {n: view["by_row"].get(row.label) for n, view in table["views"].items()}
                yield {"table": table["id"], "row": row.label, "verdicts": by_view}


def _notes(papers: list[str], labels: list[str], sources: Sources) -> Iterator[dict[str, Any]]:
    """Yield the numbered items of the papers' pages that mention the learner."""
    stems = {label.partition(" (")[0] for label in labels}
    named = re.compile("|".join(rf"(?<![\w-]){re.escape(s)}(?![\w])" for s in sorted(stems)))
    for paper in papers:
        parts = sections(sources.readmes[paper])
        for heading in [heading for heading in parts if heading in NUMBERED]:
            for item in filter(named.search, items(parts[heading])):
                yield {"paper": paper, "section": heading, "text": markdown_html(item)}


def data_sets(sources: Sources) -> list[dict[str, Any]]:
    """Return all data sets, sorted by name."""
    return [_data_set(name, sources) for name in data_fetchers.data_set_names()]


def _data_set(name: str, sources: Sources) -> dict[str, Any]:
    module: Any = data_fetchers.data_set(name)
    about, _, licence = (inspect.getdoc(module) or "").partition("Licence: ")
    of_load = sections_of(module.load.__doc__)
    summary, _, rest = about.strip().partition("\n\n")
    returns = of_load.get("Returns", "").partition("\n")[2]
    configs = [spec for spec in sources.datasets.values() if spec.loaded_by == name]
    columns = [
        (spec.name, table, column.published, column.kind)
        for spec in configs
        for table, description in sources.tables.items()
        for column in description.columns
        if column.dataset == spec.name
    ]
    return {
        "id": name,
        "name": name,
        "summary": plain(summary),
        "text": prose(rest),
        "licence": plain(licence).rstrip(".") or module.LICENCE,
        "module": module,
        "folder": data_fetchers.folder_of(module),
        "does": plain(of_load[""]),
        "returns": prose(inspect.cleandoc("\n" + returns)) if returns else "",
        "options": docstring_entries(of_load.get("Parameters", "")),
        "counts": total_counts(name),
        "configs": configs,
        "columns": columns,
        "papers": list(dict.fromkeys(sources.tables[table].paper for _, table, *_ in columns)),
    }


OPEN, IN_PART, CLOSED = "open", "in part", "not open"

Rows = list[dict[str, Any]]


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
) -> Iterator[tuple[str, str, str]]:
    """Yield which aspects of a paper are open, and why, according to the project's own files.

    Parameters
    ----------
    paper : str
    tables : iterable of TableDescription
    questions : mapping
        Its open questions; one whose option sets a grid means that the paper leaves it open.
    """
    about = paper_file(paper, "paper.yaml")  # which a paper of one's own need not have
    program = read_yaml(about).get("program") if about.exists() else None
    yield "program", OPEN if program else CLOSED, program or "none was found"
    columns = {column.dataset: column.kind for table in tables for column in table.columns}
    real = [name for name in columns if not DataSetSpec.named(name).is_synthetic]
    lacking = sorted(name for name in real if columns[name] == "substitute")
    if real:
        state = IN_PART if len(lacking) < len(real) else CLOSED
        source = f"{plural(len(real), 'data set')} from public sources"
        why = f"substitutes for {', '.join(lacking)}" if lacking else source
        yield "data", state if lacking else OPEN, why
    if len(columns) > len(real):
        yield "draw", CLOSED, "the authors' synthetic data are not public"
    grids = [
        name
        for name, question in questions.items()
        if any(".grid" in key for patch in question.options.values() for key in patch)
    ]
    why = f"{plural(len(grids), 'open question')}: {', '.join(grids)}" if grids else "as printed"
    yield "grids", CLOSED if grids else OPEN, why
