"""Descriptions of exported files in JSON-LD: a data set's in Croissant, a folder's as an RO-Crate.

They are written here, from the templates beside this file: mlcroissant brings 30 packages. A
program with it reads the examples:
``mlcroissant.Dataset("landmine.croissant.json").records("examples")``.
"""

from __future__ import annotations

import hashlib
import io
import json
import mimetypes
import re
from collections.abc import Mapping, Sequence
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from data_fetchers.fetch import RemoteFile
from omtl.datasets import DataSet, load
from omtl.experiment.specs import DataSetSpec
from omtl.util.files import write_whole

CRATE = "ro-crate-metadata.json"
"""The name that an RO-Crate (version 1.1) gives its description."""

FORMATS = {
    ".bib": "application/x-bibtex",
    ".json": "application/ld+json",
    ".md": "text/markdown",
    ".parquet": "application/vnd.apache.parquet",
}
"""Media types that `mimetypes` lacks or has otherwise, by suffix."""

TYPES = mimetypes.MimeTypes()
"""Those of Python itself, the same on all machines."""


def _template(name: str) -> dict[str, Any]:
    """Return what all descriptions of a kind have in common."""
    described: dict[str, Any] = json.loads(
        Path(__file__).with_name(name).read_text(encoding="utf-8")
    )
    return described


def croissant(name: str) -> dict[str, str | bytes]:
    """Return a data set's files by suffix: its examples, and their description.

    The examples are prepared for learners: normalised and with a bias feature if the data set's
    config says so. The description also names the source files.

    Raises
    ------
    UserError
        If there is no such data set, or a file cannot be downloaded.
    """
    data = load(name)
    examples, columns = _parquet(data)
    module = DataSetSpec.named(name).fetcher
    year = re.search(r"year = \{(\d{4})\}", data.citation)
    described = _template("croissant.json")
    (parquet,), (records,) = described["distribution"], described["recordSet"]
    described |= {
        "name": name,
        "description": " ".join((module.__doc__ or data.label).split()),
        "version": version("omtl"),
        "license": data.licence,
        **({"citeAs": data.citation} if data.citation else {}),
        **({"datePublished": year.group(1)} if year else {}),
        "distribution": [*map(_source_file, module.FILES), parquet],
    }
    parquet |= {
        "description": f"{len(data)} examples of {data.n_tasks} tasks with "
        f"{data.X.shape[1]} features, as omtl prepares them.",
        "contentUrl": f"{name}.parquet",
        "contentSize": f"{len(examples)} B",
        "sha256": hashlib.sha256(examples).hexdigest(),
    }
    records["field"] = [one for one in records["field"] if one["name"] in columns]
    if data.real:
        records["field"][1] |= {"dataType": "sc:Float", "description": "The target."}
    text = json.dumps(described, indent=2, ensure_ascii=False) + "\n"
    return {"parquet": examples, "croissant.json": text}


def _parquet(data: DataSet) -> tuple[bytes, list[str]]:
    """Return a data set's examples in Parquet, and the names of the columns."""
    import pyarrow as pa  # of the extra `tables`, which nothing else here needs
    import pyarrow.parquet as pq

    X, y = data.X, data.y if data.real else data.y.astype(np.int8)
    columns: dict[str, Any] = {"task": data.task.astype(str), "y": y}
    if isinstance(X, sparse.csr_array):
        columns["indices"] = np.split(X.indices.astype(np.int32), X.indptr[1:-1])
        columns["values"] = np.split(X.data, X.indptr[1:-1])
    else:
        columns["values"] = list(X)
    content = io.BytesIO()
    pq.write_table(pa.table(columns), content)
    return content.getvalue(), [*columns]


def _source_file(file: RemoteFile) -> dict[str, Any]:
    """Return one of the data set's source files."""
    url, _, member = (file.sources or ("",))[0].partition("#")
    where = f", in it {member}" if member else ""
    return {
        "@type": "cr:FileObject",
        "@id": file.path,
        "name": Path(file.path).name,
        "description": f"A file as it is published{where}; the hash is of the unpacked file.",
        "contentUrl": url or file.path,
        "contentSize": f"{file.n_bytes} B",
        "encodingFormat": "application/octet-stream",
        "sha256": file.sha256,
    }


def write_crate(folder: Path, exported: Mapping[str, Sequence[Path]], command: str) -> Path:
    """Write what files of a folder are, as an RO-Crate; return the file.

    Parameters
    ----------
    folder : Path
    exported : mapping of str to sequence of Path
        What was exported, in words without paths of this machine, and its files in the folder.
    command : str
        The command that wrote them, without such paths.
    """
    files = [_file(path, description) for description, paths in exported.items() for path in paths]
    parts = [{"@id": file["@id"]} for file in files]
    crate = _template("ro-crate.json")
    _, root, action, software, *_ = crate["@graph"]
    root |= {"name": root["name"] + ", ".join(exported), "hasPart": parts}
    root |= {"datePublished": date.today().isoformat()}
    action |= {"name": command, "result": parts}
    software["version"] = version("omtl")
    crate["@graph"] += files
    write_whole(folder / CRATE, json.dumps(crate, indent=2, ensure_ascii=False) + "\n")
    return folder / CRATE


def _file(path: Path, description: str) -> dict[str, Any]:
    """Return one of the exported files."""
    content = path.read_bytes()
    return {
        "@id": path.name,
        "@type": "File",
        "name": path.name,
        "description": description,
        "encodingFormat": FORMATS.get(path.suffix) or TYPES.guess_type(path.name)[0],
        "contentSize": str(len(content)),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
