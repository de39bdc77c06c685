"""Compiled code on disk, in the user's own cache, under a hash of the sources that it is made of.

Numba's own cache checks only the file of the cached function: it would not notice an edited rule in
another file, and stale code would run. Here each function is compiled anew for the classes of its
arguments (a learner, a recorder), and what is kept lies in a folder that is named by the sources of
these classes and of the function. The folder belongs to the user alone. A file that is not what was
written is removed and compiled again.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import time
import warnings
from collections.abc import Callable
from functools import lru_cache, update_wrapper
from pathlib import Path
from threading import Lock
from typing import Any

from numba import config, njit

from omtl.util.code import code_version
from omtl.util.paths import private_cache
from omtl.util.providers import added_module

UNUSED_DAYS = 60
"""Folders that were not used for longer are removed."""

BY_ALL = ("builtins", "omtl.data.", "omtl.kernel.")
"""Modules that the code of every learner is made of; the others name the folders."""

_ONE_AT_A_TIME = Lock()
"""Held while numba's setting of the folder is changed."""


class CompiledFunction:
    """A function that numba compiles for the classes of its arguments, and keeps on disk.

    Parameters
    ----------
    function : callable
    prepare : callable
        Called with each class of the arguments before it is compiled for.
    options : dict
        Those of `numba.njit`.
    """

    def __init__(
        self, function: Callable, prepare: Callable[[type], Any], options: dict[str, Any]
    ) -> None:
        self.function, self.prepare, self.options = function, prepare, options
        self._made: dict[tuple[type, ...], tuple[Any, Path | None, set]] = {}
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        """Call the code for the classes of the arguments."""
        return self._with(classes_in(arguments), lambda compiled: compiled(*arguments))

    @property
    def signatures(self) -> list[Any]:
        """The types for which there is code."""
        return [kinds for compiled, _, _ in self._made.values() for kinds in compiled.signatures]

    def entry(self, classes: tuple[type, ...], kinds: tuple[Any, ...]) -> Any:
        """Return the entry point of the code for arguments of these types of numba's.

        Parameters
        ----------
        classes : tuple of type
            The classes of tuples among the arguments (`classes_in`).
        kinds : tuple
        """
        return self._with(classes, lambda compiled: compiled.compile(kinds))

    def _with(self, classes: tuple[type, ...], use: Callable[[Any], Any]) -> Any:
        """Use the code for these classes, and seal what was compiled for it."""
        if classes not in self._made:
            self._made[classes] = (*self.for_classes(classes), set())
        compiled, folder, sealed = self._made[classes]
        result = use(compiled)
        if len(compiled.overloads) > len(sealed):
            sealed.update(compiled.overloads)
            if folder is not None:
                seal(folder)
        return result

    def for_classes(self, classes: tuple[type, ...]) -> tuple[Any, Path | None]:
        """Return a function of numba's for these classes, and its folder if it is kept."""
        for kind in classes:
            self.prepare(kind)
        folder = code_folder({self.function.__module__, *(kind.__module__ for kind in classes)})
        if folder is None:
            return njit(**self.options)(self.function), None
        remove_damaged(folder)
        with _ONE_AT_A_TIME:
            before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
            try:
                return njit(cache=True, **self.options)(self.function), folder
            except RuntimeError:  # its source is in no file
                return njit(**self.options)(self.function), None
            finally:
                config.CACHE_DIR = before


def kept(
    prepare: Callable[[type], Any] = id, /, **options: Any
) -> Callable[[Callable], CompiledFunction]:
    """Return a decorator that compiles a function with options of `numba.njit`, and keeps it."""
    return lambda function: CompiledFunction(function, prepare, options)


def classes_in(arguments: tuple[Any, ...]) -> tuple[type, ...]:
    """Return the classes of all tuples among the arguments, also within others."""
    found: list[type] = []
    for argument in arguments:
        if isinstance(argument, tuple):
            found += [type(argument), *classes_in(argument)]
    return tuple(found)


def code_folder(modules: set[str]) -> Path | None:
    """Return the folder for code made of some modules; None if it cannot be kept."""
    digest = hashlib.sha256()
    for module in sorted(modules - {"builtins"}):
        version = source_version(module)
        if version is None:
            return None
        digest.update(f"{module} {version}\n".encode())
    home = own_home()
    if home is None:
        return None
    named = sorted(name.rpartition(".")[2] for name in modules if not name.startswith(BY_ALL))
    folder = home / "-".join([*named, digest.hexdigest()[:16]])
    try:
        if not folder.is_dir():
            remove_unused(home)
            folder.mkdir(exist_ok=True)
        os.utime(folder)
    except OSError:
        return None
    return folder


def source_version(module: str) -> str | None:
    """Return a hash of a module's source and of what it imports here; None if it has no file."""
    if module.partition(".")[0] in ("omtl", "data_fetchers") or added_module(module) is not None:
        return code_version(module)
    file = getattr(sys.modules.get(module), "__file__", None)
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file else None
    except OSError:
        return None


@lru_cache
def own_home() -> Path | None:
    """Return the folder of all compiled code, which only the user can read; None without one.

    If there is none (`private_cache`), a warning says so once.
    """
    try:
        return private_cache()
    except OSError as fault:
        warnings.warn(
            f"compiled code cannot be kept ({fault}), and is compiled anew in each process; set "
            "NUMBA_CACHE_DIR to a folder of your own",
            stacklevel=2,
        )
        return None


def kept_in(home: Path) -> list[str]:
    """Return what compiled code is of, in any version: the modules of learners and recorders."""
    named = [folder.name.rpartition("-")[0].split("-") for folder in home.iterdir()]
    return sorted({module for modules in named for module in modules} - {"", "__main__"})


def remove_unused(home: Path) -> None:
    """Remove folders that were not used for a long time."""
    oldest = time.time() - UNUSED_DAYS * 24 * 3600
    for folder in home.iterdir():
        if folder.stat().st_mtime < oldest:
            shutil.rmtree(folder, ignore_errors=True)


def seal(folder: Path) -> None:
    """Write the hash of each file of compiled code beside it."""
    for path in _code_in(folder):
        try:
            _seal_of(path).write_text(_hash(path), encoding="ascii")
        except OSError:
            continue  # another process replaces it, or the disk is full: it is compiled again


def remove_damaged(folder: Path) -> None:
    """Remove the files of compiled code that do not have the hash beside them."""
    for path in _code_in(folder):
        try:
            sound = _seal_of(path).read_text(encoding="ascii") == _hash(path)
        except (OSError, UnicodeDecodeError):
            sound = False
        if not sound:
            path.unlink(missing_ok=True)


def _code_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*.nb[ic]") if path.is_file()]


def _seal_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
