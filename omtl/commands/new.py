"""Create the files of a new learner, data set or paper, ready to run."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from omtl.commands._options import option, tell_written
from omtl.util.errors import UserError

GROUP = "test my method"
EXAMPLES = ("new learner my_learner", "new dataset my_data", "new paper smith2020")

NEXT = {
    "learner": "omtl check {file}; omtl compare algorithm={name} --against pa,pm",
    "dataset": "omtl run dataset={name}",
    "paper": "omtl table {name}-table1; omtl explain {name}-table1",
}
"""What to run next."""

LONGEST = 100
"""The longest name, in letters: file systems limit the names of files."""


OPTIONS = (
    option("kind", choices=tuple(NEXT), metavar="KIND", help=", ".join(NEXT)),
    option("name", metavar="NAME", help="lower-case letters, digits, underscores"),
)


def run(kind: str, name: str) -> None:
    """Write the files into the checkout or the current folder."""
    from omtl.experiment.new_files import make_files

    _refuse(kind, name)
    paths = make_files(kind, name, Path.cwd())
    tell_written(paths)
    print(f"try: {NEXT[kind].format(name=name, file=paths[0].relative_to(Path.cwd()))}")


def _refuse(kind: str, name: str) -> None:
    """Report a name that is too long, or a learner's that would hide an installed module.

    Units are named by the hash of their code, packages included: with an own ``numpy.py``, no
    stored unit would be found again, and ``omtl store prune`` would remove them all.
    """
    if len(name) > LONGEST:
        raise UserError(f"a name of {len(name)} letters is too long; use at most {LONGEST}")
    if kind != "learner" or not name.isidentifier():
        return
    module = find_spec(name)
    if module is None or (module.origin and Path(module.origin).is_relative_to(Path.cwd())):
        return
    raise UserError(
        f"{name!r} is the name of an installed Python module, which a file {name}.py would hide; "
        "use another name"
    )
