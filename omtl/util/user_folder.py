"""A folder of a user's own: learners, data sets and their configs, beside the project's.

It is laid out as ``conf/`` is (``algorithm/my_learner.yaml``, ``dataset/my_data.yaml``), with the
learners' modules at its top. It is the folder that the environment variable ``OMTL_OWN`` names, or
else the current one where that is laid out so. Worker processes are told by the same variable.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from omtl.util.errors import UserError
from omtl.util.paths import CONF

VARIABLE = "OMTL_OWN"

GROUPS = ("algorithm", "dataset", "experiments")
"""Folders of which a folder of one's own has at least one."""


def own() -> Path | None:
    """Return the user's own folder, absolute; None where there is none."""
    named = os.environ.get(VARIABLE)
    return Path(named).expanduser().absolute() if named else None


def refuse_missing() -> None:
    """Tell that the folder is not there, as commands do before anything else.

    Raises
    ------
    UserError
        If the environment names one that is none.
    """
    folder = own()
    if folder is not None and not folder.is_dir():
        raise UserError(f"{VARIABLE}: there is no folder {folder}; name yours, or unset {VARIABLE}")


def use(folder: Path) -> None:
    """Make a folder the user's own one, in this process and those that it starts."""
    os.environ[VARIABLE] = str(folder.absolute())
    make_importable()


def find() -> None:
    """Use the folder that the environment names, or the current one where it is laid out so.

    Commands begin with it, and what does in Python what they do.
    """
    folder = own()
    if folder is None:
        try:
            here = Path.cwd()
        except OSError:
            return  # the current folder is gone
        if here in (CONF, CONF.parent) or not any(
            any((here / group).rglob("*.yaml")) for group in GROUPS
        ):
            return
        folder = here
    use(folder)


def own_module(name: str) -> Path | None:
    """Return the file of a module or package in the user's own folder, or None."""
    folder = own()
    return module_in(folder, name) if folder is not None and name else None


def module_in(folder: Path, name: str) -> Path | None:
    """Return the file of a module or package in a folder, or None."""
    place = folder / Path(*name.split("."))
    files = (place.with_suffix(".py"), place / "__init__.py")
    return next((path for path in files if path.is_file()), None)


def sources() -> list[Path]:
    """Return the files of modules at the top of the user's own folder, sorted."""
    folder = own()
    found = () if folder is None else folder.glob("*.py")
    return sorted(path for path in found if path.stem.isidentifier() and path.is_file())


def make_importable() -> None:
    """Let modules be imported from the user's own folder, after all that are found elsewhere."""
    folder = own()
    if folder is not None and str(folder) not in sys.path:
        sys.path.append(str(folder))
