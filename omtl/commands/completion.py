"""``omtl completion``: print a shell's completion script."""

from __future__ import annotations

import argparse
from typing import Any

HELP = "print a shell script that completes commands, options and names"
EXAMPLES = (
    'completion bash > "$HOME/.omtl_completion"',
    'completion zsh > "${fpath[1]}/_omtl"',
)
SHELLS = ("bash", "zsh", "tcsh")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the shell."""
    command.add_argument("shell", choices=SHELLS)


def known_names() -> dict[str, list[str]]:
    """Return the names that each argument accepts."""
    from data_fetchers import names
    from omtl.experiment.composition import GROUPS
    from omtl.experiment.config import options
    from omtl.tables.plan import descriptions

    tables = list(descriptions("table"))
    return {
        "table": tables,
        "figure": list(descriptions("figure")),
        "what": [*tables, *descriptions("figure")],
        "names": list(names()),
        "selection": options("selection"),
        "parallel": options("parallel"),
        "search": options("search"),
        "overrides": [f"{group}={name}" for group in GROUPS for name in options(group)],
    }


def run(options: argparse.Namespace) -> None:
    """Print the shell's completion script for the current commands and names."""
    import shtab

    from omtl.commands._main import parser

    known = known_names()
    whole = parser()
    for action in _arguments(whole):
        if action.choices is None and action.dest in known:
            action.choices = known[action.dest]
    print(shtab.complete(whole, shell=options.shell))


def _arguments(parser: argparse.ArgumentParser) -> list[Any]:
    """Return the arguments of all commands."""
    found: list[Any] = []
    for action in parser._actions:
        children: dict[str, Any] | None = getattr(action, "choices", None)
        if isinstance(action, argparse._SubParsersAction) and children:
            for child in children.values():
                found += child._actions
    return found
