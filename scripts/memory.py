"""Telling the most memory that making each table has held, from the facts beside the tables.

``python -m scripts.memory`` reads ``results/reproduced/*.machine.json``, of each the run that
computed most of its units; tables are left out that were not made here, and those by another rule
than their own, as their units are those of the table's own.
"""

from __future__ import annotations

import json
import sys

from omtl.tables.plan import describe
from omtl.util.paths import RESULTS
from scripts.records import TRUST, fill, table, write_csv

COLUMNS = ("table", "reading", "units", "computed by that run", "jobs", "peak, MiB")
UNKNOWN = "not known"


def rows() -> list[tuple[str, ...]]:
    """Return a row for each table and reading of which a run that computed is known."""
    found = []
    for path in sorted((RESULTS / "reproduced").glob("*.meta.json")):
        facts = json.loads(path.read_text(encoding="utf-8"))
        taken = path.with_name(path.name.replace(".meta.", ".machine."))
        if not taken.exists():
            continue
        facts |= json.loads(taken.read_text(encoding="utf-8"))
        run, own = facts["computed_by"], describe("table", facts["table"]).selection
        if run and facts["selection"] == own:
            peak = UNKNOWN if run["peak_mib"] is None else run["peak_mib"]
            row = (facts["units"], run["units_computed"], run["parallel"]["jobs"], peak)
            found.append((facts["table"], facts["reading"]["name"], *map(str, row)))
    return found


def main() -> int:
    """Write the table; fail where there is nothing to write."""
    found = rows()
    if not found:
        print("memory: no table of results/reproduced was computed here", file=sys.stderr)
        return 1
    write_csv(TRUST / "memory.csv", COLUMNS, found)
    fill("memory", table(COLUMNS, found))
    print(*table(COLUMNS, found), sep="\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
