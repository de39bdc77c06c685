"""The command line: thin commands over the harness."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

from omtl.errors import UserError

WRONG_USE = 2
FAILED = 1
INTERRUPTED = 130


def wanted_of(options: argparse.Namespace, reading: str | None = None) -> Any:
    """Return how the options want a table or figure."""
    from omtl.config import load_option, resolve_jobs
    from omtl.harness.reproduce import Wanted

    return Wanted(
        reading=reading or options.reading,
        repeats=options.repeats,
        seed=options.seed,
        selection=options.selection,
        parallel=resolve_jobs(load_option("parallel", options.parallel), options.jobs),
    )


def table_command(options: argparse.Namespace) -> int:
    """Compute what a table lacks, print it beside the published one, write its files."""
    from rich.console import Console

    from omtl.harness.reproduce import reproduce_table
    from omtl.harness.store import Store

    done = reproduce_table(options.table, wanted_of(options), Store.default(), Console())
    print("written: " + " ".join(_shown(path) for path in done.paths))
    return FAILED if done.broken else 0


def make_one_figure(name: str, wanted: Any, store: Any) -> Any:
    """Compute what a figure lacks, draw it, write its files."""
    from omtl.config import named_reading
    from omtl.harness.figure import make_figure
    from omtl.harness.plan import describe
    from omtl.harness.report import folder_for

    description = describe("figure", name)
    return make_figure(
        name,
        named_reading(description["paper"], wanted.reading),
        store=store,
        parallel=wanted.parallel,
        seed=wanted.seed,
        n_repeats=wanted.repeats or description["repeats"],
        selection=wanted.selection or description["selection"],
        folder=folder_for(wanted.is_full(description), "figures"),
    )


def figure_command(options: argparse.Namespace) -> int:
    """Compute what a figure lacks, draw it, write its files."""
    from omtl.harness.store import Store

    made = make_one_figure(options.figure, wanted_of(options), Store.default())
    print("written: " + " ".join(_shown(path) for path in made.paths))
    return FAILED if made.broken else 0


def make_one_statistics(name: str, wanted: Any, store: Any) -> list[Any]:
    """Write the statistics of a table or figure from the store; return the paths."""
    from omtl.config import named_reading
    from omtl.harness.plan import describe, descriptions
    from omtl.harness.statistics import make_statistics
    from omtl.paths import RESULTS

    description = describe("figure" if name in descriptions("figure") else "table", name)
    full = wanted.is_full(description)
    return make_statistics(
        name,
        named_reading(description["paper"], wanted.reading),
        store=store,
        parallel=wanted.parallel,
        seed=wanted.seed,
        n_repeats=wanted.repeats,
        selection=wanted.selection,
        folder=RESULTS / "statistics" if full else RESULTS / "partial" / "statistics",
    )


def statistics_command(options: argparse.Namespace) -> int:
    """Test the claims of a table or figure, corrected for being many; rank its algorithms."""
    from omtl.harness.store import Store

    paths = make_one_statistics(options.table, wanted_of(options), Store.default())
    print("written: " + " ".join(_shown(path) for path in paths))
    return 0


def claims_command(options: argparse.Namespace) -> int:  # noqa: ARG001
    """Write the ledger of all claims, and the audit of the theorems, from the files of results."""
    from omtl.files import write_whole
    from omtl.harness.ledger import READINGS, claims_ledger, theory_audit
    from omtl.paths import RESULTS

    ledger, audit = claims_ledger(), theory_audit()
    for name, rows in (("claims", ledger), ("theory", audit)):
        write_whole(RESULTS / f"{name}.csv", rows.to_csv(index=False, lineterminator="\n"))
    for reading in READINGS:
        for kind in (reading, f"{reading}_corrected"):
            counts = ledger[kind].replace("", "not tested").value_counts().sort_index()
            told = ", ".join(f"{outcome} {n}" for outcome, n in counts.items())
            print(f"{len(ledger)} claims, {kind.replace('_', ' ')}: {told}")
    print(f"{len(audit)} bounds beside what was measured")
    print(f"written: {_shown(RESULTS / 'claims.csv')} {_shown(RESULTS / 'theory.csv')}")
    return 0


def verify_command(options: argparse.Namespace) -> int:
    """Play cells drawn at random from nothing, and demand the bits that are stored."""
    from omtl.harness.store import Store
    from omtl.harness.verify import DIFFERENT, append, check, drawn, signed_off
    from omtl.paths import RESULTS

    checks = []
    for row in drawn(RESULTS, options.cells, options.seed, options.table):
        done = check(row, Store.default(), options.seed)
        checks.append(done)
        print(f"{done.result}: {done}")
    append(RESULTS / "verify.csv", signed_off(checks, options.seed))
    print(f"written: {_shown(RESULTS / 'verify.csv')}")
    different = sum(done.result == DIFFERENT for done in checks)
    if different:
        print(
            f"omtl: {different} of {len(checks)} cells differ from the store: the stored results "
            "are damaged, or this machine or its packages compute other bits",
            file=sys.stderr,
        )
    return FAILED if different else 0


def reproduce_command(options: argparse.Namespace) -> int:
    """Reproduce all tables, as written and as published, and all figures; sum up.

    What fails is told in the summary; the rest goes on.
    """
    from rich.console import Console

    from omtl.harness.plan import describe, descriptions
    from omtl.harness.reproduce import reproduce_table
    from omtl.harness.store import Store
    from omtl.harness.summary import Summary

    store, console, summary = Store.default(), Console(), Summary()

    def attempt(what: str, job: Callable[..., Any], *arguments: Any) -> Any:
        try:
            done = job(*arguments)
        except UserError as fault:
            fault_told = str(fault)
        except Exception as fault:  # the fault of one must leave the others alone
            fault_told = f"{type(fault).__name__}: {fault}"
        else:
            if getattr(done, "broken", False):
                summary.failures.append(f"{what}: units failed, as its notes tell")
            return done
        summary.failures.append(f"{what}: {fault_told}")
        print(f"omtl: {what}: {fault_told}", file=sys.stderr)
        return None

    def test(name: str, wanted: Any) -> None:
        what = f"statistics of {name}, {wanted.reading}"
        attempt(what, make_one_statistics, name, wanted, store)

    for name in descriptions("table"):
        for reading in ("as_written", "as_published"):
            wanted = wanted_of(options, reading)
            account = summary.of(describe("table", name)["paper"], reading)
            what = f"{name}, {reading}"
            done = attempt(what, reproduce_table, name, wanted, store, console)
            if done is None:
                continue
            account.verdicts.update(scored.verdict for scored in done.scored)
            account.claims.update(done.claims["outcome"])
            if any(scored.values.size for scored in done.scored):
                test(name, wanted)
    for name in descriptions("figure"):
        wanted = wanted_of(options)
        account = summary.of(describe("figure", name)["paper"], wanted.reading)
        account.figures += 1
        made = attempt(name, make_one_figure, name, wanted, store)
        if made is None:
            continue
        account.drawn += 1
        account.claims.update(made.claims["outcome"])
        if len(made.claims):
            test(name, wanted)
    attempt("claims", claims_command, options)
    print(summary)
    return FAILED if summary.failures else 0


def readings_command(options: argparse.Namespace) -> int:
    """Search a table's readings and write the record and the best one's config."""
    import yaml

    from omtl.config import load_option, resolve_jobs
    from omtl.files import write_whole
    from omtl.harness.plan import describe
    from omtl.harness.readings import answers_of_other_tables, search
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
    answers |= answers_of_other_tables(paper, options.table)
    found = yaml.safe_dump(
        {"name": "as_published", "paper": paper, "answers": answers}, sort_keys=False
    )
    head = (
        "# @package reading\n"
        "# Found by `make readings` on the paper's tables; every reading that was tried is in\n"
        f"# results/readings/{paper}-*.csv.\n"
    )
    write_whole(config, head + found)
    print(f"written: {_shown(csv)} {_shown(config)}")
    return 0


def search_command(options: argparse.Namespace) -> int:
    """Tell what searching its large grids would cost a table whose grids are played in full."""
    from omtl.config import load_option, named_reading
    from omtl.harness.plan import describe, plan_table
    from omtl.harness.report import folder_for, write_rows
    from omtl.harness.search import cost_of
    from omtl.harness.store import Store

    wanted = wanted_of(options)
    paper = describe("table", options.table)["paper"]
    table = plan_table(options.table, named_reading(paper, wanted.reading))
    if any(cell.search for cell in table.cells):
        raise UserError(f"{options.table} is searched itself; name a table played in full")
    rows = cost_of(
        table,
        load_option("search", options.search),
        Store.default(),
        wanted.parallel,
        wanted.seed,
        wanted.repeats or table.description["repeats"],
        wanted.selection or table.description["selection"],
    )
    folder = folder_for(wanted.is_full(table.description), "search")
    path = folder / f"{options.table}.csv"
    write_rows(path, rows)
    print(rows.iloc[:, :9].to_string(index=False))
    print(f"written: {_shown(path)}")
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
    figure = add("figure", figure_command, "reproduce a figure")
    figure.add_argument("figure", metavar="FIGURE")
    add_run_options(figure)
    every = add("reproduce", reproduce_command, "reproduce every table and figure")
    add_run_options(every)
    statistics = add("statistics", statistics_command, "test the claims of a table, rank its rows")
    statistics.add_argument("table", metavar="TABLE")
    add_run_options(statistics)
    add("claims", claims_command, "write the ledger of all claims and the audit of the theorems")
    verify = add("verify", verify_command, "play random cells again, demand the stored bits")
    verify.add_argument("--cells", type=positive, default=3, help="how many; default: 3")
    verify.add_argument("--seed", type=int, default=0, help="of the draw; default: 0")
    verify.add_argument("--table", help="draw of this table's cells; default: of all tables'")
    readings = add("readings", readings_command, "search the readings of a table")
    readings.add_argument("table", metavar="TABLE")
    add_run_options(readings)
    search = add("search", search_command, "tell what searching large grids costs a table")
    search.add_argument("table", metavar="TABLE")
    search.add_argument("--search", default="halving", help="a name in conf/search")
    add_run_options(search)
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
