"""The command line: a parser built from the commands' files."""

from __future__ import annotations

import argparse
import io
import os
import re
import shlex
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, NoReturn

import omtl.commands
from omtl.commands._options import flag
from omtl.util import user_folder
from omtl.util.ending import DONE, FAILED, WRONG_USE, ended
from omtl.util.errors import UserError, choose, did_you_mean
from omtl.util.user_errors import debug

PROGRAM = "omtl"

GROUPS = ("check a paper", "test my method", "look behind the numbers", "manage")
"""What people come for; each command says in which of these it belongs."""

EXTRAS = {
    "report": ("jinja2", "markdown_it"),
    "engines": ("dask", "distributed", "ray"),
    "river": ("river",),
    "tables": ("pyarrow",),
}
"""The extra of the package that installs a module; ``harness`` installs all others."""

DEBUG = flag("debug", "show the traceback of an error")

SHELLS = ("bash", "zsh", "tcsh")


class Parser(argparse.ArgumentParser):
    """A parser that reports a mistake in one line, and lists commands by what they are for.

    It parses one command line. `package` has the commands, unless it is of a single one.
    """

    package: ModuleType | None = None
    given: frozenset[str] = frozenset()

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and where to read more, and exit."""
        self.exit(WRONG_USE, f"{self.prog}: {message}; see {self.prog} --help\n")

    def format_help(self) -> str:
        """Return the help, with commands in their groups."""
        if self.package is None:
            return super().format_help()
        above = getattr(self.package, "GROUP", "")
        lines = [f"usage: {self.prog} COMMAND ...", "", str(self.description)]
        for group in GROUPS:
            found = command_modules(self.package).items()
            named = [(name, one) for name, one in found if group == getattr(one, "GROUP", above)]
            if named:
                lines += ["", f"{group}:"]
                lines += [f"  {name:12}{what_it_does(one)}" for name, one in named]
        more = f"\n`{self.prog} COMMAND --help` shows options and examples"
        if self.prog == PROGRAM:
            more += f"; `{PROGRAM} --version` the version"
            more += f"; `{PROGRAM} --completion {{{','.join(SHELLS)}}}` a shell's completion script"
        return "\n".join([*lines, f"{more}."]) + "\n"

    def _get_values(self, action: argparse.Action, arg_strings: Any) -> Any:
        """Refuse an option that was given before: argparse would take the last one silently."""
        if action.option_strings and action.dest in self.given:
            raise argparse.ArgumentError(action, "given twice; give it once")
        self.given |= {action.dest}
        return super()._get_values(action, arg_strings)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Report a wrong choice like wrong names elsewhere, in every version of Python."""
        if action.choices is None or value in action.choices:
            return
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


class Completion(argparse.Action):
    """Prints a shell's script that completes commands, options and names."""

    def __call__(self, parser: Any, _: Any, shell: Any, *__: Any) -> NoReturn:
        """Print the script and exit."""
        import shtab

        from omtl.api.papers import known_names

        user_folder.find()
        known, waiting = known_names(), [parser]
        while waiting:
            for action in waiting.pop()._actions:
                if isinstance(action, argparse._SubParsersAction):
                    waiting += action.choices.values()
                elif action.choices is None and action.dest in known:
                    action.choices = known[action.dest]
        print(shtab.complete(parser, shell=shell))
        raise SystemExit(DONE)


def command_modules(package: ModuleType) -> dict[str, ModuleType]:
    """Return the modules of a package's commands by name, sorted."""
    names = sorted(found.name for found in iter_modules(package.__path__))
    return {
        name: import_module(f"{package.__name__}.{name}")
        for name in names
        if not name.startswith("_")
    }


def what_it_does(module: ModuleType) -> str:
    """Return what a command does: the first sentence of its module, without capital and stop."""
    about = str(module.__doc__).partition("\n")[0]
    return about[0].lower() + about[1:].removesuffix(".")


def examples_in(module: ModuleType) -> list[str]:
    """Return the command lines in the section *Examples* of a command's docstring."""
    return str(module.__doc__).partition("--------\n")[2].splitlines()


def descriptions_in(doc: str) -> dict[str, str]:
    """Return what the section *Parameters* of a docstring says of each, by name."""
    found = re.findall(r"^( *)(\w+)\n((?:\1 +.*\n?)+)", doc, re.MULTILINE)
    return {name: " ".join(text.split()) for _, name, text in found}


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    top = Parser(
        prog=PROGRAM,
        description="Reproduce papers on online multi-task learning, and compare your own method.",
        argument_default=argparse.SUPPRESS,
    )
    top.add_argument("--version", action=Version, nargs=0, help="show the version and exit")
    top.add_argument(
        "--completion", action=Completion, choices=SHELLS, help="print a shell's completion script"
    )
    _add_commands(top, omtl.commands)
    return top


def _add_commands(above: Parser, package: ModuleType) -> None:
    above.package = package
    commands = above.add_subparsers(required=True, metavar="COMMAND", parser_class=Parser)
    for name, module in command_modules(package).items():
        about = str(module.__doc__).partition("\n")[0]
        command = commands.add_parser(name, help=what_it_does(module), description=about)
        if not hasattr(module, "run"):
            _add_commands(command, module)
            continue
        command.epilog = "\n  ".join(["examples:", *examples_in(module)])
        command.formatter_class = argparse.RawDescriptionHelpFormatter
        described = descriptions_in(str(module.run.__doc__))
        for names, settings in (*getattr(module, "OPTIONS", ()), DEBUG):
            action = command.add_argument(*names, **settings)
            action.help = action.help or described[action.dest]
        command.set_defaults(run=module.run, parser=command)


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the options of a command line; if it is wrong, exit with a message."""
    options, rest = parser().parse_known_args(arguments)
    if rest and (not hasattr(options, "overrides") or any(w.startswith("-") for w in rest)):
        flags = re.findall(r"--[\w-]+", options.parser.format_usage())
        hint = did_you_mean(rest[0].partition("=")[0], flags)
        options.parser.error(f"unknown arguments: {shlex.join(rest)}{hint}")
    elif rest:  # overrides after an option
        options.overrides += rest
    for word in getattr(options, "overrides", ()):
        if "=" not in word and not word.startswith("~"):
            options.parser.error(f"{word!r} is no NAME=VALUE, such as algorithm=coml")
    return options


def _planned(run: Callable[..., bool | None], given: dict[str, Any]) -> bool | None:
    """Run a command that only plans; print what it would compute."""
    from omtl.compute.progress import DryRunPlan
    from omtl.util.screen import say

    try:
        return run(**given)
    except DryRunPlan as plan:
        table, seconds = given.get("table", ""), None
        if table:
            from omtl.tables.published_results import seconds_per_unit

            seconds = seconds_per_unit(table)
        named = table or given.get("figure", "")
        say(f"{named}: {plan.summary(seconds)}".removeprefix(": "))
        return False


def entry() -> int:
    """Run the command of this process, which exits with the returned status."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # as on standard error, if it has no such letter
        sys.stdout.reconfigure(errors="backslashreplace")
    return main(exits=True)


def main(arguments: Sequence[str] | None = None, exits: bool = False) -> int:
    """Run a command; return its exit status.

    Parameters
    ----------
    arguments : sequence of str, optional
        The words; by default those of this process.
    exits : bool
        Whether the process exits with it.
    """

    def command() -> int:
        # Units run in parallel; BLAS threads would compete for the same cores.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        given = vars(parse_options(arguments))
        run, words = given.pop("run"), given.pop("parser").prog
        if given.pop("debug"):
            debug()
        user_folder.find()
        is_dry = given.pop("dry_run", False)
        if is_dry:
            os.environ["OMTL_DRY_RUN"] = "1"
        try:
            failed = _planned(run, given) if is_dry else run(**given)
            return FAILED if failed else DONE
        except ModuleNotFoundError as fault:
            lacking = str(fault.name)
            if lacking.startswith("omtl"):
                raise
            extra = next((extra for extra, names in EXTRAS.items() if lacking in names), "harness")
            raise UserError(
                f"{words} needs {lacking}, which is not installed: pip install 'omtl[{extra}]'"
            ) from fault

    return ended(command, exits)
