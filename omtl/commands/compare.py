"""``omtl compare``: compare a learner with baselines on the same streams, with tests."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omtl.commands._grid import print_rows
from omtl.commands._options import add_flags, names_in, print_json, tell_written
from omtl.util.screen import say

if TYPE_CHECKING:
    from omtl.evidence.many_data_sets import Study
    from omtl.evidence.one_data_set import Compared, Row
    from omtl.experiment.composition import ComposedRun

HELP = "compare a learner with every baseline, with intervals and tests"
EXAMPLES = (
    "compare algorithm=my_learner dataset=landmine",
    "compare algorithm=coml dataset=my_data --only pa,pm repeats=20",
    "compare algorithm=my_learner dataset=landmine,spam,sentiment --to paper/",
    "compare algorithm=my_learner dataset=landmine --with rom_rda_rates --json",
)

COLOURS = {"better": "green", "worse": "red", "undecided": "", "": "bold"}


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options that choose what to compare, and on which data."""
    command.add_argument(
        "overrides",
        nargs="+",
        metavar="NAME=VALUE",
        help="the learner and the data, as for omtl run",
    )
    command.add_argument("--with", dest="more", metavar="NAMES", help="add these algorithms: a,b")
    command.add_argument("--only", metavar="NAMES", help="compare with these algorithms only: a,b")
    command.add_argument(
        "--metric",
        default="error",
        help="default: error, with selection=prefix; auc uses selection=cv5",
    )
    command.add_argument(
        "--to",
        type=Path,
        metavar="FOLDER",
        help="also write CSV, LaTeX, learning curves and ranks to this folder",
    )
    add_flags(command, "dry-run", "json")


def run(options: argparse.Namespace) -> None:
    """Compute missing units and print the learner among the others, best first."""
    from omtl.compute.dry_run import Planned
    from omtl.evidence.many_data_sets import study_of, write
    from omtl.reproduction.frames import compare_as_asked

    only, more = names_in(options.only), names_in(options.more)
    played = []
    for overrides in _by_data_set(options.overrides):
        try:
            played.append(compare_as_asked(overrides, options.metric, only, more))
        except Planned as plan:
            say(f"{overrides[-1]}: {plan.summary()}")
    if not played:
        return
    study = study_of(played)
    if options.json:
        printed = [
            _of_all(found, each) | {"rows": [_as_data(found, row) for row in found.rows]}
            for found, each in played
        ]
        print_json(printed if len(printed) > 1 else printed[0])
    elif len(study.on) > 1:
        _print_study(study)
    else:
        _print_one(study.first, study.config)
    if options.to is not None:
        paths = write(study, options.to)
        if not options.json:
            tell_written(paths)


def _by_data_set(overrides: list[str]) -> list[list[str]]:
    """Return the overrides for each of several data sets."""
    given = next((word for word in overrides if word.startswith("dataset=")), "")
    names = names_in(given.partition("=")[2])
    if len(names) < 2:
        return [overrides]
    rest = [word for word in overrides if word != given]
    return [[*rest, f"dataset={name}"] for name in dict.fromkeys(names)]


def _heading(config: ComposedRun) -> str:
    from omtl.tables.layout import plural

    return (
        f"protocol {config.protocol.name}, "
        f"{plural(config.repeats, 'repeat')}, seed {config.seed}, "
        f"selection {config.selection.name}, reading {config.reading.name}"
    )


def _print_one(found: Compared, config: ComposedRun) -> None:
    """Print the learner among the others on one data set."""
    heads = ["", f"{found.metric.name} {found.metric.unit}".strip(), "95 % interval"]
    heads += [f"{found.mine.label} − it", "95 % interval ", "p (Holm)", f"{found.mine.label} is"]
    say(f"{config.dataset.label}: {_heading(config)}")
    print_rows(
        heads,
        [_as_text(found, row) for row in found.rows],
        right=heads[1:-1],
        spare=["95 % interval ", "95 % interval", "p (Holm)"],
        colours=[COLOURS[found.outcome(row)] if row.values.size else "dim" for row in found.rows],
    )
    for note in found.notes():
        say(note)


def _print_study(study: Study) -> None:
    """Print one column per data set, with ranks, and wins, ties and losses."""
    from omtl.evidence.many_data_sets import spread

    metric, mine = study.first.metric, study.first.mine.algorithm
    say(f"{metric.name} {metric.unit}".strip() + f": {_heading(study.config)}")
    heads = ["", *study.on, *(["rank"] if study.ranking else []), "win/tie/loss"]
    rows = study.lines(lambda _, row: spread(row) if row.values.size else "none")
    colours = ["bold" if name == mine else "" for name in study.algorithms]
    print_rows(heads, rows, right=heads[1:], colours=colours)
    for data, found in study.on.items():
        for row in found.rows:
            if row.why:
                say(f"{row.label} on {data}: {row.why}")
    for note in study.notes():
        say(note)


def _as_text(found: Compared, row: Row) -> list[str]:
    if not row.values.size:
        return [row.label, row.why, *[""] * 5]
    cells = [row.label, f"{row.mean:.4g}", _interval(*row.interval)]
    if row.against is None:
        return [*cells, *[""] * 4]
    apart = [f"{row.against.mean:+.3g}", _interval(*row.against.interval)]
    return [*cells, *apart, f"{row.p:.2g}", found.outcome(row)]


def _interval(low: float, high: float) -> str:
    if not math.isfinite(high - low):  # a single repeat
        return "none"
    return f"[{low:.4g}, {high:.4g}]"


def _of_all(found: Compared, config: ComposedRun) -> dict[str, Any]:
    """Return the fields that all rows share."""
    from importlib.metadata import version

    groups = ("dataset", "protocol", "selection", "reading")
    return {
        "version": version("omtl"),
        **{group: getattr(config, group).name for group in groups},
        "seed": config.seed,
        "repeats": config.repeats,
        "metric": found.metric.name,
        "unit": found.metric.unit,
        "lower_is_better": found.metric.lower_is_better,
        "learner": found.mine.algorithm,
        "notes": found.notes(),
    }


def _as_data(found: Compared, row: Row) -> dict[str, Any]:
    """Return a row; all rows have the same keys, with null for missing values."""

    def finite(low: float, high: float) -> list[float] | None:
        return [low, high] if math.isfinite(high - low) else None

    against = row.against
    return {
        "algorithm": row.algorithm,
        "label": row.label,
        "values": row.values.tolist(),
        "mean": row.mean,
        "interval": finite(*row.interval),
        "params": row.params,
        "difference": None if against is None else against.mean,
        "difference_interval": None if against is None else finite(*against.interval),
        "p_holm": row.p,
        "outcome": found.outcome(row) or None,
        "why": row.why or None,
    }
