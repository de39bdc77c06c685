"""Computing the units that the store lacks, each stored as it ends.

Workers (`omtl.compute.workers`, `omtl.compute.batches`) need no store: they return results, and the
process that hands out units stores them.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator, KeysView, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from statistics import fmean
from typing import Any

from omtl.compute.progress import DryRunPlan, Progress, is_dry
from omtl.compute.store import Store, StoredRow
from omtl.experiment.specs import ParallelSpec
from omtl.experiment.unit import Result, Unit
from omtl.util.errors import UserError

ATTEMPTS = 3
"""Number of times in a row that workers may die without a finished unit in between."""


@dataclass(frozen=True)
class Failure:
    """Why a unit has no result; `missing_data` if its data set is unavailable."""

    reason: str
    missing_data: bool = False


@dataclass
class Outcome:
    """The outcome of the requested units.

    Parameters
    ----------
    computed, reused : int
        Number of units computed now, and number found in the store.
    failed : dict of str to Failure
        The failures, by the unit's key.
    seconds : dict of str to float
        The duration of each stored unit when it was computed, by key.
    """

    computed: int = 0
    reused: int = 0
    failed: dict[str, Failure] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, part: Outcome) -> None:
        """Add the outcomes of further units."""
        self.computed += part.computed
        self.reused += part.reused
        self.failed |= part.failed
        self.seconds |= part.seconds

    @property
    def is_broken(self) -> bool:
        """Whether a unit failed for another reason than missing data."""
        return any(not failure.missing_data for failure in self.failed.values())


def why_lacking(
    units: Sequence[Unit], n_stored: int, failed: Mapping[str, Failure], known: str = ""
) -> str:
    """Return why not all of these units are stored: a failure, a known reason, or the number."""
    reasons = [failed[unit.key].reason for unit in units if unit.key in failed] if failed else []
    return next(iter(reasons), known) or f"{n_stored} of {len(units)} repeats are stored"


@contextmanager
def asked_to_stop() -> Iterator[threading.Event]:
    """Give an event that the first Ctrl-C sets, so that units under way can end.

    The second one stops at once. Where somebody else is in charge of Ctrl-C, nothing changes.
    """
    asked = threading.Event()

    def note(number: int, frame: Any) -> None:
        if asked.is_set():
            signal.default_int_handler(number, frame)
        asked.set()
        print(
            "\nomtl: stopping after the units under way; press again to stop now", file=sys.stderr
        )

    is_main = threading.current_thread() is threading.main_thread()
    in_charge = is_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if in_charge:
        signal.signal(signal.SIGINT, note)
    try:
        yield asked
    finally:
        if in_charge:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _answers(
    left: dict[str, Unit], store: Store, parallel: ParallelSpec, stop: threading.Event
) -> Generator[tuple[dict[str, Result | Failure], float | None], None, None]:
    """Yield workers' answers and the time left; if a worker dies, another one computes its units.

    Raises
    ------
    UserError
        If workers die again and again, or the engine is unavailable.
    """
    # What computes is imported when it does: stored units do without.
    from omtl.compute.batches import Batches, compute_batch, this_process
    from omtl.compute.workers import open_workers

    attempts = 0

    def wanted(batch: list[Unit]) -> list[Unit]:
        """Return the units that no other run has stored meanwhile; none after Ctrl-C."""
        found = store.results_of(batch)
        return [unit for unit in batch if unit.key not in found and not stop.is_set()]

    while left and not stop.is_set():
        workers = open_workers(parallel, len(left))
        batches = Batches(list(left.values()), workers, wanted)
        tasks = (partial(compute_batch, units, this_process(), parallel) for units in batches)
        try:
            with closing(workers.returned_by(tasks)) as answers:
                for ends in answers:
                    attempts = 0
                    for key, end in ends.items():
                        seconds = end.facts["seconds"] if isinstance(end, Result) else 0.0
                        batches.note(left.pop(key), seconds)
                    yield ends, batches.seconds_left
            return
        except UserError:
            raise
        except Exception as fault:  # `compute_unit` catches those of units: this is the engine's
            attempts += 1
            cause = f"{type(fault).__name__}: {' '.join(str(fault).split())[:200]}"
            if attempts == ATTEMPTS:
                raise UserError(
                    f"workers of {parallel.backend} died {attempts} times without "
                    f"finishing a unit in between ({cause}); give them more memory or fewer jobs, "
                    "then run the same command again: finished units are kept"
                ) from fault
            print(f"omtl: a worker died ({cause}); its units are reassigned", file=sys.stderr)


@lru_cache(None)
def _say_once(note: str) -> None:
    print(f"omtl: {note}", file=sys.stderr)


def _seconds(
    found: Mapping[str, Result], units: Mapping[str, Unit], hashes: dict[tuple[Any, ...], str]
) -> dict[str, float]:
    """Return how long units with a result took, by key, and note the hashes of their data.

    Raises
    ------
    UserError
        If units of one draw of a data set had different rows. Kinds of CPU are told apart, because
        the last bits of scaled rows may depend on them.
    """
    for key, result in found.items():
        unit = units[key]
        draw = (unit.seed, unit.draw) if unit.dataset.is_synthetic else ()
        data = (repr(unit.dataset), draw, result.facts["host"].get("cpu"))
        if hashes.setdefault(data, here := result.facts["data_sha256"]) != here:
            raise UserError(
                f"dataset {unit.dataset.name}: load of {unit.dataset.loaded_by} did not return the "
                "same rows for all units, which cannot be compared; let it draw by its argument "
                "rng only (SYNTHETIC = True) and read only what FILES lists, then run again"
            )
    return {key: result.facts["seconds"] for key, result in found.items()}


News = Callable[[KeysView[str]], str]
"""Of the keys of stored units, a line on what they have settled, or nothing."""


def run_units(
    units: Sequence[Unit],
    store: Store,
    parallel: ParallelSpec,
    quiet: bool = False,
    news: News | None = None,
) -> Outcome:
    """Compute the units that are missing from the store.

    Parameters
    ----------
    units : sequence of Unit
        The required units; a unit requested twice is computed once.
    store : Store
        The store of results.
    parallel : ParallelSpec
    quiet : bool
        Whether to show no progress bar.
    news : callable, optional
        What else to tell beside the progress.

    Raises
    ------
    WriteError
        If a result cannot be stored; earlier ones are.
    UserError
        If the engine is unavailable, or its workers die again and again.
    """
    wanted = {unit.key: unit for unit in units}
    outcome = Outcome()
    hashes: dict[tuple[Any, ...], str] = {}
    outcome.seconds = seconds = _seconds(store.results_of(wanted.values()), wanted, hashes)
    outcome.reused = len(seconds)
    left = {key: unit for key, unit in wanted.items() if key not in seconds}
    if is_dry():
        each = fmean(seconds.values()) if seconds else None
        raise DryRunPlan(len(wanted), len(left), each, parallel.n_jobs)
    if not left:
        return outcome
    from omtl.compute.batches import one_thread
    from omtl.experiment.loading import data_notes, forget_faults

    forget_faults()
    played: dict[str, list[Unit]] = defaultdict(list)
    for unit in left.values():
        played[unit.dataset.name].append(unit)
    for units_of_set in played.values():
        algorithms = {unit.algorithm.name: unit.algorithm for unit in units_of_set}
        for note in data_notes(units_of_set[-1].dataset, algorithms.values()):
            _say_once(note)
    with (
        Progress(len(left), quiet, news=news and partial(news, seconds.keys())) as bar,
        asked_to_stop() as stop,
        one_thread(),
        closing(_answers(left, store, parallel, stop)) as answers,
    ):
        for ends, seconds_left in answers:
            found = {key: end for key, end in ends.items() if isinstance(end, Result)}
            store.add([StoredRow.of(wanted[key], result) for key, result in found.items()])
            outcome.computed += len(found)
            seconds |= _seconds(found, wanted, hashes)
            outcome.failed |= {key: end for key, end in ends.items() if isinstance(end, Failure)}
            for key in ends:
                bar.done(wanted[key].name, seconds_left)
        if stop.is_set():
            raise KeyboardInterrupt
    # Another run has stored these meanwhile.
    seconds |= _seconds(store.results_of(left.values()), left, hashes)
    outcome.reused = len(seconds) - outcome.computed
    return outcome
