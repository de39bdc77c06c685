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
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import cycle, islice
from pathlib import Path

import pandas as pd

from omtl.util.result_files import markdown_table
from scripts.faults.moments import EVERYWHERE, KINDS, Ground
from scripts.faults.runs import Place, cluster_of

ALL = "all"


def broken(
    pairs: Sequence[tuple[str, str]], count: int, seed: int
) -> Iterator[tuple[str, str, bool, bool]]:
    """Break runs at so many moments; yield kind, engine, whether units were left, and all is well.

    Parameters
    ----------
    pairs : sequence of (str, str)
        Kinds and engines, which take turns.
    count, seed : int
    """
    turns = sorted(islice(cycle(pairs), count), key=lambda pair: pair[1])
    with tempfile.TemporaryDirectory() as name:
        calm = Place(Path(name) / "calm")
        calm.start().ends()
        for engine in sorted({engine for _, engine in turns}):
            kinds = [kind for kind, its in turns if its == engine]
            with cluster_of(engine) as cluster:
                for number, kind in enumerate(kinds):
                    folder = Path(name) / f"{engine}{number}"
                    drawn = random.Random(f"{seed} {engine} {number}")
                    is_broken, fault = False, ""
                    with ExitStack() as undo:
                        ground = Ground(folder, calm, engine, cluster, drawn, undo)
                        place = ground.place("place")
                        try:
                            is_broken = KINDS[kind][0](ground, place)
                            ground.resume(place)
                        except AssertionError as wrong:
                            fault = str(wrong)
                    if fault:
                        print(f"{kind} on {engine}: {fault}", file=sys.stderr, flush=True)
                    yield kind, engine, is_broken and not fault, not fault


def main(arguments: Sequence[str] | None = None) -> int:
    """Break runs, and print what came of it."""
    top = argparse.ArgumentParser(description="Break runs at random moments, and resume them.")
    top.add_argument("kinds", nargs="*", choices=[*KINDS, ALL], default=ALL)
    top.add_argument("--engine", action="append", choices=EVERYWHERE, help="default: each")
    top.add_argument("--moments", type=int, default=200, help="how many; default: 200")
    top.add_argument("--seed", type=int, default=0, help="of the moments; default: 0")
    given = top.parse_args(arguments)
    engines = given.engine or EVERYWHERE
    kinds = KINDS if ALL in given.kinds else given.kinds
    pairs = [(kind, engine) for kind in kinds for engine in KINDS[kind][1] if engine in engines]
    columns = ["fault", "engine", "before the end", "as demanded"]
    moments = pd.DataFrame(broken(pairs, given.moments, given.seed), columns=columns)
    found = moments.groupby(columns[:2], sort=False)
    table = found.sum().reset_index()
    table.insert(2, "times", found.size().to_numpy())
    print(*markdown_table([*table], table.astype(str).to_numpy().tolist()), sep="\n")
    return int(not moments["as demanded"].all())


if __name__ == "__main__":
    raise SystemExit(main())
