"""Compiled code on disk, in the user's own cache, under a hash of all that it is made of.

Numba's own cache checks only the file of the cached function: it would not notice an edited rule in
another file, and stale code would run. Here what is compiled for one set of types lies in a folder
of its own, named by the sources of the function and of its arguments' classes (a learner, a
recorder), these types, the processor and numba. A folder appears whole, with the hash of its files,
by being renamed: threads and processes that compile at the same time do not disturb each other. One
that is not what was written is removed and compiled again. The cache belongs to the user alone.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import lru_cache, update_wrapper
from pathlib import Path
from threading import Lock
from typing import Any

import numba
import numpy as np
from llvmlite.binding import get_host_cpu_features, get_host_cpu_name
from numba import config, njit, typeof

from omtl.util.code import code_version
from omtl.util.paths import private_cache
from omtl.util.providers import module_file

UNUSED_DAYS = 60
"""Folders that were not used for longer are removed."""

UNFINISHED_DAYS = 1
"""So are folders that were left unfinished for longer, by a process that was killed."""

BY_ALL = ("builtins", "omtl.data.", "omtl.kernel.")
"""Modules that the code of every learner is made of; the others name the folders."""

SEAL = "sha256"
"""The file with the hash of the others."""

SCALARS = {kind: np.dtype(kind) for kind in (bool, int, float)}
"""The types of Python's numbers, which numba takes for NumPy's."""

_COMPILING = Lock()
"""Held while code is prepared and compiled: what is prepared changes what names mean to numba."""


READING = 0.2
"""Seconds in which compiled code is read from disk, most of the time."""


def is_compiling() -> bool:
    """Whether a thread compiles, which takes longer than `READING`."""
    if not _COMPILING.acquire(timeout=READING):
        return True
    _COMPILING.release()
    return False


class CompiledFunction:
    """A function that numba compiles for the types of its arguments, and keeps on disk.

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
        self._made: dict[Any, Any] = {}
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        """Call the code for the types of the arguments."""
        key = type_key(arguments)
        compiled = self._made.get(key)
        if compiled is None:
            compiled = self._compiled(key, classes_in(arguments), tuple(map(typeof, arguments)))
        return compiled(*arguments)

    def entry(self, classes: tuple[type, ...], kinds: tuple[Any, ...]) -> Any:
        """Return the entry point of the code for arguments of these types of numba's.

        Parameters
        ----------
        classes : tuple of type
            The classes of tuples among the arguments (`classes_in`).
        kinds : tuple
        """
        return self._compiled((classes, kinds), classes, kinds).compile(kinds)

    def _compiled(self, key: Any, classes: tuple[type, ...], kinds: tuple[Any, ...]) -> Any:
        """Return numba's function with code for these types: compiled now, or read from disk."""
        with _COMPILING:
            if key not in self._made:
                for kind in classes:
                    self.prepare(kind)
                compiled, unpublished = self._new(key, classes)
                try:
                    compiled.compile(kinds)
                finally:
                    if unpublished is not None:
                        publish(*unpublished)
                self._made[key] = compiled
        return self._made[key]

    def _new(self, kinds: Any, classes: tuple[type, ...]) -> tuple[Any, tuple[Path, Path] | None]:
        """Return a function of numba's for these types; if it is new, what to `publish` of it."""
        try:
            folder = self.folder(kinds, classes)
            if folder is not None and is_sound(folder):
                os.utime(folder)
                return self._reading(folder), None
            if folder is not None:
                work = Path(tempfile.mkdtemp(dir=folder.parent))
                return self._reading(work), (work, folder)
        except (OSError, RuntimeError):  # the disk is full, or the source is in no file
            pass
        return njit(**self.options)(self.function), None

    def _reading(self, folder: Path) -> Any:
        """Return a function of numba's that reads and writes its code in a folder."""
        before, config.CACHE_DIR = config.CACHE_DIR, str(folder)
        try:
            return njit(cache=True, **self.options)(self.function)
        finally:
            config.CACHE_DIR = before

    def folder(self, kinds: Any, classes: tuple[type, ...]) -> Path | None:
        """Return the folder for the code for these types; None if it cannot be kept."""
        modules = {self.function.__module__, *(kind.__module__ for kind in classes)}
        versions = {name: source_version(name) for name in modules - {"builtins"}}
        home = own_home()
        if None in versions.values() or home is None:
            return None
        loop = Path(self.function.__code__.co_filename)
        written = loop.stat()  # numba reads its own cache only for the same file
        made_of = (
            *sorted(versions.items()),
            *(self.function.__qualname__, kinds),
            *(loop, written.st_mtime_ns, written.st_size),
            *(numba.__version__, sys.implementation.cache_tag, get_host_cpu_name()),
            get_host_cpu_features().flatten(),
        )
        digest = hashlib.sha256(repr(made_of).encode()).hexdigest()
        named = sorted(name.rpartition(".")[2] for name in modules if not name.startswith(BY_ALL))
        return home / "-".join([*named, digest[:16]])


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


def type_key(value: Any) -> Any:
    """Return what decides how a value is compiled: its class, an array's layout, a tuple's parts.

    It tells apart all that numba does, at a tenth of the time.
    """
    if isinstance(value, tuple):
        return (type(value), *map(type_key, value))
    if isinstance(value, np.ndarray):
        flags = value.flags
        order = "C" if flags.c_contiguous else "F" if flags.f_contiguous else "A"
        return value.dtype, value.ndim, order, flags.writeable, flags.aligned
    if isinstance(value, np.generic):
        return value.dtype
    return SCALARS.get(type(value), type(value))


def source_version(module: str) -> str | None:
    """Return a hash of a module's source and of what it imports here; None if it has no file."""
    if module_file(module) is not None:
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
    """Remove folders that were not used for a long time, and unfinished ones sooner."""
    for folder in home.iterdir():
        days = UNUSED_DAYS if (folder / SEAL).exists() else UNFINISHED_DAYS
        if folder.stat().st_mtime < time.time() - days * 24 * 3600:
            shutil.rmtree(folder, ignore_errors=True)


def publish(work: Path, folder: Path) -> None:
    """Give compiled code its folder, with the hash of its files, unless another process has."""
    try:
        if _code_in(work) and not is_sound(folder):
            remove_unused(folder.parent)
            shutil.rmtree(folder, ignore_errors=True)
            (work / SEAL).write_text(_hash(work), encoding="ascii")
            work.rename(folder)
    except OSError:  # another process was first, or the disk is full
        pass
    shutil.rmtree(work, ignore_errors=True)


def is_sound(folder: Path) -> bool:
    """Whether a folder of compiled code is there, and what was written."""
    try:
        return (folder / SEAL).read_text(encoding="ascii") == _hash(folder)
    except (OSError, UnicodeDecodeError):
        return False


def _code_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.nb[ic]") if path.is_file())


def _hash(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in _code_in(folder):
        digest.update(f"{path.relative_to(folder)}\n".encode() + path.read_bytes())
    return digest.hexdigest()
