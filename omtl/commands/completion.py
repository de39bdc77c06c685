"""``omtl completion``: print a shell's completion script."""

from __future__ import annotations

import argparse

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
    from data_fetchers import data_set_names
    from omtl.experiment.composition import GROUPS
    from omtl.experiment.config import options
    from omtl.tables.plan import descriptions

    tables = list(descriptions("table"))
    return {
        "table": tables,
        "figure": list(descriptions("figure")),
        "what": [*tables, *descriptions("figure")],
        "names": list(data_set_names()),
        "selection": options("selection"),
        "parallel": options("parallel"),
        "search": options("search"),
        "overrides": [f"{group}={name}" for group in GROUPS for name in options(group)],
    }


def run(options: argparse.Namespace) -> None:
    """Print the shell's completion script for the current commands and names."""
    import shtab

    from omtl.commands._main import parser

    known, whole = known_names(), parser()
    *_, commands = whole._actions
    for command in dict(commands.choices or {}).values():
        for action in command._actions:
            if action.choices is None and action.dest in known:
                action.choices = known[action.dest]
    print(shtab.complete(whole, shell=options.shell))
