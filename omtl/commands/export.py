"""``omtl export``: a table or figure in all forms, with its raw repeats and what to cite."""

from __future__ import annotations

import argparse
from pathlib import Path

from omtl.commands._options import add_draw_option, add_run_options, request_of, tell_written
from omtl.util.status import DONE

HELP = "write a table or figure in all formats, its raw repeats, and what to cite"
EXAMPLES = (
    "export dom-table1 --to paper",
    "export dom-fig2",
    "export --bibtex algorithm=coml dataset=landmine",
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add what is written, and where."""
    command.add_argument(
        "what", nargs="+", metavar="WHAT", help="tables and figures; with --bibtex, overrides"
    )
    command.add_argument("--to", type=Path, default=Path(), help="the folder; default: this one")
    command.add_argument(
        "--bibtex",
        action="store_true",
        help="only print what to cite for a run with these overrides (as for omtl run)",
    )
    add_run_options(command)
    add_draw_option(command)


def run(options: argparse.Namespace) -> int:
    """Write files of the store or the kept results, or print what a run is to cite."""
    if options.bibtex:
        from omtl.experiment.citations import bibtex
        from omtl.experiment.composition import composed

        config = composed(options.what)
        paper = config["reading"]["paper"]
        papers = [paper] if paper else []
        print(bibtex([config["algorithm"]], [config["dataset"]], papers), end="")
        return DONE
    from omtl.reproduction.export import export

    request = request_of(options)
    for name in options.what:
        done = export(name, request, options.to)
        print(done)
        tell_written(done.paths)
    return DONE
