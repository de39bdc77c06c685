"""Computing units in parallel, each stored as it ends."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import joblib
from tqdm import tqdm

from data_fetchers.fetch import DataMissing
from omtl.errors import UserError
from omtl.harness.store import Store
from omtl.harness.unit import Unit, compute


@dataclass(frozen=True)
class Failure:
    """Why a unit has no result; `missing_data` where its data set cannot be had."""

    reason: str
    missing_data: bool = False


@dataclass
class Outcome:
    """What became of the units that were asked for.

    Parameters
    ----------
    computed, reused : int
        How many were computed now, and how many were in the store.
    failed : dict of str to Failure
        By the key of each unit that failed, why.
    """

    computed: int = 0
    reused: int = 0
    failed: dict[str, Failure] = field(default_factory=dict)


def why_lacking(units: Sequence[Unit], n_stored: int, failed: Mapping[str, Failure]) -> str:
    """Return why not all of these units are stored: the first one's failure, or how many are."""
    reasons = [failed[unit.key].reason for unit in units if unit.key in failed]
    return reasons[0] if reasons else f"{n_stored} of {len(units)} repeats are stored"


def worker(unit: Unit, store: Store) -> tuple[Unit, Failure | None]:
    """Compute and store a unit; return it with the reason if it failed."""
    try:
        store.save(unit, compute(unit))
    except UserError as fault:
        return unit, Failure(str(fault), missing_data=isinstance(fault, DataMissing))
    except Exception as fault:  # any fault of one unit must leave the others alone
        return unit, Failure(f"{unit.name}: {type(fault).__name__}: {fault}")
    return unit, None


def run(
    units: Sequence[Unit], store: Store, parallel: Mapping[str, Any], quiet: bool = False
) -> Outcome:
    """Compute the units that the store lacks.

    Parameters
    ----------
    units : sequence of Unit
        What is needed; a unit that is asked for twice is computed once.
    store : Store
        Where results are and go.
    parallel : mapping
        ``backend`` and ``jobs`` of joblib (``jobs`` −1 for all cores).
    quiet : bool
        Whether to show no progress bar.
    """
    wanted = list({unit.key: unit for unit in units}.values())
    missing = [unit for unit in wanted if not store.has(unit)]
    outcome = Outcome(reused=len(wanted) - len(missing))
    if not missing:
        return outcome
    jobs = min(joblib.effective_n_jobs(int(parallel["jobs"])), len(missing))
    pool = joblib.Parallel(
        n_jobs=jobs, backend=parallel["backend"], return_as="generator_unordered"
    )
    done = pool(joblib.delayed(worker)(unit, store) for unit in missing)
    with tqdm(
        total=len(missing), unit="unit", disable=quiet or None, file=sys.stderr, smoothing=0.05
    ) as bar:
        for unit, fault in done:
            bar.set_postfix_str(unit.name, refresh=False)
            bar.update()
            if fault is None:
                outcome.computed += 1
            else:
                outcome.failed[unit.key] = fault
    return outcome
