"""``omtl new``: create the files of a new learner, data set or paper."""

from __future__ import annotations

import argparse
from pathlib import Path

from omtl.commands._options import tell_written
from omtl.util.status import DONE

HELP = "create the files of a new learner, data set or paper, ready to run"
EXAMPLES = ("new learner my_learner", "new dataset my_data", "new paper smith2020")

NEXT = {
    "learner": "omtl check {file}; omtl compare algorithm={name} --only pa,pm",
    "dataset": "omtl run dataset={name}",
    "paper": "omtl table {name}-table1; omtl explain {name}-table1",
}
"""What to run next."""


def add_options(command: argparse.ArgumentParser) -> None:
    """Add what to create."""
    command.add_argument("kind", choices=tuple(NEXT), metavar="KIND", help=", ".join(NEXT))
    command.add_argument("name", metavar="NAME", help="lower-case letters, digits, underscores")


def run(options: argparse.Namespace) -> int:
    """Write the files into the checkout or the current folder."""
    from omtl.experiment.new_files import make

    paths = make(options.kind, options.name, Path.cwd())
    tell_written(paths)
    words = {"name": options.name, "file": paths[0].relative_to(Path.cwd())}
    print(f"try: {NEXT[options.kind].format(**words)}")
    return DONE
