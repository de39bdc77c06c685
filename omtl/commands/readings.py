"""``omtl readings``: search the answers to a paper's open questions."""

from __future__ import annotations

import argparse

from omtl.commands._options import (
    PARALLEL,
    add_flags,
    add_parallel_options,
    natural,
    parallel_of,
    positive,
    refuse_ignored,
    tell_written,
)
from omtl.experiment.naming import LITERAL, READINGS

HELP = "search a paper's open questions; write the readings as_read and as_published"
EXAMPLES = (
    "readings dom-table1",
    "readings aklo-table1 --draws 40",
    "readings dom-table1 --repeats 2",
    "readings dom-table1 --luck",
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the table and how to search."""
    command.add_argument("table", metavar="TABLE")
    command.add_argument(
        "--draws",
        type=natural,
        default=0,
        help="number of random readings to try in addition; default: 0",
    )
    command.add_argument(
        "--begin",
        default=LITERAL,
        metavar="READING",
        help="the reading to start from; default: the literal one",
    )
    command.add_argument(
        "--only",
        choices=tuple(reading for reading, taken in READINGS.items() if taken),
        help="search for this reading only; default: both",
    )
    add_flags(
        command,
        keep="also keep the answers of a search with fewer repeats or another seed; by default its "
        "record goes to results/partial and the readings stay unchanged",
        page="only rewrite the page of the recorded search",
        luck="only measure how much of the recorded search is luck",
    )
    command.add_argument("--repeats", type=positive, help="per trial; default: 5")
    command.add_argument("--seed", type=natural, default=0, help="default: 0")
    add_parallel_options(command)


def run(options: argparse.Namespace) -> None:
    """Search a table's readings; write the record, and the best answers as readings."""
    from omtl.reproduction import search_readings
    from omtl.tables.placebo_test import write_placebo_test
    from omtl.tables.request import Request

    if options.page or options.luck:
        ignored = ["draws", "begin", "only", "keep", "repeats", *PARALLEL]
        ignored += [] if options.luck else ["seed"]
        refuse_ignored(options, add_options, "--page and --luck search nothing", *ignored)
        pages = search_readings.write_page(options.table) if options.page else []
        pages += [write_placebo_test(options.table, options.seed)] if options.luck else []
        tell_written(pages)
        return
    n_repeats = options.repeats or search_readings.REPEATS
    full = options.keep or (n_repeats >= search_readings.REPEATS and options.seed == 0)
    if full:
        search_readings.readings_folder(options.table)  # refused before anything is played
    found = search_readings.search(
        options.table,
        Request(options.begin, n_repeats, options.seed, None, parallel_of(options)),
        print,
        options.draws,
        [options.only] if options.only else search_readings.SEARCHES,
    )
    for reading, answers in found.answers.items():
        print(f"{reading}: {answers}")
    paths = search_readings.write_record(options.table, found, full)
    if full:
        paths += search_readings.write_answers(options.table, found, options.seed)
    else:
        print(
            "the paper's readings stay unchanged: "
            f"only a search with {search_readings.REPEATS} repeats and seed 0 changes them"
        )
    tell_written(paths)
