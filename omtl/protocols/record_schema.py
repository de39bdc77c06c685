"""What a stored result must look like: the arrays of each protocol, their shapes and ranges.

A result is read back from disk, and may come from somebody else. Every array that a rule, a metric
or a figure reads has the sizes and values of ``arrays.csv``, whoever wrote it; `omtl.protocols`
says what it means. There,

- ``axes`` has a letter for each axis; the same letters have the same size in all arrays of a
  result: P is for points of the grid, K for tasks, C for checkpoints. A learner of similarities may
  see all tasks as one, so it has T of them, and the ranking N;
- ``high`` is a number, or the array of the upper bounds;
- ``numbers`` are ``whole`` if they count something, and ``lacking`` if they are NaN where they are
  not defined; where a point diverged, any number may be anything;
- ``optional`` arrays are those that not all results have: it is the setting of the protocol that
  leaves them, or ``yes`` where learners or several settings decide.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

LARGEST = sys.float_info.max


class ArrayKind(NamedTuple):
    """What an array must be: a row of ``arrays.csv``."""

    axes: str
    low: float
    high: float | str
    numbers: str = ""
    optional: str = ""


DIVERGED = ArrayKind("P", 0.0, 2.0**53, "whole")
"""What all protocols leave: the number of scores that were not finite."""

FOUND = "found_"
"""How the names of a learner's findings begin, which may be any numbers of each point."""


def _schemas() -> dict[str, dict[str, ArrayKind]]:
    found: dict[str, dict[str, ArrayKind]] = {}
    with Path(__file__).with_name("arrays.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            low, high, numbers = row["low"], row["high"], row["numbers"]
            most = 2.0**53 if numbers == "whole" else LARGEST
            kind = ArrayKind(
                row["axes"],
                float(low or -LARGEST),
                high if high.isidentifier() else float(high or most),
                numbers,
                row["optional"],
            )
            for protocol in row["protocols"].split():
                found.setdefault(protocol, {})[row["array"]] = kind
    return found


SCHEMAS: Mapping[str, Mapping[str, ArrayKind]] = _schemas()
"""The arrays of each module of `omtl.protocols`, by name."""


def measured_arrays(protocol: str, settings: Mapping[str, Any]) -> set[str] | None:
    """Return the arrays that a protocol may leave; None for one that declares none.

    Parameters
    ----------
    protocol : str
        The protocol's module.
    settings : mapping
        The values of its config.
    """
    known = SCHEMAS.get(protocol.removeprefix("omtl.protocols."))
    if known is None:  # an extension's
        return None
    lacking = {kind.optional for kind in known.values()} - {"", "yes"}
    lacking -= {setting for setting, value in settings.items() if value}
    return {name for name, kind in known.items() if kind.optional not in lacking}


def check_arrays(
    arrays: Mapping[str, np.ndarray], protocol: str, n_points: int, n_tasks: int
) -> None:
    """Raise a ValueError unless arrays can be the result of a protocol.

    Parameters
    ----------
    arrays : mapping of str to ndarray
    protocol : str
        The protocol's module. One of a user's own may have any arrays.
    n_points, n_tasks : int
        Number of points of the grid, and of tasks of the data.
    """
    if other := [name for name, each in arrays.items() if not isinstance(each, np.ndarray)]:
        raise ValueError(f"{other[0]!r} is no array")
    package, _, module = protocol.rpartition(".")
    own = SCHEMAS.get(module) if package == "omtl.protocols" else None
    sizes = {"P": n_points, "K": n_tasks}
    for name, kind in {"diverged": DIVERGED, **(own or {})}.items():
        if name in arrays:
            _check(name, arrays, kind, sizes)
        elif not kind.optional:
            raise ValueError(f"it has no array {name!r}")
    for name in arrays.keys() - {"diverged", *own} if own else ():
        if not name.startswith(FOUND):
            raise ValueError(f"protocol {module} has no array {name!r}")
        _check_shape(name, arrays[name].shape[:1], "P", sizes)


def _check(
    name: str, arrays: Mapping[str, np.ndarray], kind: ArrayKind, sizes: dict[str, int]
) -> None:
    array, most = arrays[name], kind.high
    _check_shape(name, array.shape, kind.axes, sizes)
    if kind.numbers == "whole" and array.dtype.kind == "f" and (array != np.floor(array)).any():
        raise ValueError(f"array {name!r} has no whole numbers")
    bound: Any = arrays.get(most) if isinstance(most, str) else most
    if isinstance(most, str):
        _check_shape(most, () if bound is None else bound.shape, kind.axes[1:], sizes)
    if not array.size or (array.min() >= kind.low and (array <= bound).all()):  # no NaN in it
        return
    wrong = ~((array >= kind.low) & (array <= bound))
    if kind.numbers == "lacking":
        wrong &= ~np.isnan(array)
    if kind.axes.startswith("P"):
        diverged = arrays["diverged"] > 0
        wrong[diverged] &= np.isfinite(array[diverged])
    if wrong.any():
        raise ValueError(f"array {name!r} has the impossible number {array[wrong].flat[0]}")


def _check_shape(name: str, shape: Sequence[int], axes: str, sizes: dict[str, int]) -> None:
    fits = len(shape) == len(axes)
    for axis, size in zip(axes, shape, strict=False):
        fits = fits and sizes.setdefault(axis, size) == size
    if not fits:
        raise ValueError(f"array {name!r} has shape {tuple(shape)}, not that of its protocol")
