"""``omtl compare``: a learner beside the baselines on the same streams, with tests."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from omtl.commands._grid import print_rows
from omtl.commands._json import add_json_option, print_json
from omtl.util.status import DONE

if TYPE_CHECKING:
    from omtl.evidence.comparison import Compared, Row

HELP = "play a learner beside every baseline, with intervals and tests"
EXAMPLES = (
    "compare algorithm=my_learner dataset=landmine",
    "compare algorithm=coml dataset=my_data --only pa,pm repeats=20",
    "compare algorithm=my_learner dataset=landmine --with rom_rda_rates --json",
)

COLOURS = {"better": "green", "worse": "red", "undecided": "", "": "bold"}


def add_options(command: argparse.ArgumentParser) -> None:
    """Add what is compared, on what."""
    command.add_argument(
        "overrides", nargs="+", metavar="NAME=VALUE", help="as of omtl run: the learner, the data"
    )
    command.add_argument("--with", dest="more", metavar="NAMES", help="further algorithms: a,b")
    command.add_argument("--only", metavar="NAMES", help="these algorithms, not all baselines: a,b")
    command.add_argument(
        "--metric",
        default="error",
        help="default: error, with selection=prefix; auc comes with selection=cv5",
    )
    add_json_option(command)


def run(options: argparse.Namespace) -> int:
    """Compute what the store lacks, and print the learner beside the others, the best first."""
    from omtl.reproduction.frames import compare_as_asked
    from omtl.tables.layout import plural

    found, config = compare_as_asked(
        options.overrides, options.metric, _names(options.only), _names(options.more)
    )
    if options.json:
        print_json(_of_all(found, config) | {"rows": [_as_data(found, row) for row in found.rows]})
        return DONE
    heads = ["", f"{found.metric.name} {found.metric.unit}".strip(), "95 % interval"]
    heads += [f"{found.mine.label} − it", "95 % interval ", "p (Holm)", f"{found.mine.label} is"]
    print(
        f"{config['dataset']['label']}: protocol {config['protocol']['name']}, "
        f"{plural(config['repeats'], 'repeat')}, seed {config['seed']}, "
        f"selection {config['selection']['name']}, reading {config['reading']['name']}"
    )
    print_rows(
        heads,
        [_as_text(found, row) for row in found.rows],
        right=heads[1:-1],
        colours=[COLOURS[found.outcome(row)] if row.values.size else "dim" for row in found.rows],
    )
    for note in found.notes():
        print(note)
    return DONE


def _names(given: str | None) -> list[str]:
    return [name.strip() for name in given.split(",") if name.strip()] if given else []


def _as_text(found: Compared, row: Row) -> list[str]:
    if not row.values.size:
        return [row.label, row.why, *[""] * 5]
    told = [row.label, f"{row.mean:.4g}", _interval(row.low, row.high)]
    if row.against is None:
        return [*told, *[""] * 4]
    difference = float(row.against.differences.mean())
    apart = [f"{difference:+.3g}", _interval(row.against.low, row.against.high)]
    return [*told, *apart, f"{row.p:.2g}", found.outcome(row)]


def _interval(low: float, high: float) -> str:
    if not math.isfinite(high - low):  # of one repeat
        return "none"
    return f"[{low:.4g}, {high:.4g}]"


def _of_all(found: Compared, config: dict[str, Any]) -> dict[str, Any]:
    """Return what all rows have in common."""
    from importlib.metadata import version

    named = {
        group: config[group]["name"] for group in ("dataset", "protocol", "selection", "reading")
    }
    return {
        "version": version("omtl"),
        **named,
        "seed": config["seed"],
        "repeats": config["repeats"],
        "metric": found.metric.name,
        "unit": found.metric.unit,
        "lower_is_better": found.metric.lower_is_better,
        "learner": found.mine.algorithm,
        "notes": found.notes(),
    }


def _as_data(found: Compared, row: Row) -> dict[str, Any]:
    """Return a row; all have the same keys, with null for what there is not."""

    def finite(low: float, high: float) -> list[float] | None:
        return [low, high] if math.isfinite(high - low) else None

    against = row.against
    return {
        "algorithm": row.algorithm,
        "label": row.label,
        "values": row.values.tolist(),
        "mean": row.mean,
        "interval": finite(row.low, row.high),
        "params": row.params,
        "difference": None if against is None else float(against.differences.mean()),
        "difference_interval": None if against is None else finite(against.low, against.high),
        "p_holm": row.p,
        "outcome": found.outcome(row) or None,
        "why": row.why or None,
    }
