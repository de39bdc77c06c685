"""Play a table's units from nothing in a process of its own, and print what that took as JSON.

The first repeats of every cell are played, with a few points of each grid: the plays are those of
the whole table, and fewer.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import replace
from pathlib import Path

from omtl.compute.parallel_jobs import run
from omtl.compute.store import Store
from omtl.experiment.config import load_option, named_reading, resolve_jobs
from omtl.experiment.experiment import Experiment
from omtl.tables.plan import Table, describe, plan_table


def thinned(table: Table, points: int) -> Table:
    """Return the table with so many points of each grid, spread evenly."""

    def thin(experiment: Experiment) -> Experiment:
        n = len(experiment.points)
        return experiment.only([k * n // min(n, points) for k in range(min(n, points))])

    cells = [
        replace(
            cell,
            experiment=thin(cell.experiment),
            rivals=tuple(map(thin, cell.rivals)),
            chooser=cell.chooser and thin(cell.chooser),
            search=None,
        )
        for cell in table.cells
    ]
    return replace(table, cells=cells)


def main() -> int:
    """Play, and print seconds, units, data sets loaded, memory held, and failures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("table")
    kinds = {"repeats": int, "points": int, "jobs": int, "parallel": str, "store": Path}
    for name, kind in kinds.items():
        parser.add_argument(f"--{name}", type=kind, required=True)
    options = parser.parse_args()
    paper = describe("table", options.table).paper
    plan = plan_table(options.table, named_reading(paper, "as_published"))
    units = thinned(plan, options.points).units(0, options.repeats)
    parallel = resolve_jobs(load_option("parallel", options.parallel), options.jobs)
    began, used = time.perf_counter(), time.process_time()
    outcome = run(units, Store(options.store), parallel, quiet=True)
    facts = {
        "seconds": time.perf_counter() - began,
        "processor": time.process_time() - used,
        "units": len({unit.key for unit in units}),
        "failed": len(outcome.failed),
        "mebibytes": outcome.peak_mib,
        "loads": sum(outcome.loads.values()),
    }
    print(json.dumps(facts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
