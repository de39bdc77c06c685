"""What is published with the package: printed numbers, ours, each repeat, and all claims.

Examples
--------
>>> from omtl import results
>>> results.cells("dom-table1", reading="as_read")["algorithm"].tolist()[:3]
['PM', 'PM', 'PM']
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from omtl.experiment.descriptions import known_table
from omtl.experiment.readings import CLOSEST
from omtl.tables.cells import PLACE, long_repeats, with_numbers
from omtl.tables.published_results import PublishedRun, runs_of
from omtl.util import user_folder
from omtl.util.errors import UserError, known_name
from omtl.util.paths import results_to_read
from omtl.util.result_files import read_csv

__all__ = ["cells", "claims", "repeats", "runs"]


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__


def _published(table: str, reading: str, selection: str) -> PublishedRun:
    user_folder.find()
    known = known_table(table)
    found = runs_of(results_to_read(), known)
    named = {run.name: run for run in found}
    asked = f"{reading}_by_{selection}" if selection else reading
    return named[known_name(f"published run of {known}", asked, named)]


def cells(table: str, *, reading: str = CLOSEST, selection: str = "") -> pd.DataFrame:
    """Return the published run of a table: a row for each cell. Nothing is computed.

    Parameters
    ----------
    table : str
        The table's id.
    reading : str
        A reading whose results are published, by default the closest one.
    selection : str
        A rule other than the table's own: ``"prefix"``.

    Returns
    -------
    DataFrame
        Printed numbers, ours, the difference with its 99.9% interval, the verdict.

    Raises
    ------
    UserError
        If there is no such run.

    Examples
    --------
    >>> found = cells("dom-table1").set_index(["algorithm", "dataset"])
    >>> found.loc[("COML", "Synthetic"), "verdict"]
    'match'
    """
    return with_numbers(_published(table, reading, selection).rows.reset_index(drop=True))


def repeats(table: str, *, reading: str = CLOSEST, selection: str = "") -> pd.DataFrame:
    """Return our number in each repeat of a published run, in full precision.

    Parameters
    ----------
    table, reading, selection : str
        As in `cells`.

    Raises
    ------
    UserError
        If there is no such run.

    Examples
    --------
    >>> found = repeats("dom-table1")
    >>> len(found[(found["algorithm"] == "COML") & (found["dataset"] == "Synthetic")])
    50
    """
    found = _published(table, reading, selection).repeats
    rows = long_repeats(found.assign(values=found["values"].str.split()))
    return rows[[*PLACE, "repeat", "value"]]


def claims(paper: str | None = None) -> pd.DataFrame:
    """Return the papers' comparative statements: true in print, and of our numbers?

    Parameters
    ----------
    paper : str, optional
        Only those of this paper.

    Raises
    ------
    UserError
        If there is no such paper.

    Examples
    --------
    >>> sorted(claims("aklo")["paper"].unique())
    ['aklo']
    """
    found = read_csv(results_to_read("claims.csv") / "claims.csv")
    if paper is None:
        return found
    known = known_name("paper", paper, sorted(set(found["paper"])))
    return found[found["paper"] == known].reset_index(drop=True)


def runs(folder: str | Path, *folders: str | Path, by_repeat: bool = False) -> pd.DataFrame:
    """Return the records of runs and sweeps of ``omtl run`` in folders and below.

    Parameters
    ----------
    folder, *folders : str or Path
        Such as ``.omtl/sweeps``.
    by_repeat : bool
        Whether to return a row for each repeat, instead of one for each run.

    Raises
    ------
    UserError
        If a folder has none, or one cannot be read.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> record = {"overrides": ["algorithm=pm"], "config": {}, "params": [{}, {}], "diverged": 0}
    >>> record["metrics"] = {"error": {"unit": "%", "values": [12.5, 13.5]}}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "result.json").write_text(json.dumps(record))
    ...     runs(folder)["error"].tolist()
    [13.0]
    """
    from omtl.reproduction.record import collect, record_rows  # they load Hydra

    records: dict[str, Mapping[str, Any]] = {}
    for below in map(Path, (folder, *folders)):
        found = collect(below)
        if not found:
            raise UserError(f"{below} contains no record of a run")
        records |= {f"{below}/{name}" if folders else name: one for name, one in found.items()}
    return record_rows(records, by_repeat)
