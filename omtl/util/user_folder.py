"""A user's own folder: learners, data sets and their configs, in addition to the project's.

It has the layout of ``conf/`` (``algorithm/my_learner.yaml``, ``dataset/my_data.yaml``), with the
learners' modules at its top. It is the folder named by the environment variable ``OMTL_OWN``, or
else the current one if it has this layout. Worker processes learn it from the same variable.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from omtl.util.errors import UserError
from omtl.util.paths import CONF, home_folder

VARIABLE = "OMTL_OWN"

GROUPS = (*sorted(path.name for path in CONF.glob("*/")), "experiments")
"""Folders, at least one of which a user's own folder has: those of ``conf/``, and of papers."""

_BEGUN = [0]
"""How many commands, and Python equivalents of theirs, have begun in this process."""


def own_folder() -> Path | None:
    """Return the absolute path of the user's own folder, or None."""
    named = os.environ.get(VARIABLE)
    return Path(named).expanduser().absolute() if named else None


def use_folder(folder: Path) -> None:
    """Set the user's own folder, in this process and those that it starts."""
    os.environ[VARIABLE] = str(folder.absolute())
    make_importable()


def find() -> None:
    """Use the folder named by the environment, or the current one if it has the layout.

    Commands and their Python equivalents start with this.

    Raises
    ------
    UserError
        If the environment names a folder that does not exist, or the current one was removed.
    """
    begin_call()
    try:
        here = Path.cwd()
    except OSError as fault:
        raise UserError("the current folder no longer exists; change to another one") from fault
    folder = own_folder()
    if folder is not None and not folder.is_dir():
        raise UserError(f"{VARIABLE}: there is no folder {folder}; name yours, or unset {VARIABLE}")
    if folder is None and here not in (CONF, CONF.parent):
        has_layout = any(any((here / group).rglob("*.yaml")) for group in GROUPS)
        folder = here if has_layout else None
    if folder is not None:
        use_folder(folder)


def begin_call() -> None:
    """Let the user's files be read again, as they may have changed since a command before."""
    _BEGUN[0] += 1


def calls_begun() -> int:
    """Return how many commands have begun, before each of which the user's files may change."""
    return _BEGUN[0]


def written_folder() -> Path:
    """Return the folder of modules that are written for classes of notebooks and scripts."""
    return home_folder() / "written"


def module_folders() -> list[Path]:
    """Return the folders of the user's own modules."""
    return [*filter(None, [own_folder()]), written_folder()]


def make_importable() -> None:
    """Let modules be imported from the user's own folders, after all other places."""
    for folder in map(str, module_folders()):
        if folder not in sys.path:
            sys.path.append(folder)
