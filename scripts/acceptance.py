"""Acceptance: hashes of every table and figure at two repeats, which a refactoring must keep.

    python -m scripts.acceptance             # compare with scripts/acceptance.csv
    python -m scripts.acceptance --write     # record what the code computes now
    python -m scripts.acceptance dom aklo    # only the tables and figures of some papers

Every table is computed under the three standard readings, every figure under the closest one. Rows
of times are left out. The store of finished units is used, so that a change which alters no unit
costs little; `OMTL_HOME` names another one.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd

from omtl.api.figures import Figure, figure
from omtl.api.tables import Table, table
from omtl.experiment.descriptions import descriptions
from omtl.experiment.readings import CLOSEST, READINGS

RECORD = Path(__file__).with_name("acceptance.csv")
SLOW = {"omtrsl-table1"}
"""Tables of minutes under each reading: these are computed under the closest one only."""

ABOUT_TIMES = {"aklo-table2.claims.csv", "omtrsl-table1.claims.csv", "osmtl-table1.claims.csv"}
"""Claims about measured times, which no refactoring keeps."""

TIMES = ("seconds", "ratio", "time")
"""Metrics that depend on the clock begin or end with one of these words."""


def asked(papers: list[str]) -> list[tuple[str, str, str]]:
    """Return the kind, id and reading of everything that is computed."""
    return [
        (kind, name, reading)
        for kind in ("table", "figure")
        for name in sorted(descriptions(kind))
        for reading in (READINGS if kind == "table" and name not in SLOW else (CLOSEST,))
        if not papers or name.partition("-")[0] in papers
    ]


def digest(path: Path, reading: str) -> str:
    """Return the hash of a CSV file's rows of a reading, without times and without wording."""
    rows = pd.read_csv(path, dtype=str, keep_default_na=False).drop(columns="says", errors="ignore")
    if "reading" in rows:
        rows = rows[rows["reading"] == reading]
    if "metric" in rows:
        rows = rows[~rows["metric"].str.contains("|".join(TIMES))]
    return hashlib.sha256(rows.to_csv(index=False).encode()).hexdigest()[:16]


def compute(kind: str, name: str, reading: str) -> list[dict[str, str]]:
    """Compute a table or figure; return a row with the hash of each CSV file that it wrote."""
    try:
        make: Callable[..., Table | Figure] = table if kind == "table" else figure
        made = make(name, reading=reading, repeats=2)
        paths = [path for path in made.write() if path.suffix == ".csv"]
        why = "units failed" if made.is_broken else ""
    except Exception as fault:  # the others are computed all the same
        why = str(fault) or repr(fault)
    if why:
        return [{"id": name, "reading": reading, "file": "", "hash": f"failed: {why}"}]
    return [
        {"id": name, "reading": reading, "file": path.name, "hash": digest(path, reading)}
        for path in paths
        if path.name not in ABOUT_TIMES
    ]


def main() -> int:
    """Compute what is asked for, and write or compare its hashes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("papers", nargs="*", help="default: all papers")
    parser.add_argument("--write", action="store_true", help="record the hashes")
    options = parser.parse_args()
    recorded = pd.read_csv(RECORD, dtype=str, keep_default_na=False)
    known, found = recorded.to_dict("records"), []
    for kind, name, reading in asked(options.papers):
        rows = compute(kind, name, reading)
        found += rows
        for row in rows:
            same = "same" if row in known else "DIFFERENT"
            print(*row.values(), "recorded" if options.write else same, flush=True)
        if options.write:
            others = recorded[~recorded["id"].isin(row["id"] for row in found)]
            pd.concat([others, pd.DataFrame(found)]).sort_values("id", kind="stable").to_csv(
                RECORD, index=False, lineterminator="\n"
            )
    return int(not options.write and any(row not in known for row in found))


if __name__ == "__main__":
    sys.exit(main())
