"""The command line: a parser built from the commands' files."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, NoReturn

import omtl.commands
from omtl.util import user_folder
from omtl.util.errors import UserError
from omtl.util.raised import debug
from omtl.util.signals import ended
from omtl.util.status import DONE, WRONG_USE
from omtl.util.user_folder import refuse_missing

PROGRAM = "omtl"

EXTRAS = {
    "report": ("jinja2", "markdown_it"),
    "engines": ("dask", "distributed", "ray"),
    "river": ("river",),
}
"""The extra of the package that installs a module; ``harness`` installs all others."""


class Parser(argparse.ArgumentParser):
    """A parser that reports a mistake in one line."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and where to read more, and exit."""
        self.exit(WRONG_USE, f"{self.prog}: {message}; see {self.prog} --help\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Report a wrong choice like wrong names elsewhere, in every version of Python."""
        if action.choices is None or value in action.choices:
            return
        from omtl.experiment.schema import choose

        try:
            choose(str(action.metavar or action.dest).lower(), str(value), list(action.choices))
        except UserError as fault:
            raise argparse.ArgumentError(None, str(fault)) from fault


class Version(argparse.Action):
    """Prints the version, which is looked up only on demand."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> NoReturn:
        """Print the version and exit."""
        from importlib.metadata import version

        print(f"{PROGRAM} {version(PROGRAM)}")
        parser.exit()


def command_names() -> list[str]:
    """Return the names of all commands."""
    names = (module.name for module in iter_modules(omtl.commands.__path__))
    return sorted(name for name in names if not name.startswith("_"))


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = Parser(
        prog=PROGRAM, description="The reproduction harness for online multi-task learning."
    )
    top.add_argument("--version", action=Version, nargs=0, help="show the version and exit")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name in command_names():
        module = import_module(f"omtl.commands.{name}")
        examples = [f"  {PROGRAM} {example}" for example in module.EXAMPLES]
        command = commands.add_parser(
            name,
            help=module.HELP,
            description=f"{module.HELP[0].upper()}{module.HELP[1:]}.",
            epilog="\n".join(["examples:", *examples]),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_options(command)
        command.add_argument("--debug", action="store_true", help="show the traceback of an error")
        command.set_defaults(run=module.run)
    return top


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options of a command line; if it is wrong, exit with a message."""
    options, rest = parser().parse_known_args(arguments)
    if rest and (not hasattr(options, "overrides") or any(w.startswith("-") for w in rest)):
        Parser(prog=f"{PROGRAM} {options.command}").error(f"unknown arguments: {' '.join(rest)}")
    elif rest:  # overrides after an option
        options.overrides += rest
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit status."""

    def command() -> int:
        # Units run in parallel; BLAS threads would compete for the same cores.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        user_folder.find()
        options = parse(arguments)
        if options.debug:
            debug()
        if getattr(options, "dry_run", False):
            os.environ["OMTL_DRY_RUN"] = "1"
        refuse_missing()
        try:
            return options.run(options) or DONE
        except ModuleNotFoundError as fault:
            lacking = str(fault.name)
            if lacking.startswith("omtl"):
                raise
            extra = next((extra for extra, names in EXTRAS.items() if lacking in names), "harness")
            raise UserError(
                f"omtl {options.command} needs {lacking}, which is not installed: "
                f"pip install 'omtl[{extra}]'"
            ) from fault

    return ended(command)
