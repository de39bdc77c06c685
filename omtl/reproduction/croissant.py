"""A data set as Parquet, with a description in Croissant, the JSON-LD format of MLCommons.

The description is written here, not by mlcroissant, which brings 30 packages; a program with it
reads the examples: ``mlcroissant.Dataset("landmine.croissant.json").records("examples")``.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from scipy import sparse

from data_fetchers.fetch import Archive, RemoteFile
from omtl.datasets import DataSet, load
from omtl.experiment.specs import DataSetSpec

TEMPLATE = Path(__file__).with_name("croissant.json")
"""What all descriptions have in common: the context of Croissant 1.0, and the Parquet's columns."""


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
    table, content = _table(data), io.BytesIO()
    pq.write_table(table, content)
    examples = content.getvalue()
    module = DataSetSpec.named(name).fetcher
    year = re.search(r"year = \{(\d{4})\}", data.citation)
    described = json.loads(TEMPLATE.read_text(encoding="utf-8"))
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
    records["field"] = [one for one in records["field"] if one["name"] in table.column_names]
    if data.real:
        records["field"][1] |= {"dataType": "sc:Float", "description": "The target."}
    text = json.dumps(described, indent=2, ensure_ascii=False) + "\n"
    return {"parquet": examples, "croissant.json": text}


def _table(data: DataSet) -> pa.Table:
    y = data.y if data.real else data.y.astype(np.int8)
    columns = {"task": pa.array(data.task.astype(str)), "y": pa.array(y)}
    if isinstance(data.X, sparse.csr_array):
        starts = pa.array(data.X.indptr.astype(np.int32))
        columns["indices"] = pa.ListArray.from_arrays(starts, data.X.indices.astype(np.int32))
        values = data.X.data
    else:
        starts = pa.array(np.arange(len(data) + 1, dtype=np.int32) * data.X.shape[1])
        values = data.X.ravel()
    columns["values"] = pa.ListArray.from_arrays(starts, pa.array(values))
    return pa.table(columns)


def _source_file(file: RemoteFile) -> dict[str, Any]:
    """Return one of the data set's source files."""
    source = file.sources[0] if file.sources else None
    url = source.url if isinstance(source, Archive) else source
    where = f", in it {source.member}" if isinstance(source, Archive) else ""
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
