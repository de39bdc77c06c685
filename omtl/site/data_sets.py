"""The data sets: source, shape and licence of each, and how it differs from a paper's."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

import data_fetchers
from omtl.site.gather import Sources, comment_of, yaml_value
from omtl.site.text import code, docstring, entries, markdown, plain, prose, sections


@dataclass(frozen=True)
class File:
    """A file of a data set, and its sources."""

    path: str
    n_bytes: int
    sha256: str
    sources: list[tuple[str, str]]


@dataclass(frozen=True)
class Config:
    """A config of a data set, and the table columns that use it."""

    name: str
    label: str
    comment: str
    options: list[tuple[str, str]]
    columns: list[tuple[str, str, str]]


@dataclass(frozen=True)
class DataSet:
    """A data set."""

    id: str
    name: str
    summary: str
    text: Markup
    licence: str
    synthetic: bool
    citation: str
    files: list[File]
    folder: str
    does: str
    returns: Markup
    options: list[tuple[str, str, Markup]]
    counts: list[tuple[str, str]]
    configs: list[Config]
    differences: list[tuple[str, Markup]]

    @property
    def n_bytes(self) -> int:
        """Total size of its files."""
        return sum(file.n_bytes for file in self.files)

    @property
    def stands_in(self) -> bool:
        """Whether it stands in for the data of a paper."""
        return any(kind == "substitute" for c in self.configs for _, _, kind in c.columns)


def data_sets(sources: Sources) -> list[DataSet]:
    """Return all data sets, sorted by name."""
    return [_data_set(name, sources) for name in data_fetchers.names()]


def _data_set(name: str, sources: Sources) -> DataSet:
    module: Any = data_fetchers.data_set(name)
    of_load = docstring(inspect.getdoc(module.load) or "")
    text = re.sub(r"\n*Licence: [^\n]*(?:\n[^\n]+)*$", "", inspect.getdoc(module) or "").strip()
    summary, _, rest = text.partition("\n\n")
    licence = re.search(r"Licence: (.*)", plain(inspect.getdoc(module) or ""))
    configs = [
        Config(
            config["name"],
            config["label"],
            comment_of("dataset", config["name"]),
            [(key, yaml_value(value)) for key, value in _settings(config).items()],
            list(_columns(config["name"], sources)),
        )
        for config in sources.datasets.values()
        if config.get("module", config["name"]) == name
    ]
    return DataSet(
        f"data-{name}.html",
        name,
        plain(summary),
        prose(rest),
        (licence.group(1) if licence else module.LICENCE).rstrip("."),
        getattr(module, "SYNTHETIC", False),
        module.CITATION,
        [_file(file) for file in module.FILES],
        data_fetchers.folder_of(module),
        plain(of_load[""]),
        prose(inspect.cleandoc("\n" + of_load["Returns"].partition("\n")[2]))
        if "Returns" in of_load
        else Markup(""),
        [(n, kind, code(said)) for n, kind, said in entries(of_load.get("Parameters", ""))],
        [(what, f"{n:,}") for what, n in getattr(module, "COUNTS", {}).items() if what],
        configs,
        list(_differences(configs, sources)),
    )


def _settings(config: Mapping[str, Any]) -> dict[str, Any]:
    return {**config["options"], "normalise": config["normalise"], "bias": config["bias"]}


def _file(file: Any) -> File:
    places = [
        (source, source) if isinstance(source, str) else (source.url, str(source))
        for source in file.sources
    ]
    return File(file.path, file.n_bytes, file.sha256, places)


def _columns(dataset: str, sources: Sources) -> Any:
    """Yield the table columns that use a data set: table, name and kind."""
    for table, description in sources.tables.items():
        for column in description.columns:
            if column.dataset == dataset:
                yield table, column.published, column.kind


def _differences(configs: list[Config], sources: Sources) -> Any:
    """Yield, for each paper that uses the data set, how the paper's data differ from ours.

    From a table on a paper's page, these are the rows of this data set; otherwise, the paragraphs.
    """
    used: dict[str, set[str]] = {}
    for config in configs:
        for table, column, _ in config.columns:
            used.setdefault(sources.tables[table].paper, set()).update((column, config.label))
    for paper, names in used.items():
        text = sections(sources.readmes[paper]).get("Data", "")
        lines = text.splitlines()
        head = [i for i, line in enumerate(lines) if re.fullmatch(r"\|[ |:-]+\|", line)]
        if head:
            rows = [
                line
                for line in lines[head[0] + 1 :]
                if line.startswith("|") and any(_names(line.split("|")[1], n) for n in names)
            ]
            text = "\n".join([*lines[head[0] - 1 : head[0] + 1], *rows]) if rows else text
        else:
            near = [p for p in text.split("\n\n") if any(_names(p, n) for n in names)]
            text = "\n\n".join(near) or text
        yield paper, markdown(text)


def _names(text: str, name: str) -> bool:
    """Whether a text mentions a data set by the first word of its name."""
    word = re.split(r"[ (-]", name)[0]
    return re.search(rf"\b{re.escape(word)}", text, re.IGNORECASE) is not None
