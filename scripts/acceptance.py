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
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parent.parent
RECORD = ROOT / "scripts" / "acceptance.csv"
READINGS = ("as_published", "as_read", "as_written")
SLOW = {"omtrsl-table1"}
"""Tables of minutes under each reading: these are computed under the closest one only."""

ABOUT_TIMES = {"aklo-table2.claims.csv", "omtrsl-table1.claims.csv", "osmtl-table1.claims.csv"}
"""Claims about measured times, which no refactoring keeps."""

TIMES = ("seconds", "ratio", "time")
"""Metrics that depend on the clock begin or end with one of these words."""


def asked(papers: list[str]) -> list[tuple[str, str, str]]:
    """Return the kind, id and reading of everything that is computed."""
    found = []
    for path in sorted(ROOT.glob("experiments/*/*.yaml")):
        paper, name = path.parent.name, path.stem
        kind = "figure" if name.startswith("fig") else "table" if name.startswith("table") else ""
        if not kind or (papers and paper not in papers):
            continue
        of = f"{paper}-{name}"
        readings = READINGS if kind == "table" and of not in SLOW else READINGS[:1]
        found += [(kind, of, reading) for reading in readings]
    return found


def digest(path: Path, reading: str) -> str:
    """Return the hash of a CSV file's rows of a reading, without those of times."""
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    if "reading" in rows:
        rows = rows[rows["reading"] == reading]
    if "metric" in rows:
        rows = rows[~rows["metric"].str.contains("|".join(TIMES))]
    return hashlib.sha256(rows.to_csv(index=False).encode()).hexdigest()[:16]


def compute(kind: str, name: str, reading: str) -> list[dict[str, str]]:
    """Compute a table or figure; return a row with the hash of each CSV file that it wrote."""
    command = [sys.executable, "-m", "omtl", kind, name, "--reading", reading, "--repeats", "2"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    written = re.findall(r"^written: (.*)$", done.stdout, flags=re.MULTILINE)
    if done.returncode or not written:
        lines = done.stderr.strip().splitlines() or ["nothing was written"]
        return [{"id": name, "reading": reading, "file": "", "hash": f"failed: {lines[-1]}"}]
    paths = [ROOT / path for path in written[-1].split() if path.endswith(".csv")]
    paths = [path for path in paths if path.name not in ABOUT_TIMES]
    return [
        {"id": name, "reading": reading, "file": path.name, "hash": digest(path, reading)}
        for path in paths
    ]


def main() -> int:
    """Compute what is asked for, and write or compare its hashes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("papers", nargs="*", help="default: all papers")
    parser.add_argument("--write", action="store_true", help="record the hashes")
    options = parser.parse_args()
    columns = ["id", "reading", "file", "hash"]
    recorded = pd.read_csv(RECORD, dtype=str) if RECORD.exists() else pd.DataFrame(columns=columns)
    found: list[dict[str, str]] = []
    differing = 0
    for kind, name, reading in asked(options.papers):
        for row in compute(kind, name, reading):
            found.append(row)
            same = "recorded"
            if not options.write:
                of_file = recorded[
                    (recorded["id"] == name)
                    & (recorded["reading"] == reading)
                    & (recorded["file"] == row["file"])
                ]
                same = "same" if [*of_file["hash"]] == [row["hash"]] else "DIFFERENT"
                differing += same == "DIFFERENT"
            print(f"{name} {reading} {row['file']} {row['hash']} {same}", flush=True)
        if options.write:
            others = recorded[~recorded["id"].isin(row["id"] for row in found)]
            pd.concat([others, pd.DataFrame(found)]).sort_values("id", kind="stable").to_csv(
                RECORD, index=False, lineterminator="\n"
            )
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
