"""Creating the files of a new learner, data set or paper from templates."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from string import Template

from omtl.util.errors import UserError
from omtl.util.files import write_whole
from omtl.util.paths import CHECKOUT, CONF

LONGEST = 100
"""The longest name, in letters: file systems limit the names of files."""

TEMPLATES = Path(__file__).parent / "templates"
"""Of each kind, the files for the project's checkout, for a user's own folder and for both, where
they belong there; NAME in a path is the new name."""


def make_files(kind: str, name: str, folder: Path) -> list[Path]:
    """Write the files of a new learner, data set or paper, ready to run.

    Parameters
    ----------
    kind : {"learner", "dataset", "paper"}
    name : str
        Lower-case letters, digits and underscores.
    folder : Path
        The project's checkout, or the user's own folder.

    Returns
    -------
    list of Path
        The files that were written.

    Raises
    ------
    UserError
        If the name is invalid, or a file already exists; nothing is written then.
    """
    if len(name) > LONGEST:
        raise UserError(f"a name of {len(name)} letters is too long; use at most {LONGEST}")
    if kind == "learner" and name.isidentifier() and _is_installed(name, folder):
        raise UserError(
            f"{name!r} is the name of an installed Python module, which a file {name}.py would "
            "hide; use another name"
        )
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise UserError(
            f"{name!r} cannot be a name; use lower-case letters, digits and underscores, "
            "a letter first"
        )
    in_checkout = folder.resolve() == CHECKOUT
    values = {
        "name": name,
        "Name": "".join(word.capitalize() for word in name.split("_")),
        "label": name.replace("_", " ").capitalize(),
        "module": f"omtl.learners.{name}" if in_checkout else name,
    }
    contents = {
        folder / place: Template(template.read_text(encoding="utf-8")).substitute(values)
        for place, template in _places(kind, name, in_checkout)
    }
    group = {"learner": "algorithm", "dataset": "dataset", "paper": "reading"}[kind]
    shipped = CONF / group / (name if kind == "paper" else f"{name}.yaml")
    for path in [shipped, *contents]:
        if path.exists():
            raise UserError(f"there is a {kind} {name!r} already: {path}")
    for path, text in contents.items():
        write_whole(path, text)
    return list(contents)


def _is_installed(name: str, folder: Path) -> bool:
    """Whether there is a module outside a folder that a file of a learner there would hide.

    Units are named by the hash of their code, packages included: with an own ``numpy.py``, no
    stored unit would be found again, and ``omtl store prune`` would remove them all.
    """
    module = find_spec(name)
    inside = module and module.origin and Path(module.origin).is_relative_to(folder)
    return module is not None and not inside


def _places(kind: str, name: str, in_checkout: bool) -> Iterator[tuple[str, Path]]:
    """Yield the places of a kind's files, each with its template."""
    for part in ("checkout" if in_checkout else "own", "both"):
        home = TEMPLATES / kind / part
        for template in sorted(path for path in home.rglob("*") if path.is_file()):
            place = template.relative_to(home).as_posix().removesuffix(".in").replace("NAME", name)
            is_config = place.partition("/")[0] in ("algorithm", "dataset", "reading")
            yield f"conf/{place}" if in_checkout and is_config else place, template
