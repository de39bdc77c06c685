"""Breaking runs at random moments: each goes on where it was, loses nothing, and ends the same.

``python -m scripts.faults --moments 200`` makes a small table by the command that makes all tables.
Each moment has a store of its own: the run is broken there, then the same command is run again.
What is demanded is in `scripts.faults.trials`. Runs are forked from a process that has the package
loaded (`scripts.faults.warm_server`), so that moments fall into the run and not into the loading.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from scripts.faults.kinds import FAULTS
from scripts.faults.mounts import can_mount
from scripts.faults.runs import UNITS
from scripts.faults.trials import OTHERS, Trial, ground, others, suite
from scripts.records import TRUST, publish

TIMES = 10
"""How often faults happen that are at no moment of a run."""

COLUMNS = ("fault", "times", "as demanded", "units kept", "computed again", "what became of them")


def summed_up(trials: list[Trial]) -> list[tuple[str, ...]]:
    """Return a row for each kind of fault."""
    became = {kind: fault.becomes for kind, fault in FAULTS.items()}
    became |= {kind: text for kind, (_, text) in OTHERS.items()}
    rows: list[tuple[str, ...]] = []
    for kind, text in became.items():
        if mine := [trial for trial in trials if trial.kind == kind]:
            kept = sorted({trial.kept for trial in mine})
            of = " to ".join(map(str, dict.fromkeys([kept[0], kept[-1]]))) + f" of {UNITS}"
            good, again = sum(not trial.fault for trial in mine), sum(trial.again for trial in mine)
            rows.append((kind, str(len(mine)), str(good), of, str(again), text))
    return rows


def main() -> int:
    """Run the suite and write what came of it; write nothing if anything went wrong."""
    top = argparse.ArgumentParser(description="Break runs at random moments, and go on with them.")
    top.add_argument("--moments", type=int, default=200, help="how many; default: 200")
    top.add_argument("--seed", type=int, default=0, help="of the moments; default: 0")
    top.add_argument("--folder", type=Path, default=TRUST, help="where the results go")
    options = top.parse_args()
    if options.moments < len(FAULTS):
        top.error(
            f"--moments {options.moments}: there are {len(FAULTS)} kinds; name as many or more"
        )
    started = time.monotonic()
    with ground() as on:
        trials = suite(on, options.moments, options.seed)
        trials += others(on, TIMES, options.seed)
    rows = summed_up(trials)
    for kind, times, good, kept, again, _ in rows:
        print(f"{kind}: {good} of {times} as demanded, {kept} units kept, {again} computed again")
    wrong = sum(bool(trial.fault) for trial in trials)
    print(f"{wrong} went wrong; {time.monotonic() - started:.0f} s")
    if not wrong:
        how = "on disks mounted for it" if can_mount() else "without the right to mount a disk"
        head = (
            f"{options.moments} moments drawn with seed {options.seed}, {how}; {UNITS} units by "
            "two threads, or by two processes where one dies:"
        )
        publish("faults", COLUMNS, rows, head, options.folder)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
