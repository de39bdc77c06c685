"""The tables beside the code: files and their hashes, expected counts, and what to cite."""

from __future__ import annotations

import csv
import re
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from data_fetchers.fetch import Archive, RemoteFile

FOLDER = Path(__file__).parent


@lru_cache
def _rows(table: str) -> list[dict[str, str]]:
    with (FOLDER / table).open(encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def listed(name: str) -> tuple[RemoteFile, ...]:
    """Return the files of a data set: its rows of ``files.csv``, in their order.

    They are in each place of the data set's rows of ``sources.csv``, tried in this order: below
    an address (of a public repository at one commit, so that it always yields the same bytes), or
    in an archive.
    """
    addresses = [row["address"] for row in _rows("sources.csv") if row["data_set"] == name]
    return tuple(
        RemoteFile(
            row["path"],
            row["sha256"],
            int(row["bytes"]),
            tuple(
                Archive(address, row["path"])
                if address.endswith(".tar.gz")
                else f"{address}/{quote(row['path'])}"
                for address in addresses
            ),
        )
        for row in _rows("files.csv")
        if row["data_set"] == name
    )


@lru_cache
def expected_counts(name: str) -> dict[str, int]:
    """Return what a data set's files must parse to: its rows of ``counts.csv``."""
    return {
        row["what"]: int(row["count"]) for row in _rows("counts.csv") if row["data_set"] == name
    }


def total_counts(name: str) -> dict[str, int]:
    """Return the expected counts of a data set as a whole, without those of single tasks."""
    return {what: n for what, n in expected_counts(name).items() if ": " not in what}


def cited(*keys: str) -> str:
    """Return entries of ``references.bib``, as BibTeX."""
    entries = (FOLDER / "references.bib").read_text(encoding="utf-8").strip().split("\n\n")
    by_key = {re.split("[{,]", entry, maxsplit=2)[1]: entry for entry in entries}
    return "".join(f"{by_key[key]}\n" for key in keys)
