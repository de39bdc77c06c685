"""The papers' folders: those of `experiments/`, and those of the user's own folder."""

from __future__ import annotations

from pathlib import Path

from omtl.util.errors import UserError
from omtl.util.paths import EXPERIMENTS, PUBLISHED
from omtl.util.user_folder import own_folder


def paper_files(pattern: str) -> list[Path]:
    """Return the files of all papers that match a pattern, by paper and name.

    Raises
    ------
    UserError
        If a user's paper has the same name as one of ours.
    """
    found = list(EXPERIMENTS.glob(f"*/{pattern}"))
    folder = own_folder()
    if folder is not None and (folder / "experiments").resolve() != EXPERIMENTS.resolve():
        mine = list((folder / "experiments").glob(f"*/{pattern}"))
        for path in mine:
            if (EXPERIMENTS / path.parent.name).is_dir():
                raise UserError(
                    f"{path.parent}: there is a paper {path.parent.name!r} already; rename yours"
                )
        found += mine
    return sorted(found, key=lambda path: (path.parent.name, path.name))


def paper_file(paper: str, name: str) -> Path:
    """Return the path of a paper's file, which need not exist."""
    folder = own_folder()
    if folder is not None and (mine := folder / "experiments" / paper).is_dir():
        return mine / name
    return EXPERIMENTS / paper / name


def published_file(table: str) -> Path:
    """Return the path of a table's published numbers."""
    folder = own_folder()
    if folder is not None:
        mine = folder / "results" / "published" / f"{table}.csv"
        if mine.is_file():
            return mine
    return PUBLISHED / f"{table}.csv"
