"""The files of the data sets that have several: a row of ``files.csv`` for each."""

from __future__ import annotations

import csv
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from data_fetchers.fetch import Archive, RemoteFile


@lru_cache
def _rows() -> list[dict[str, str]]:
    with Path(__file__).with_name("files.csv").open(encoding="utf-8", newline="") as table:
        return list(csv.DictReader(table))


def listed(name: str, *sources: Callable[[str], str | Archive]) -> tuple[RemoteFile, ...]:
    """Return the files of a data set, in the order of the table.

    Parameters
    ----------
    name : str
        The data set's name.
    *sources : callable
        Each returns a source of a file, given the file's path.
    """
    return tuple(
        RemoteFile(
            row["path"],
            row["sha256"],
            int(row["bytes"]),
            tuple(source(row["path"]) for source in sources),
        )
        for row in _rows()
        if row["data_set"] == name
    )
