"""Where the project reads its configs and results, and where it writes."""

from __future__ import annotations

import os
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]


def _checkout() -> Path | None:
    """Return the checkout that the package is imported from; None where it is installed."""
    above = PACKAGE.parent
    return above if (above / "conf" / "config.yaml").is_file() else None


CHECKOUT = _checkout()

SHIPPED = CHECKOUT or PACKAGE / "shipped"
"""What comes with the package: a wheel holds the checkout's folders of data."""

CONF = SHIPPED / "conf"
EXPERIMENTS = SHIPPED / "experiments"
PUBLISHED = SHIPPED / "results" / "published"

ROOT = CHECKOUT or Path.cwd()
"""The folder that is worked in: the checkout, or the current folder of an installed package."""

RESULTS = ROOT / "results"
"""Where results are written."""


def results_to_read() -> Path:
    """Return the folder of results that commands read.

    These are the results written here; where there are none, those that come with the package.
    """
    return RESULTS if (RESULTS / "reproduced").is_dir() else SHIPPED / "results"


def kept() -> Path:
    """Return the folder of all that is kept between runs: data, finished units, compiled code.

    The environment variable ``OMTL_HOME`` names it. Without one it is ``.omtl`` in the checkout, or
    in the user's own folder (`omtl.util.user_folder`), or else the user's cache.
    """
    named = os.environ.get("OMTL_HOME")
    if named:
        return Path(named)
    folder = CHECKOUT or os.environ.get("OMTL_OWN")
    if folder:
        return Path(folder) / ".omtl"
    return user_cache()


def user_cache() -> Path:
    """Return the user's cache folder; the core alone lacks platformdirs and takes XDG's."""
    try:
        from platformdirs import user_cache_path
    except ImportError:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "omtl"
    return user_cache_path("omtl", appauthor=False)
