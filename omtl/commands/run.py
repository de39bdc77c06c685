"""``omtl run``: run one experiment, or a sweep of them, as Hydra composes it."""

from __future__ import annotations

import argparse

HELP = "run one experiment, or a sweep of them"
EXAMPLES = (
    "run algorithm=dom1 dataset=random_walk network=ring",
    "run algorithm=dom1 dataset=mhc reading=dom/as_published repeats=5",
    "run -m algorithm=coml,dom1 network=full,grid,ring",
    "run --cfg job algorithm=coml",
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add Hydra's overrides, and the two of its options that are needed here."""
    command.add_argument("-m", "--multirun", action="store_true", help="sweep over lists of values")
    command.add_argument(
        "--cfg",
        choices=("job", "hydra", "all"),
        help="print the config that is composed, in place of running it",
    )
    command.add_argument(
        "overrides",
        nargs="*",
        metavar="NAME=VALUE",
        help="a group's option (algorithm=coml) or any value of it (repeats=5)",
    )


def run(options: argparse.Namespace) -> int:
    """Hand the overrides to Hydra, and run what it composes."""
    from omtl.run import main

    switches = ["--multirun"] if options.multirun else []
    if options.cfg:
        switches += ["--cfg", options.cfg]
    return main([*switches, *options.overrides])
