"""Breaking runs on clusters at random moments: workers join and leave, schedulers and runs die.

``python -m scripts.elastic --engine dask --moments 200`` starts a cluster as its users do, by a
scheduler and workers that are processes of their own, and a run that uses it by its address. At
random moments a worker joins, a worker is killed, the scheduler is killed, or the run is stopped.
Then the run goes on, or the same run is started again. In the end all units must be stored with the
bits of an undisturbed run, none that was reported as done may be lost, and none that was stored may
be computed again.
"""

from __future__ import annotations

import argparse
from collections import Counter

from scripts.elastic.moments import suite
from scripts.records import TRUST, publish, read_csv

ENGINES = ("threads", "processes", "dask", "ray")
COLUMNS = ("engine", "what happened", "times", "before all units were done", "as demanded")


def record(engine: str, event: str, counts: tuple[int, ...], add: bool) -> None:
    """Add a moment's counts to the record; the first replaces the engine's earlier ones."""
    known = {(engine, event): tuple(map(int, counts))}
    moments = Counter({engine: 1})
    for earlier, what, *numbers in map(dict.values, read_csv(TRUST / "elastic.csv")):
        if add or earlier != engine:
            of_it = zip(map(int, numbers), known.get((earlier, what), (0, 0, 0)), strict=True)
            known[earlier, what] = tuple(map(sum, of_it))
            moments[earlier] += int(numbers[0])
    order = sorted(known, key=lambda key: (ENGINES.index(key[0]), key[1]))
    rows = [(*key, *map(str, known[key])) for key in order]
    head = ", ".join(f"{moments[name]} with {name}" for name in ENGINES if name in moments)
    publish("elastic", COLUMNS, rows, f"Moments: {head}.")


def main() -> int:
    """Run the suite, and record what comes of it."""
    top = argparse.ArgumentParser(description="Break runs on clusters at random moments.")
    top.add_argument("--engine", action="append", choices=ENGINES, help="default: each")
    top.add_argument("--moments", type=int, default=200, help="on each engine; default: 200")
    top.add_argument("--first", type=int, default=0, help="go on from it, and add to the record")
    top.add_argument("--seed", type=int, default=0)
    given = top.parse_args()
    wrong = 0
    for engine in given.engine or ENGINES:
        numbers = range(given.first, given.first + given.moments)
        moments = suite(engine, numbers, given.seed)
        for number, (event, left, fault) in zip(numbers, moments, strict=True):
            record(engine, event, (1, left, not fault), add=number > 0)
            wrong += bool(fault)
        print(f"{engine}: {given.moments} moments; {wrong} went wrong so far", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
