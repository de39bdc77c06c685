"""A description of exported files as an RO-Crate: ``ro-crate-metadata.json`` (version 1.1)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

from omtl.util.files import write_whole

FORMATS = {
    "bib": "application/x-bibtex",
    "csv": "text/csv",
    "json": "application/ld+json",
    "md": "text/markdown",
    "parquet": "application/vnd.apache.parquet",
    "pdf": "application/pdf",
    "png": "image/png",
    "svg": "image/svg+xml",
    "tex": "application/x-tex",
}

NAME = "ro-crate-metadata.json"

SOFTWARE = {
    "@id": "#omtl",
    "@type": "SoftwareApplication",
    "name": "omtl",
    "version": version("omtl"),
    "description": "The reproduction harness for online multi-task learning",
}


AUTHOR = {"@id": "#authors", "@type": "Organization", "name": "The omtl authors"}

LICENCE = {
    "@id": "https://spdx.org/licenses/MIT",
    "@type": "CreativeWork",
    "name": "MIT License",
    "description": "The licence of the results.",
}


def write_crate(folder: Path, exported: Mapping[str, Sequence[Path]], command: str) -> Path:
    """Write what files of a folder are.

    Parameters
    ----------
    folder : Path
    exported : mapping of str to sequence of Path
        What was exported, in words without paths of this machine, and its files in the folder.
    command : str
        The command that wrote them, without such paths.

    Returns
    -------
    Path
        The file that was written.
    """
    files = [_file(path, description) for description, paths in exported.items() for path in paths]
    parts = [{"@id": file["@id"]} for file in files]
    graph: list[dict[str, Any]] = [
        {
            "@id": NAME,
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "name": f"Results of omtl: {', '.join(exported)}",
            "description": "Results of omtl beside the published numbers. Data sets are under the "
            "terms of their owners.",
            "datePublished": date.today().isoformat(),
            "author": {"@id": AUTHOR["@id"]},
            "license": {"@id": LICENCE["@id"]},
            "hasPart": parts,
            "mentions": [{"@id": "#export"}],
        },
        {
            "@id": "#export",
            "@type": "CreateAction",
            "name": command,
            "instrument": {"@id": SOFTWARE["@id"]},
            "result": parts,
        },
        SOFTWARE,
        AUTHOR,
        LICENCE,
        *files,
    ]
    path = folder / NAME
    content = {"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph}
    write_whole(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    return path


def _file(path: Path, description: str) -> dict[str, Any]:
    content = path.read_bytes()
    return {
        "@id": path.name,
        "@type": "File",
        "name": path.name,
        "description": description,
        "encodingFormat": FORMATS[path.suffix.removeprefix(".")],
        "contentSize": str(len(content)),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
