"""Create the files of a new learner, data set or paper, ready to run.

Examples
--------
omtl new learner my_learner
omtl new dataset my_data
omtl new paper smith2020
"""

from __future__ import annotations

from pathlib import Path

from omtl.commands._options import option, tell_written

GROUP = "test my method"

NEXT = {
    "learner": "omtl check {file}; omtl compare algorithm={name} --against pa,pm",
    "dataset": "omtl run dataset={name}",
    "paper": "omtl table {name}-table1; omtl explain {name}-table1",
}
"""What to run next."""

OPTIONS = (option("kind", choices=tuple(NEXT), metavar="KIND"), option("name", metavar="NAME"))


def run(kind: str, name: str) -> None:
    """Write the files into the checkout or the current folder.

    Parameters
    ----------
    kind
        learner, dataset, paper
    name
        lower-case letters, digits, underscores
    """
    from omtl.experiment.new_files import make_files

    paths = make_files(kind, name, Path.cwd())
    tell_written(paths)
    print(f"try: {NEXT[kind].format(name=name, file=paths[0].relative_to(Path.cwd()))}")
