"""The command line: thin commands over the harness."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

from omtl.errors import UserError

WRONG_USE = 2
FAILED = 1
INTERRUPTED = 130


def table_command(options: argparse.Namespace) -> int:
    """Compute what a table lacks, print it beside the published one, write its files."""
    from rich.console import Console

    from omtl.config import load_option, named_reading, resolve_jobs
    from omtl.harness import fanout, plan, report
    from omtl.harness.claims import ledger
    from omtl.harness.layout import lay_out
    from omtl.harness.render import show
    from omtl.harness.store import Store
    from omtl.harness.table import frame, score_table

    description = plan.describe("table", options.table)
    table = plan.plan_table(options.table, named_reading(description["paper"], options.reading))
    n_repeats = options.repeats or description["repeats"]
    selection = options.selection or description["selection"]
    parallel = resolve_jobs(load_option("parallel", options.parallel), options.jobs)
    store = Store.default()
    started = time.perf_counter()
    outcome = fanout.run(table.units(options.seed, n_repeats), store, parallel)
    scored = score_table(table, store, options.seed, n_repeats, outcome.failed, selection)
    layout = lay_out(table, scored, selection, options.seed, n_repeats)
    show(layout, Console())
    facts = {
        "repeats": n_repeats,
        "seed": options.seed,
        "selection": selection,
        "seconds": round(time.perf_counter() - started, 3),
        "units_computed": outcome.computed,
        "units_reused": outcome.reused,
        "parallel": parallel,
    }
    full = n_repeats == description["repeats"] and options.seed == 0
    claims = ledger(description["paper"], table.id, options.reading, scored)
    for claim in claims.to_dict("records"):
        print(f"claim {claim['outcome']}: {claim['says']} ({claim['place']})")
    paths = report.write_table(
        table,
        frame(table, scored, selection),
        scored,
        layout,
        claims,
        facts,
        report.folder_for(full),
    )
    print("written: " + " ".join(_shown(path) for path in paths))
    return FAILED if any(not failure.missing_data for failure in outcome.failed.values()) else 0


def readings_command(options: argparse.Namespace) -> int:
    """Search a table's readings and write the record and the best one's config."""
    import yaml

    from omtl.config import load_option, resolve_jobs
    from omtl.files import write_whole
    from omtl.harness.plan import describe
    from omtl.harness.readings import search
    from omtl.harness.store import Store
    from omtl.paths import CONF, RESULTS

    paper = describe("table", options.table)["paper"]
    parallel = resolve_jobs(load_option("parallel", options.parallel), options.jobs)
    answers, record = search(
        options.table, Store.default(), parallel, options.seed, options.repeats or 5, print
    )
    csv = RESULTS / "readings" / f"{options.table}.csv"
    write_whole(csv, record.to_csv(index=False, lineterminator="\n"))
    config = CONF / "reading" / paper / "as_published.yaml"
    found = yaml.safe_dump(
        {"name": "as_published", "paper": paper, "answers": answers}, sort_keys=False
    )
    head = (
        "# @package reading\n"
        f"# Found by `make readings TABLE={options.table}`; every reading that was tried is in\n"
        f"# results/readings/{options.table}.csv.\n"
    )
    write_whole(config, head + found)
    print(f"written: {_shown(csv)} {_shown(config)}")
    return 0


def _shown(path: Any) -> str:
    from omtl.paths import ROOT

    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def positive(text: str) -> int:
    """Return a positive whole number."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(
        prog="python -m omtl",
        description="The reproduction harness for online multi-task learning.",
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(name: str, run: Any, text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(run=run)
        return command

    def add_run_options(command: argparse.ArgumentParser) -> None:
        command.add_argument("--reading", default="as_published", help="default: as_published")
        command.add_argument("--repeats", type=positive, help="default: as many as published")
        command.add_argument("--jobs", type=positive, help="default: one a core")
        command.add_argument("--seed", type=int, default=0, help="default: 0")
        command.add_argument("--selection", help="default: the table's own")
        command.add_argument("--parallel", default="threads", help="a name in conf/parallel")

    table = add("table", table_command, "reproduce a table and compare it with the published one")
    table.add_argument("table", metavar="TABLE")
    add_run_options(table)
    readings = add("readings", readings_command, "search the readings of a table")
    readings.add_argument("table", metavar="TABLE")
    add_run_options(readings)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit status."""
    options = parser().parse_args(arguments)
    try:
        return options.run(options)
    except UserError as fault:
        print(f"omtl: {fault}", file=sys.stderr)
        return WRONG_USE
    except KeyboardInterrupt:
        print(
            "\nomtl: stopped; finished units are kept, the same command goes on from there",
            file=sys.stderr,
        )
        return INTERRUPTED
