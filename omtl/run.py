"""One experiment by Hydra: ``python -m omtl.run algorithm=dom1 dataset=random_walk network=ring``.

With ``-m`` it is a sweep: ``python -m omtl.run -m algorithm=coml,dom1 network=full,grid,ring``.
Hydra composes the experiment; its repeats are units of the store like those of a table, so an
experiment that was run before is answered from there.
"""

from __future__ import annotations

import sys
from typing import Any

import hydra
from omegaconf import DictConfig, OmegaConf

from omtl.config import apply_reading, resolve_jobs
from omtl.errors import UserError
from omtl.harness.fanout import run
from omtl.harness.layout import spread
from omtl.harness.plan import Cell, Experiment
from omtl.harness.selection import select
from omtl.harness.store import Store
from omtl.harness.table import values_of
from omtl.metrics import METRICS
from omtl.paths import CONF

DIGITS = {"auc": 4, "nsv": 1}
"""Digits of a metric that are shown; two of the others."""


def experiment_of(config: dict[str, Any]) -> Experiment:
    """Return the experiment of a composed config, its reading's answers set."""
    groups = ["algorithm", "dataset", "protocol"]
    if config["algorithm"]["networked"]:
        groups.append("network")
    parts = apply_reading({group: config[group] for group in groups}, config["reading"])
    return Experiment(**({"network": None} | parts))


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
    numbers = []
    for metric in METRICS.values():
        if metric.timing or not set(metric.needs) <= results[0].arrays.keys():
            continue
        cell = Cell("", "", "all", metric.name, "", "", experiment)
        values, _ = values_of(cell, results, rule)
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
        f"({len(results)} repeats, reading {config['reading']['name']}, "
        f"{config['selection']['rule']}: {point})"
    )


@hydra.main(config_path=str(CONF), config_name="config", version_base="1.3")
def main(config: DictConfig) -> None:
    """Run the experiment that Hydra has composed."""
    try:
        plain = OmegaConf.to_container(config, resolve=True)
        assert isinstance(plain, dict)
        print(answer({str(key): value for key, value in plain.items()}))
    except UserError as fault:
        print(f"omtl: {fault}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("\nomtl: stopped; finished repeats are kept", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
