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

CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    **{
        name: f"cr:{name}"
        for name in (
            *("citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty"),
            *("fileObject", "fileSet", "format", "includes", "isLiveDataset", "jsonPath", "key"),
            *("md5", "parentField", "path", "recordSet", "references", "regex", "repeated"),
            *("replace", "samplingRate", "separator", "source", "subField", "transform"),
        )
    },
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
}
"""The context of Croissant 1.0, as its specification has it."""

COLUMNS = {
    "task": ("sc:Text", "The task."),
    "y": ("sc:Integer", "The label, -1 or 1."),
    "indices": ("sc:Integer", "The numbers of the features that are not 0, from 0 on."),
    "values": ("sc:Float", "The features; those of `indices`, where there are indices."),
}
"""The columns of the Parquet file: their types and descriptions."""

TARGETS = ("sc:Float", "The target.")
"""The column ``y`` of a data set of regression."""


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
    described = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": name,
        "description": " ".join((module.__doc__ or data.label).split()),
        "version": version("omtl"),
        "license": data.licence,
        **({"citeAs": data.citation} if data.citation else {}),
        **({"datePublished": year.group(1)} if year else {}),
        "isLiveDataset": False,
        "distribution": [
            *(_raw(file) for file in getattr(module, "FILES", ())),
            {
                "@type": "cr:FileObject",
                "@id": "parquet",
                "name": "parquet",
                "description": f"{len(data)} examples of {data.n_tasks} tasks with "
                f"{data.X.shape[1]} features, as omtl prepares them.",
                "contentUrl": f"{name}.parquet",
                "contentSize": f"{len(examples)} B",
                "encodingFormat": "application/x-parquet",
                "sha256": hashlib.sha256(examples).hexdigest(),
            },
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "examples",
                "name": "examples",
                "field": [_field(column, data.real) for column in table.column_names],
            }
        ],
    }
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


def _raw(file: RemoteFile) -> dict[str, Any]:
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


def _field(column: str, real: bool) -> dict[str, Any]:
    kind, description = TARGETS if real and column == "y" else COLUMNS[column]
    described: dict[str, Any] = {
        "@type": "cr:Field",
        "@id": f"examples/{column}",
        "name": column,
        "description": description,
        "dataType": kind,
        "source": {"fileObject": {"@id": "parquet"}, "extract": {"column": column}},
    }
    return described | ({"repeated": True} if column in ("indices", "values") else {})
