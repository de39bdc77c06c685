"""Break runs at random moments, on every engine; resume them, and compare the bytes.

    python -m scripts.faults --moments 200
    python -m scripts.faults SIGKILL two-runs --engine threads --moments 50

At each moment a run of a small table is broken by one of `scripts.faults.moments.KINDS`, on an
empty store; then the same command is run again. It must end with status 0, compute exactly the
units that the store lacked, and write the bytes of an undisturbed run. Prints a table in Markdown;
the status is 1 if anything else happened.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path

from omtl.util.result_files import markdown_table
from scripts.faults.moments import EVERYWHERE, KINDS, Ground
from scripts.faults.runs import BrokenError, Place, cluster_of


def broken(
    pairs: Sequence[tuple[str, str]], count: int, seed: int
) -> Iterator[tuple[str, str, bool, str]]:
    """Break runs at so many moments; yield kind, engine, whether units were left, and a fault.

    Parameters
    ----------
    pairs : sequence of (str, str)
        Kinds and engines, which take turns.
    count, seed : int
    """
    turns = sorted(islice(cycle(pairs), count), key=lambda pair: pair[1])
    with tempfile.TemporaryDirectory() as name:
        compiled = Path(name) / "compiled"
        place = Place(Path(name) / "calm", compiled)
        place.start().ends()
        for engine in sorted({engine for _, engine in turns}):
            kinds = [kind for kind, its in turns if its == engine]
            with cluster_of(engine) as cluster:
                for number, kind in enumerate(kinds):
                    folder = Path(name) / f"{engine}{number}"
                    drawn = random.Random(f"{seed} {engine} {number}")
                    ground = Ground(folder, compiled, place.results(), engine, cluster, drawn)
                    try:
                        yield kind, engine, KINDS[kind][0](ground), ""
                    except BrokenError as fault:
                        yield kind, engine, False, str(fault)


def main(arguments: Sequence[str] | None = None) -> int:
    """Break runs, and print what came of it."""
    top = argparse.ArgumentParser(description="Break runs at random moments, and resume them.")
    top.add_argument("kinds", nargs="*", help=f"{', '.join(KINDS)}; default: all")
    top.add_argument("--engine", action="append", choices=EVERYWHERE, help="default: each")
    top.add_argument("--moments", type=int, default=200, help="how many; default: 200")
    top.add_argument("--seed", type=int, default=0, help="of the moments; default: 0")
    given = top.parse_args(arguments)
    if unknown := set(given.kinds) - KINDS.keys():
        top.error(f"no kind {min(unknown)!r}; choose from {', '.join(KINDS)}")
    engines = given.engine or EVERYWHERE
    kinds = given.kinds or [*KINDS]
    pairs = [(kind, engine) for kind in kinds for engine in KINDS[kind][1] if engine in engines]
    times, left, good = Counter(), Counter(), Counter()
    for kind, engine, is_broken, fault in broken(pairs, given.moments, given.seed):
        times[kind, engine] += 1
        left[kind, engine] += is_broken
        good[kind, engine] += not fault
        if fault:
            print(f"{kind} on {engine}: {fault}", file=sys.stderr, flush=True)
    heads = ["fault", "engine", "times", "before the end", "as demanded"]
    rows = [[*pair, *(str(each[pair]) for each in (times, left, good))] for pair in pairs]
    print(*markdown_table(heads, [row for row in rows if row[2] != "0"]), sep="\n")
    return int(good.total() < times.total())


if __name__ == "__main__":
    raise SystemExit(main())
