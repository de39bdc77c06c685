"""The data sets: source, shape and licence of each, and how it differs from a paper's."""

from __future__ import annotations

import inspect
import re
from typing import Any

import data_fetchers
from omtl.site.sources import Sources
from omtl.site.text import code, docstring, entries, plain, prose


def data_sets(sources: Sources) -> list[dict[str, Any]]:
    """Return all data sets, sorted by name."""
    return [_data_set(name, sources) for name in data_fetchers.names()]


def _data_set(name: str, sources: Sources) -> dict[str, Any]:
    module: Any = data_fetchers.data_set(name)
    about = inspect.getdoc(module) or ""
    of_load = docstring(inspect.getdoc(module.load) or "")
    text = re.sub(r"\n*Licence: [^\n]*(?:\n[^\n]+)*$", "", about).strip()
    summary, _, rest = text.partition("\n\n")
    licence = re.search(r"Licence: (.*)", plain(about))
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
        "counts": data_fetchers.totals(name),
        "configs": configs,
        "columns": columns,
        "papers": list(dict.fromkeys(sources.tables[table].paper for _, table, *_ in columns)),
    }
