"""Records of runs: the composed config and the results, as a file and as rows of a table."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from omtl.compute.engine import run_units
from omtl.compute.store import Store
from omtl.evidence.compared_learners import curves_of, seen_by_all
from omtl.experiment.composition import ComposedRun, as_typed, overrides_in
from omtl.experiment.selection import select
from omtl.experiment.specs import network_label
from omtl.experiment.unit import Result
from omtl.measures.metrics import METRICS
from omtl.tables.layout import with_spread
from omtl.tables.scoring import diverged_in, measured_by, numbers_at, why_unmeasured
from omtl.tables.verdict import std_of
from omtl.util.errors import UserError, choose
from omtl.util.files import write_whole
from omtl.util.result_files import as_csv, as_parquet, strict_json, write_all
from omtl.util.screen import plural

FILE = "result.json"
"""The name of a record in the folder of its run."""

DIGITS = {"auc": 4, "nsv": 1}
"""Digits of a metric that are shown; two of the others."""

GROUPS = ("algorithm", "dataset", "protocol", "network", "reading", "selection")

SAME = {"ace": "error", "wrong": "error", "mistakes": "error", "right": "accuracy"}
"""Metrics that repeat another one in other units or, for ace, often enough."""


def distinct(metrics: Iterable[str]) -> list[str]:
    """Return metrics without those that repeat another one in other units."""
    names = list(metrics)
    return [name for name in names if SAME.get(name) not in names]


def play_run(composed: ComposedRun) -> dict[str, Any]:
    """Run an experiment and return its record.

    Parameters
    ----------
    composed : ComposedRun

    Returns
    -------
    dict
        ``config``; ``metrics`` with the unit and the number of each repeat; ``params``, the
        hyper-parameters that were chosen in each repeat; ``diverged``, in how many repeats the
        learner did; ``curves``, the error rate (%) after so many examples, mean and deviation over
        the repeats, where the protocol has checkpoints; ``returns``, the number that a sweeper
        gets.

    Raises
    ------
    UserError
        If the config does not make an experiment, or a repeat failed.
    """
    experiment, wanted = composed.experiment, composed.metric
    if wanted is not None:
        choose("metric", str(wanted), list(METRICS))
    protocol = experiment.protocol
    metrics = {name: metric for name, metric in METRICS.items() if not metric.timing}
    if (measured := measured_by(protocol)) is not None:
        refuse_unmeasured(protocol.name, [one for one in measured if one in metrics], wanted)
    store = Store.default()
    units = experiment.repeats(composed.seed, composed.repeats)
    outcome = run_units(units, store, composed.parallel)
    if outcome.failed:
        raise UserError(next(iter(outcome.failed.values())).reason)
    results = store.stored(units)
    rule = composed.selection
    chosen = select(results, experiment.points, rule)
    values = {
        name: numbers_at(results, chosen, name, rule)
        for name, metric in metrics.items()
        if not why_unmeasured(metric, results[0], rule)
    }
    refuse_unmeasured(protocol.name, list(values), wanted)
    return {
        "config": composed.as_mapping(),
        "metrics": {
            name: {"unit": METRICS[name].unit, "values": each.tolist()}
            for name, each in values.items()
        },
        "params": [experiment.points[int(point)] for point in chosen],
        "diverged": sum(diverged_in(results, chosen)),
        "curves": _mean_curve(results, curves_of(results, chosen, rule)),
        "returns": float(values[wanted or next(iter(values))].mean()),
        **({"pulled": pulled} if (pulled := store.note_on(units)) else {}),
    }


def refuse_unmeasured(protocol: str, measured: Sequence[str], wanted: str | None) -> None:
    """Refuse a protocol that leaves no number of the wanted metric, or of any for None.

    Raises
    ------
    UserError
    """
    if not measured:
        raise UserError(
            f"protocol {protocol} measures nothing that is a single number; "
            "see the figures of its paper"
        )
    if wanted is not None and wanted not in measured:
        raise UserError(
            f"protocol {protocol} does not measure {wanted}; "
            f"it measures {', '.join(distinct(measured))}"
        )


def _mean_curve(results: Sequence[Result], curves: np.ndarray) -> dict[str, list[float]]:
    """Return the mean of the repeats' curves with its deviation; nothing without checkpoints."""
    if curves.shape[1] < 2:
        return {}
    std = curves.std(axis=0, ddof=1) if len(curves) > 1 else np.zeros(curves.shape[1])
    return {
        "examples": seen_by_all(results).tolist(),
        "mean": curves.mean(axis=0).tolist(),
        "std": std.tolist(),
    }


def line(record: Mapping[str, Any]) -> str:
    """Return a record as a line of text."""
    config, params = record["config"], record["params"]
    network = ""
    if config["algorithm"]["networked"]:
        network = f" on {network_label(config['network'])}"
    numbers = []
    for name in distinct(record["metrics"]):
        metric = record["metrics"][name]
        if record["diverged"]:
            repeats = plural(len(params), "repeat")
            numbers.append(f"{name} diverged in {record['diverged']} of {repeats}")
        else:
            values = np.array(metric["values"], float)
            unit = metric["unit"] if metric["unit"] in ("", "%") else f" {metric['unit']}"
            numbers.append(f"{name} {shown(name, values.mean(), std_of(values))}{unit}")
    point = params[0] if all(each == params[0] for each in params) else "by repeat"
    return (
        f"{config['algorithm']['label']}{network}, {config['dataset']['label']}: "
        f"{', '.join(numbers)} "
        f"({plural(len(params), 'repeat')}, reading {config['reading']['name']}, "
        f"{config['selection']['rule']}: {point})"
        f"{'; ' * ('pulled' in record)}{record.get('pulled', '')}"
    )


def shown(name: str, mean: Any, std: Any) -> str:
    """Return a metric's mean and standard deviation with its digits."""
    return with_spread(mean, std, DIGITS.get(name, 2))


def write_record(record: Mapping[str, Any], folder: Path) -> Path:
    """Write a record into the folder of its run; return its path."""
    path = folder / FILE
    write_whole(path, strict_json(record) + "\n")
    return path


def collect(folder: Path) -> dict[str, dict[str, Any]]:
    """Return the records below a folder by the run's folder, in the order of their numbers.

    Raises
    ------
    UserError
        If one cannot be read.
    """
    found = {}
    for path in sorted(folder.rglob(FILE), key=_by_number):
        try:
            record = json.loads(path.read_text(encoding="utf-8"))
            record_rows({"": record})  # which reads all of it
            found[path.parent.relative_to(folder).as_posix()] = record
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as fault:
            raise UserError(f"{path} is not a record of a run: {fault}") from fault
    return found


def _by_number(path: Path) -> list[tuple[int, str]]:
    return [(int(part or 0), text) for text, part in re.findall(r"(\D+|^)(\d*)", path.as_posix())]


def record_rows(records: Mapping[str, Mapping[str, Any]], by_repeat: bool = False) -> pd.DataFrame:
    """Return records as a table.

    Its columns are the run, what it was composed of, the values that were typed for any of the
    runs, the number of repeats and in how many of them the learner diverged, the mean and standard
    deviation of each metric, the hyper-parameters, and why a run failed. A run whose learner
    diverged has no numbers.

    Parameters
    ----------
    records : mapping of str to mapping
        Records by the name of their run.
    by_repeat : bool
        Whether each repeat has a row, with its number of each metric.
    """
    typed = {name: _typed(record["overrides"]) for name, record in records.items()}
    names = list(dict.fromkeys([*GROUPS, "seed", *chain(*typed.values())]))
    rows: list[dict[str, Any]] = []
    for run_name, record in records.items():
        config = record.get("config", {})
        about = {key: typed[run_name].get(key, _at(config, key)) for key in names}
        rows += _numbers(record, {"run": run_name} | about, by_repeat)
    table = pd.DataFrame(rows)
    for column in names:
        if table[column].map(type).nunique() > 1 and not _numeric(table[column]):
            table[column] = table[column].map(lambda value: None if pd.isna(value) else str(value))
    for column in {"repeat", "n_repeats", "diverged"} & set(table):
        table[column] = table[column].astype("Int64")
    last = [column for column in ("params", "failed") if column in table]
    return table[[*(column for column in table if column not in last), *last]]


def _numbers(
    record: Mapping[str, Any], about: dict[str, Any], by_repeat: bool
) -> Iterable[dict[str, Any]]:
    """Yield the rows of one record."""
    if "failed" in record:
        yield about | {"failed": record["failed"]}
        return
    params, metrics = record["params"], record["metrics"]
    values = {name: np.array(metric["values"], float) for name, metric in metrics.items()}
    if by_repeat:
        for number, point in enumerate(params):
            each = {name: float(array[number]) for name, array in values.items()}
            yield about | {"repeat": number} | each | {"params": strict_json(point, indent=None)}
        return
    row = about | {"n_repeats": len(params), "diverged": record["diverged"]}
    lost = bool(record["diverged"])
    for name, array in values.items():
        row[name] = np.nan if lost else float(array.mean())
        row[f"{name}_std"] = np.nan if lost else std_of(array)
    same = all(point == params[0] for point in params)
    yield row | {"params": strict_json(params[0] if same else params, indent=None)}


def _numeric(column: pd.Series) -> bool:
    return all(value is None or type(value) in (int, float) for value in column)


def _typed(overrides: Iterable[str]) -> dict[str, Any]:
    """Return what overrides set, by the name that users type: ``algorithm.eta``."""
    return {
        as_typed(each): _as_cell(each.value())
        for each in overrides_in(list(overrides))
        if not each.is_delete()
    }


def _as_cell(value: Any) -> Any:
    """Return the only value of a list; other lists and mappings as text; what else there is."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return str(value) if isinstance(value, list | dict) else value


def _at(config: Any, key: str) -> Any:
    """Return what a run was composed of where nothing was typed; None where there is no such."""
    if key == "network" and not config.get("algorithm", {}).get("networked"):
        return None
    if key in GROUPS:
        return config.get(key, {}).get("name")
    steps = key.split(".")
    value = config
    if steps[0] == "algorithm" and len(steps) == 2:
        algorithm = config.get("algorithm", {"fixed": {}, "grid": {}})
        value = {"algorithm": algorithm | algorithm["fixed"] | algorithm["grid"]}
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return _as_cell(value)


def write_record_table(table: pd.DataFrame, stem: Path) -> list[Path]:
    """Write a table as CSV and, with pyarrow, as Parquet; return the paths."""
    texts: dict[str, str | bytes] = {"csv": as_csv(table), **as_parquet(parquet=table)}
    return write_all(stem.parent, {f"{stem.name}.{form}": text for form, text in texts.items()})
