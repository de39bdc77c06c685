"""The place of this package's compiled code in numba's cache.

Numba checks only the file of the cached function itself: it would not notice an edited update rule
in another file, and stale code would run. The folder is therefore named by a hash of the sources
that all loops share, and each file by one of the modules whose classes it was compiled for. Code
compiled with learners from a user's own folder is stored separately, because other processes could
not import those. Functions of other packages stay in numba's usual
place.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from functools import lru_cache
from pathlib import Path
from typing import Any

from omtl.util import user_folder
from omtl.util.paths import PACKAGE, kept

KEPT_VERSIONS = 4

SHARED_FOLDERS = ("data", "kernel", "util")
"""What every loop is made of. The other sources of a loop, its learner's and its recorder's, are in
the name of its file (`omtl.kernel.inlining.KeptCode`)."""


def source_hash() -> str:
    """Hash of the sources that all loops share, and of the user's own folder."""
    digest = hashlib.sha256()
    inner = (
        path
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.relative_to(PACKAGE).parts[0] in SHARED_FOLDERS
    )
    for path in (*inner, *user_folder.sources()):
        name = path.relative_to(PACKAGE) if path.is_relative_to(PACKAGE) else path
        digest.update(name.as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def folder() -> Path | None:
    """Return the folder for the current sources, and remove the oldest others.

    None in a read-only checkout, or if a file cannot be read: numba then finds a folder itself.
    """
    try:
        home = kept() / ("compiled_own" if user_folder.sources() else "compiled")
        chosen = home / source_hash()[:16]
        chosen.mkdir(parents=True, exist_ok=True)
        os.utime(chosen)
        newest_first = sorted(home.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    except OSError:
        return None
    for old in newest_first[KEPT_VERSIONS:]:
        shutil.rmtree(old, ignore_errors=True)
    return chosen


@lru_cache
def _folder_of(own: Path | None) -> Path | None:  # noqa: ARG001 - it decides which folder it is
    return folder()


@lru_cache
def keep_compiled() -> None:
    """Let numba store this package's functions in this folder; others are unaffected.

    The environment variable ``NUMBA_CACHE_DIR``, which applies to all functions, takes precedence.
    """
    from numba.core import caching, config

    class Kept(caching.UserProvidedCacheLocator):
        """The cache location of a function from this package or the user's own folder."""

        def __init__(self, function: Any, file: str) -> None:
            self._py_file, self._lineno = file, function.__code__.co_firstlineno
            home = _folder_of(user_folder.own_folder())
            if home is None:
                raise OSError("there is no folder")
            self._cache_path = str(home / self.get_suitable_cache_subpath(file))

        @classmethod
        def from_function(cls, function: Any, file: str) -> Any:
            """Return a function's cache location; None for other packages."""
            homes = [home for home in (PACKAGE, user_folder.own_folder()) if home is not None]
            if config.CACHE_DIR or not any(Path(file).is_relative_to(home) for home in homes):
                return None
            try:
                place = cls(function, file)
                place.ensure_cache_path()
            except OSError:
                return None
            return place

    caching.CacheImpl._locator_classes.insert(0, Kept)
