"""``omtl export``: write tables, figures and data sets in formats that other programs read."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from omtl.commands._options import (
    REQUEST,
    add_flags,
    add_request_options,
    refuse_ignored,
    request_of,
    tell_written,
)

if TYPE_CHECKING:
    from omtl.tables.request import Request

HELP = "write tables, figures, data sets, raw repeats and citations in standard formats"
EXAMPLES = (
    "export dom-table1 --to paper",
    "export dom-fig2",
    "export landmine --to data",
    "export dom-table1 dom-fig2 --to paper --ro-crate",
    "export --bibtex algorithm=coml dataset=landmine",
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add what to write, and where."""
    command.add_argument(
        "what",
        nargs="+",
        metavar="WHAT",
        help="tables, figures and data sets; with --bibtex, overrides",
    )
    command.add_argument(
        "--to", type=Path, default=Path(), help="the folder to write to; default: the current one"
    )
    add_flags(
        command,
        bibtex="only print the citations for a run with these overrides (as for omtl run)",
        ro_crate="also write ro-crate-metadata.json, which describes each file",
    )
    add_request_options(command)
    add_flags(command, "one-draw")


def run(options: argparse.Namespace) -> None:
    """Write files from the store or the kept results, or print a run's citations."""
    if options.bibtex:
        why = "--bibtex only prints citations"
        refuse_ignored(options, add_options, why, "to", "ro_crate", *REQUEST, "one_draw")
        from omtl.experiment.composition import composed
        from omtl.reproduction.citations import bibtex

        config = composed(options.what)
        paper = config.reading.paper
        papers = [paper] if paper else []
        print(bibtex([config.algorithm], [config.dataset], papers), end="")
        return
    from omtl.datasets import names
    from omtl.reproduction.export import export
    from omtl.reproduction.ro_crate import write_crate

    if set(options.what) <= {*names()}:
        why = "a data set is exported as its config has it"
        refuse_ignored(options, add_options, why, *REQUEST, "one_draw")
    request = request_of(options)
    exported = {}
    for name in options.what:
        done = export(name, request, options.to)
        print(done)
        tell_written(done.paths)
        exported[str(done)] = done.paths
    if options.ro_crate:
        tell_written([write_crate(options.to, exported, command_of(options.what, request))])


def command_of(what: list[str], request: Request) -> str:
    """Return the command line that exports the same again."""
    given = {"repeats": request.repeats, "seed": request.seed, "selection": request.selection}
    words = ["omtl", "export", *what, "--reading", request.reading]
    for option, value in given.items():
        words += [f"--{option}", str(value)] if value else []
    return shlex.join([*words, *(["--one-draw"] if request.one_draw else [])])
