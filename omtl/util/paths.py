"""The folders from which the project reads and to which it writes."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


def _checkout() -> Path | None:
    """Return the checkout from which the package is imported; None if it is installed."""
    above = PACKAGE.parent
    return above if (above / "conf" / "config.yaml").is_file() else None


CHECKOUT = _checkout()

SHIPPED = CHECKOUT or PACKAGE / "shipped"
"""The package's data: a wheel contains the checkout's data folders."""

CONF = SHIPPED / "conf"
EXPERIMENTS = SHIPPED / "experiments"
PUBLISHED = SHIPPED / "results" / "published"


def _current() -> Path:
    """Return the current folder; if it has been removed, a relative path in its place."""
    try:
        return Path.cwd()
    except OSError:
        return Path()


ROOT = CHECKOUT if CHECKOUT and _current().is_relative_to(CHECKOUT) else _current()
"""The working folder: the checkout if the current folder is in it, or else the current folder."""

RESULTS = ROOT / "results"
"""The folder to which results are written."""


def results_to_read(part: str = "reproduced") -> Path:
    """Return the folder from which commands read results.

    These are the results written here or, if they have no such part, those of the package.
    """
    return RESULTS if (RESULTS / part).exists() else SHIPPED / "results"


def shown_path(path: Path) -> str:
    """Return a path for the reader, relative to the working folder if it is in there."""
    return str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path)


def home_folder() -> Path:
    """Return the folder for what is kept between runs: data and finished units.

    The environment variable ``OMTL_HOME`` names it. Without one it is ``.omtl`` in the checkout, or
    in the user's own folder (`omtl.util.user_folder`), or else the user's cache.
    """
    named = os.environ.get("OMTL_HOME")
    if named:
        return Path(named).expanduser()
    folder = CHECKOUT or os.environ.get("OMTL_OWN")
    if folder:
        return Path(folder) / ".omtl"
    return user_cache()


def user_cache() -> Path:
    """Return the user's cache folder; without platformdirs, that of XDG."""
    try:
        from platformdirs import user_cache_path
    except ImportError:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "omtl"
    return user_cache_path("omtl", appauthor=False)


def private_cache() -> Path:
    """Return the folder for what is believed when it is read again, which only the user can read.

    Compiled code is run, and the versions of code decide which results are found. So the folder is
    never in the current one or in ``OMTL_HOME``, which may have come with somebody's data, but in
    ``NUMBA_CACHE_DIR`` or the user's cache.

    Raises
    ------
    OSError
        If it cannot be made or written, or belongs to somebody else.
    """
    named = os.environ.get("NUMBA_CACHE_DIR")
    return _made_private(Path(named) / "omtl" if named else user_cache() / "compiled")


@lru_cache
def _made_private(folder: Path) -> Path:
    """Return a folder, once it is there, of the user, and can be written."""
    import tempfile

    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if hasattr(os, "getuid") and (folder.is_symlink() or found.st_uid != os.getuid()):
        raise PermissionError(f"{folder} is not your own")
    folder.chmod(0o700)
    with tempfile.TemporaryFile(dir=folder):  # others may try at the same time
        pass
    return folder
