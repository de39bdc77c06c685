"""The data sets: source, shape and licence of each, and how it differs from a paper's."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

from markupsafe import Markup

import data_fetchers
from omtl.experiment.specs import DataSetSpec
from omtl.site.gather import Sources, comment_of, in_yaml
from omtl.site.text import code, docstring, entries, markdown, plain, prose, sections


def data_sets(sources: Sources) -> list[dict[str, Any]]:
    """Return all data sets, sorted by name."""
    return [_data_set(name, sources) for name in data_fetchers.data_set_names()]


def _data_set(name: str, sources: Sources) -> dict[str, Any]:
    module: Any = data_fetchers.data_set(name)
    about = inspect.getdoc(module) or ""
    of_load = docstring(inspect.getdoc(module.load) or "")
    text = re.sub(r"\n*Licence: [^\n]*(?:\n[^\n]+)*$", "", about).strip()
    summary, _, rest = text.partition("\n\n")
    licence = re.search(r"Licence: (.*)", plain(about))
    returns = of_load.get("Returns", "").partition("\n")[2]
    configs = [
        _config(spec, sources) for spec in sources.datasets.values() if spec.loaded_by == name
    ]
    return {
        "id": f"data-{name}.html",
        "name": name,
        "summary": plain(summary),
        "text": prose(rest),
        "licence": (licence[1] if licence else module.LICENCE).rstrip("."),
        "synthetic": getattr(module, "SYNTHETIC", False),
        "citation": module.CITATION,
        "files": module.FILES,
        "n_bytes": sum(file.n_bytes for file in module.FILES),
        "folder": data_fetchers.folder_of(module),
        "does": plain(of_load[""]),
        "returns": prose(inspect.cleandoc("\n" + returns)) if returns else "",
        "options": [(n, kind, code(t)) for n, kind, t in entries(of_load.get("Parameters", ""))],
        "counts": [(what, f"{n:,}") for what, n in data_fetchers.total_counts(name).items()],
        "configs": configs,
        "stands_in": any(kind == "substitute" for c in configs for _, _, kind in c["columns"]),
        "differences": list(_differences(configs, sources)),
    }


def _config(spec: DataSetSpec, sources: Sources) -> dict[str, Any]:
    """Return a config of a data set, and the table columns that use it."""
    return {
        "name": spec.name,
        "label": spec.label,
        "comment": comment_of("dataset", spec.name),
        "options": in_yaml({**spec.options, "normalise": spec.normalise, "bias": spec.bias}),
        "columns": [
            (table, column.published, column.kind)
            for table, description in sources.tables.items()
            for column in description.columns
            if column.dataset == spec.name
        ],
    }


def _differences(configs: list[dict[str, Any]], sources: Sources) -> Iterator[tuple[str, Markup]]:
    """Yield, for each paper that uses the data set, how the paper's data differ from ours.

    From a table on a paper's page, these are the rows of this data set; otherwise, the paragraphs.
    """
    used: dict[str, set[str]] = {}
    for config in configs:
        for table, column, _ in config["columns"]:
            used.setdefault(sources.tables[table].paper, set()).update((column, config["label"]))
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
