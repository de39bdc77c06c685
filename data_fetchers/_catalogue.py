"""The tables beside the code: files and their hashes, expected counts, and what to cite."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from data_fetchers.fetch import RemoteFile, fetch
from omtl.util.bibliography import bibtex_entries
from omtl.util.errors import UserError

FOLDER = Path(__file__).parent


@lru_cache
def _rows(table: str, name: str) -> list[dict[str, str]]:
    """Return the rows of a data set in one of the tables, in their order."""
    with (FOLDER / table).open(encoding="utf-8", newline="") as opened:
        return [row for row in csv.DictReader(opened) if row["data_set"] == name]


def expected_counts(name: str) -> dict[str, int]:
    """Return what a data set's files must parse to: its rows of ``counts.csv``."""
    return {row["what"]: int(row["count"]) for row in _rows("counts.csv", name)}


def total_counts(name: str) -> dict[str, int]:
    """Return the expected counts of a data set as a whole, without those of single tasks."""
    return {what: n for what, n in expected_counts(name).items() if ": " not in what}


def catalogued(
    name: str, *references: str, licence: str = "unstated"
) -> tuple[str, str, str, tuple[RemoteFile, ...]]:
    """Return what a data set's module says of itself: name, licence, citation and files.

    The files are its rows of ``files.csv``. They are in each place of its rows of ``sources.csv``,
    tried in this order: below an address (of a public repository at one commit, so that it always
    yields the same bytes), or in an archive.

    Parameters
    ----------
    name : str
    *references : str
        Keys of ``references.bib``; the citation has them as BibTeX.
    licence : str
    """
    by_key = bibtex_entries((FOLDER / "references.bib").read_text(encoding="utf-8"))
    places = [
        address + ("#" if address.endswith(".tar.gz") else "/")
        for address in (row["address"] for row in _rows("sources.csv", name))
    ]
    files = tuple(
        RemoteFile(
            row["path"],
            row["sha256"],
            int(row["bytes"]),
            tuple(f"{place}{quote(row['path'])}" for place in places),
        )
        for row in _rows("files.csv", name)
    )
    return name, licence, "".join(f"{by_key[key]}\n" for key in references), files


def fetched(folder: str, files: Iterable[RemoteFile], pattern: str = "*") -> list[bytes]:
    """Return the contents of a data set's files, each downloaded if necessary.

    Parameters
    ----------
    folder : str
        The folder of the data set's files.
    files : iterable of RemoteFile
    pattern : str
        The files to take, as of `pathlib.PurePath.match`; default: all.

    Raises
    ------
    DataMissing
        If a file is available nowhere.
    """
    wanted = [file for file in files if PurePosixPath(file.path).match(pattern)]
    return [fetch(folder, file).read_bytes() for file in wanted]


def check_counts(where: str, found: Mapping[str, int]) -> None:
    """Check what a data set's files parsed to against ``counts.csv``.

    Parameters
    ----------
    where : str
        The data set's name.
    found : mapping of str to int
        All counts, or those of some parts of the data set.

    Raises
    ------
    UserError
        If a count differs from the table's or is not there.
    """
    expected = expected_counts(where)
    wrong = [
        f"{what} {count} instead of {expected.get(what, 0)}"
        for what, count in found.items()
        if count != expected.get(what)
    ]
    if wrong:
        shown = "; ".join(wrong[:5]) + ("; ..." if len(wrong) > 5 else "")
        raise UserError(
            f"{where}: the files parse to other counts than they must: {shown}. As the files are "
            f"verified, fix the parser, or data_fetchers/counts.csv."
        )
