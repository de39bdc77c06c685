"""Telling the most memory that each table's run has held, from the facts beside the tables.

``python -m scripts.memory`` reads ``results/reproduced/*.meta.json``. A run that computed nothing
tells nothing, and is left out.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

from omtl.files import write_whole
from scripts.in_page import fill, table

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = ("table", "reading", "units computed", "jobs", "peak, MiB")


def rows() -> list[tuple[str, ...]]:
    """Return a row for each run that tells its peak."""
    found = []
    for path in sorted((ROOT / "results" / "reproduced").glob("*.meta.json")):
        facts = json.loads(path.read_text(encoding="utf-8"))
        if facts.get("units_computed") and "peak_mib" in facts:
            told = (facts["units_computed"], facts["parallel"]["jobs"], facts["peak_mib"])
            found.append((facts["table"], facts["reading"]["name"], *map(str, told)))
    return found


def main() -> int:
    """Write the table."""
    found, text = rows(), io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, *found])
    write_whole(ROOT / "results" / "trust" / "memory.csv", text.getvalue())
    fill(ROOT / "docs" / "trust.md", "memory", table(COLUMNS, found))
    print(*table(COLUMNS, found), sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
