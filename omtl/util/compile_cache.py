"""Where numba keeps compiled code.

Numba looks only at the file of the cached function itself: an edited update rule in another file
would go unnoticed and stale code would run. The folder is therefore named by a hash of all of the
package's sources. What is compiled with learners of a user's own folder is kept apart: other
processes could not import those.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from pathlib import Path

from omtl.util import user_folder
from omtl.util.paths import kept

KEPT_VERSIONS = 4

_chosen: list[str] = []
"""The folders that were chosen here; another one in the environment is the user's own choice."""


def source_hash() -> str:
    """Hash of every source file of the package and the user's own folder, by name and content."""
    digest = hashlib.sha256()
    package = Path(__file__).parents[1]
    for path in (*sorted(package.rglob("*.py")), *user_folder.sources()):
        name = path.relative_to(package) if path.is_relative_to(package) else path
        digest.update(name.as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def use_compile_cache() -> None:
    """Point numba at the folder for the present sources, and drop the oldest other ones."""
    if os.environ.get("NUMBA_CACHE_DIR") not in (None, *_chosen):
        return
    try:
        home = kept() / ("compiled_own" if user_folder.sources() else "compiled")
        folder = home / source_hash()[:16]
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        newest_first = sorted(home.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    except OSError:
        return  # a read-only checkout, or a file that cannot be read: numba finds a folder itself
    for old in newest_first[KEPT_VERSIONS:]:
        shutil.rmtree(old, ignore_errors=True)
    os.environ["NUMBA_CACHE_DIR"] = str(folder)
    _chosen.append(str(folder))
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = str(folder)
