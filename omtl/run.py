"""One experiment by Hydra: ``python -m omtl.run algorithm=dom1 dataset=random_walk network=ring``.

With ``-m`` it is a sweep: ``python -m omtl.run -m algorithm=coml,dom1 network=full,grid,ring``.
Hydra composes the experiment; its repeats are units of the store like those of a table, so an
experiment that was run before is answered from there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import hydra
from omegaconf import DictConfig

from omtl.compute.parallel_jobs import run
from omtl.compute.store import Store
from omtl.experiment.composition import FAULTS, experiment_of, mistake, parsed, plain, spelt_out
from omtl.experiment.config import resolve_jobs
from omtl.experiment.selection import select
from omtl.measures.metrics import METRICS
from omtl.tables.layout import plural, spread
from omtl.tables.plan import Cell
from omtl.tables.scoring import values_of
from omtl.util.errors import UserError
from omtl.util.files import cannot_write
from omtl.util.paths import CONF, kept
from omtl.util.signals import ended
from omtl.util.user_folder import refuse_missing

DIGITS = {"auc": 4, "nsv": 1}
"""Digits of a metric that are shown; two of the others."""


def answer(config: dict[str, Any]) -> str:
    """Run an experiment and return its result as a line of text.

    Raises
    ------
    UserError
        If the config does not make an experiment, or a repeat failed.
    """
    experiment = experiment_of(config)
    store = Store.default()
    units = experiment.repeats(config["seed"], config["repeats"])
    outcome = run(units, store, resolve_jobs(config["parallel"]))
    if outcome.failed:
        raise UserError(next(iter(outcome.failed.values())).reason)
    results = [result for unit in units if (result := store.load(unit)) is not None]
    rule = config["selection"]
    chosen = select(results, experiment.points, rule)
    diverged = sum(bool(r.arrays["diverged"][p]) for r, p in zip(results, chosen, strict=True))
    numbers = []
    for metric in METRICS.values():
        if metric.timing or not set(metric.needs) <= results[0].arrays.keys():
            continue
        cell = Cell("", "", "all", metric.name, "", "", experiment)
        values, _ = values_of(cell, results, rule)
        if diverged:
            numbers.append(
                f"{metric.name} diverged in {diverged} of {plural(len(results), 'repeat')}"
            )
            continue
        std = values.std(ddof=1) if values.size > 1 else ""
        shown = spread(values.mean(), std, DIGITS.get(metric.name, 2))
        numbers.append(f"{metric.name} {shown} {metric.unit}".strip())
    if not numbers:
        raise UserError(
            f"protocol {experiment.protocol['name']} measures nothing that is one number; "
            "see the figures of its paper"
        )
    point = experiment.points[int(chosen[0])] if len(set(chosen.tolist())) == 1 else "by repeat"
    network = ""
    if experiment.network:
        given = experiment.network["edges"] is not None
        network = f" on {'the given network' if given else experiment.network['name']}"
    return (
        f"{experiment.algorithm['label']}{network}, {experiment.dataset['label']}: "
        f"{', '.join(numbers)} "
        f"({plural(len(results), 'repeat')}, reading {config['reading']['name']}, "
        f"{config['selection']['rule']}: {point})"
    )


@hydra.main(config_path=str(CONF), config_name="config", version_base="1.3")
def _composed(config: DictConfig) -> None:
    """Run the experiment that Hydra has composed; a sweep comes here for each of its jobs."""

    def told() -> int:
        print(answer(plain(config)))
        return 0

    status = ended(told)
    if status:
        sys.exit(status)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what overrides compose, one experiment or a sweep of them; return the exit status.

    Parameters
    ----------
    arguments : sequence of str, optional
        Hydra's; else the process's own.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # so that faults come here, to be told briefly

    def handed_over() -> int:
        nonlocal given
        refuse_missing()
        given = spelt_out(given)
        sys.argv = ["omtl run", *given]
        try:  # where Hydra is to write
            (kept() / "hydra").mkdir(parents=True, exist_ok=True)
        except OSError as fault:
            raise cannot_write(kept() / "hydra", fault) from fault
        parsed([w for w in given if w.startswith("~") or ("=" in w and not w.startswith("-"))])
        try:
            _composed()
        except FAULTS as fault:
            raise mistake(fault) from fault
        return 0

    return ended(handed_over)


if __name__ == "__main__":
    sys.exit(main())
