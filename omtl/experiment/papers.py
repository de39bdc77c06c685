"""The papers' folders: those of `experiments/`, of extensions, and of the user's own folder."""

from __future__ import annotations

from pathlib import Path

from omtl.util.errors import UserError
from omtl.util.providers import OURS, providers


def paper_files(pattern: str) -> list[Path]:
    """Return the files of all papers that match a pattern, by paper and name.

    Raises
    ------
    UserError
        If two papers have the same name.
    """
    found: list[Path] = []
    ours = OURS.experiments.resolve()  # a user's own folder may be the checkout
    known = [each for each in providers() if each == OURS or each.experiments.resolve() != ours]
    for provider in known:
        for path in provider.experiments.glob(f"*/{pattern}"):
            paper = path.parent.name
            if next(each for each in known if (each.experiments / paper).is_dir()) != provider:
                raise UserError(f"{path.parent}: there is a paper {paper!r} already; rename yours")
            found.append(path)
    return sorted(found, key=lambda path: (path.parent.name, path.name))


def paper_file(paper: str, name: str) -> Path:
    """Return the path of a paper's file, which need not exist."""
    added = (each.experiments / paper for each in reversed(providers()))
    return next((folder for folder in added if folder.is_dir()), OURS.experiments / paper) / name


def published_file(table: str) -> Path:
    """Return the path of a table's published numbers."""
    found = [each.published / f"{table}.csv" for each in reversed(providers())]
    return next((path for path in found if path.is_file()), found[-1])
