"""The command line: a parser made of the commands' files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pkgutil import iter_modules

import omtl.commands
from omtl.commands._status import INTERRUPTED, WRONG_USE
from omtl.errors import UserError

PROGRAM = "omtl"


def command_names() -> list[str]:
    """Return the names of all commands."""
    names = (module.name for module in iter_modules(omtl.commands.__path__))
    return sorted(name for name in names if not name.startswith("_"))


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = argparse.ArgumentParser(
        prog=PROGRAM, description="The reproduction harness for online multi-task learning."
    )
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
        command.set_defaults(run=module.run)
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
