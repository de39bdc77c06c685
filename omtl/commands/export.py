"""``omtl export``: write tables, figures and data sets in formats that other programs read."""

from __future__ import annotations

import argparse
from pathlib import Path

from omtl.commands._options import (
    REQUEST,
    add_flags,
    add_request_options,
    given_request,
    refuse_ignored,
    tell_written,
)

GROUP = "manage"
HELP = "write tables, figures, data sets, records of runs and citations in standard formats"
EXAMPLES = (
    "export dom-table1 --to paper",
    "export dom-fig2",
    "export landmine --to data",
    "export .omtl/sweeps --by-repeat --to runs",
    "export dom-table1 dom-fig2 --to paper --ro-crate",
    "export --bibtex algorithm=coml dataset=landmine",
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add what to write, and where."""
    command.add_argument(
        "what",
        nargs="+",
        metavar="WHAT",
        help="tables, figures, data sets, folders with records of runs; with --bibtex, overrides",
    )
    command.add_argument(
        "--to", type=Path, default=Path(), help="the folder to write to; default: the current one"
    )
    add_flags(
        command,
        bibtex="only print the citations for a run with these overrides (as for omtl run)",
        by_repeat="of records of runs, write one row per repeat instead of one per run",
        ro_crate="also write ro-crate-metadata.json, which describes each file",
    )
    add_request_options(command)
    add_flags(command, "one-draw")


def run(options: argparse.Namespace) -> None:
    """Write files from the store, the published results or records, or print citations."""
    from omtl.api import exports

    if options.bibtex:
        why = "--bibtex only prints citations"
        refuse_ignored(
            options, add_options, why, "to", "ro_crate", "by_repeat", *REQUEST, "one_draw"
        )
        print(exports.citations(options.what), end="")
        return
    if exports.are_data(options.what):
        why = "a data set is exported as its config has it"
        refuse_ignored(options, add_options, why, *REQUEST, "one_draw")
    given = given_request(options)
    for said, paths in exports.export(
        options.what, options.to, by_repeat=options.by_repeat, ro_crate=options.ro_crate, **given
    ):
        print(said)
        tell_written(paths)
