"""``omtl audit readings``: search the answers to a paper's open questions."""

from __future__ import annotations

import argparse

from omtl.commands._options import (
    PARALLEL,
    add_flags,
    add_parallel_options,
    given_parallel,
    natural,
    positive,
    refuse_ignored,
    tell_written,
)

GROUP = "look behind the numbers"
HELP = "search a paper's open questions; write the readings as_read and as_published"
EXAMPLES = (
    "audit readings dom-table1",
    "audit readings aklo-table1 --draws 40",
    "audit readings dom-table1 --repeats 2",
    "audit readings dom-table1 --placebo-test",
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the table and how to search."""
    from omtl.experiment.descriptions import BLIND, LITERAL, READINGS

    command.add_argument("table", metavar="TABLE", help="id of the table")
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
        choices=(*(reading for reading, taken in READINGS.items() if taken), BLIND),
        help="search for this reading only; default: as_read and as_published",
    )
    add_flags(
        command,
        keep="also keep the answers of a search with fewer repeats or another seed; by default its "
        "record goes to results/partial and the readings stay unchanged",
        page="only rewrite the page of the recorded search",
        placebo_test="only repeat the recorded search on placebos",
    )
    command.add_argument("--repeats", type=positive, help="per trial; default: 5")
    command.add_argument(
        "--seed", type=natural, default=0, help="seed of shuffles and draws; default: 0"
    )
    add_parallel_options(command)


def run(options: argparse.Namespace) -> None:
    """Search a table's readings; write the record, and the best answers as readings."""
    from omtl.api import audits

    if options.page or options.placebo_test:
        ignored = ["draws", "begin", "only", "keep", "repeats", *PARALLEL]
        ignored += [] if options.placebo_test else ["seed"]
        refuse_ignored(options, add_options, "--page and --placebo-test search nothing", *ignored)
        pages = audits.search_pages(options.table, options.page, options.placebo_test, options.seed)
        tell_written(pages)
        return
    asked = ("draws", "begin", "only", "keep", "repeats", "seed")
    given = {name: getattr(options, name) for name in asked} | given_parallel(options)
    tell_written(audits.search_readings(options.table, **given))
