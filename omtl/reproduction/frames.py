"""The commands `run`, `table` and `compare` as functions that return data frames."""

from __future__ import annotations

import io
from collections.abc import Sequence
from itertools import product

import pandas as pd

from omtl.compute.store import Store
from omtl.evidence.one_data_set import Compared, baselines, compared, default_selection
from omtl.experiment.composition import ComposedRun, composed, parsed, spelt_out
from omtl.experiment.config import load_option, resolve_jobs
from omtl.experiment.naming import CLOSEST
from omtl.experiment.schema import choose
from omtl.experiment.specs import SelectionSpec
from omtl.measures.metrics import METRICS
from omtl.reproduction.record import frame, play
from omtl.tables.cells import planned
from omtl.tables.play import play as play_table
from omtl.tables.request import Request
from omtl.tables.scoring import scored
from omtl.tables.writing import as_rows
from omtl.util import user_folder
from omtl.util.errors import UserError


def run(*overrides: str, by_repeat: bool = False) -> pd.DataFrame:
    """Run an experiment or a sweep, like ``omtl run``.

    Parameters
    ----------
    *overrides : str
        As on the command line: ``"algorithm=dom1,coml"``, ``"repeats=5"``. Lists of values are
        swept, the last one fastest.
    by_repeat : bool
        Whether to return one row per repeat.

    Returns
    -------
    DataFrame
        One row per run: its options, the mean and standard deviation of each metric
        (``error``, ``error_std``, ...), the hyper-parameters. A run that failed has a row with the
        reason in ``failed``.

    Raises
    ------
    UserError
        If an override is wrong, or all runs failed.
    """
    user_folder.find()
    words = spelt_out(overrides)
    choices = [
        [f"{each.get_key_element()}={value}" for value in each.sweep_string_iterator()]
        if each.is_sweep_override()
        else [str(each.input_line)]
        for each in parsed(words)
    ]
    records = {}
    for number, chosen in enumerate(product(*choices)):
        config = composed(chosen)
        try:
            record = play(config)
        except UserError as fault:
            record = {"config": config.as_mapping(), "failed": str(fault)}
        records[str(number)] = {**record, "overrides": list(chosen)}
    failed = [record["failed"] for record in records.values() if "failed" in record]
    if len(failed) == len(records):
        raise UserError(failed[0])
    return frame(records, by_repeat)


def table(
    name: str,
    reading: str = CLOSEST,
    repeats: int | None = None,
    seed: int = 0,
    selection: str | None = None,
) -> pd.DataFrame:
    """Reproduce a table of a paper, like ``omtl table``, without writing files.

    Parameters
    ----------
    name : str
        The table's id, such as ``"dom-table1"``.
    reading : str
        A standard one (`omtl.experiment.naming.READINGS`), by default the one closest to the
        published numbers, or another reading of the paper.
    repeats : int, optional
        The number of the paper's repeats, for each of which some tables play several; as many as
        published by default.
    seed : int
    selection : str, optional
        A selection rule; the table's own by default.

    Returns
    -------
    DataFrame
        One row per cell: the published number, ours, the verdict.

    Raises
    ------
    UserError
        If there is no such table, reading or rule.
    """
    user_folder.find()
    if selection is not None:
        SelectionSpec.named(selection)
    parallel = resolve_jobs(load_option("parallel", "threads"))
    request = Request(reading, repeats, seed, selection, parallel, Store.default())
    cells = planned(name, request)
    outcome = play_table(cells, request)
    text = as_rows(scored(cells, request.store, outcome.failed)).to_csv(index=False)
    return pd.read_csv(io.StringIO(text))  # cells are text; reading them again restores their types


def compare(
    *overrides: str, metric: str = "error", only: Sequence[str] = (), more: Sequence[str] = ()
) -> pd.DataFrame:
    """Compare a learner with the baselines on the same streams, like ``omtl compare``.

    Parameters
    ----------
    *overrides : str
        The learner and the data, as on the command line.
    metric : str
        ``"error"``, or another metric that the protocol measures.
    only, more : sequence of str
        Algorithms instead of the baselines, and in addition to them.

    Returns
    -------
    DataFrame
        One row per learner, best first: its mean with a 95 % interval, the difference between your
        learner and this one with its interval, the p value (Holm) and the outcome.

    Raises
    ------
    UserError
        If an override is wrong, or the learner cannot be played.
    """
    user_folder.find()
    found, _ = compare_as_asked(overrides, metric, only, more)
    difference = ("difference", "difference_low", "difference_high", "p_holm", "significance")
    shown = ["algorithm", "label", "mean", "low", "high", *difference, "why"]
    return found.frame()[shown].rename(columns={"significance": "outcome"})


def compare_as_asked(
    overrides: Sequence[str], metric: str, only: Sequence[str], more: Sequence[str]
) -> tuple[Compared, ComposedRun]:
    """Return a comparison, and its composed config.

    Raises
    ------
    UserError
        If an override is wrong, or the learner cannot be played.
    """
    choose("metric", metric, list(METRICS))
    words = list(overrides)
    if not any(word.startswith("selection=") for word in words):
        words.append(f"selection={default_selection(metric)}")
    config = composed(words)
    if config.metric is not None:
        raise UserError(f"metric={config.metric} is for omtl run; here use --metric NAME")
    known = load_option("comparison", "default")
    names = list(only) or baselines(config.protocol, known["algorithms"])
    others = [*names, *more]
    return compared(config, others, Store.default(), metric, known["tuned"]), config
