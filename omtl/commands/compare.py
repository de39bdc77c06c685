"""``omtl compare``: a learner beside the baselines on the same streams, with tests."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING, Any

from omtl.commands._grid import print_rows
from omtl.commands._json import add_json_option, print_json
from omtl.status import DONE

if TYPE_CHECKING:
    from omtl.harness.comparison import Compared, Row

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
    command.add_argument("--metric", default="error", help="default: error")
    add_json_option(command)


def run(options: argparse.Namespace) -> int:
    """Compute what the store lacks, and print the learner beside the others, the best first."""
    from omtl.composition import composed
    from omtl.config import choose, load_option
    from omtl.harness.comparison import baselines, compared
    from omtl.harness.layout import plural
    from omtl.harness.plan import CONDITIONAL, ONE_DATA_SET
    from omtl.harness.store import Store
    from omtl.metrics import METRICS

    choose("metric", options.metric, list(METRICS))
    config = composed(options.overrides)
    known = load_option("comparison", "default")["algorithms"]
    names = _names(options.only) or baselines(config["protocol"], known)
    found = compared(config, [*names, *_names(options.more)], Store.default(), options.metric)
    if options.json:
        print_json([_as_data(found, row) for row in found.rows])
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
    if found.repeats_are_of == ONE_DATA_SET:
        print(CONDITIONAL)
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


def _as_data(found: Compared, row: Row) -> dict[str, Any]:
    told: dict[str, Any] = {
        "algorithm": row.algorithm,
        "label": row.label,
        "metric": found.metric.name,
        "values": row.values.tolist(),
        "mean": row.mean,
        "interval": [row.low, row.high],
        "params": row.params,
    }
    if row.against is not None:
        told["difference"] = float(row.against.differences.mean())
        told["difference_interval"] = [row.against.low, row.against.high]
        told |= {"p_holm": row.p, f"{found.mine.algorithm}_is": found.outcome(row)}
    return told | ({"why": row.why} if row.why else {})
