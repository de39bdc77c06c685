"""What a stored result must look like: the arrays of each protocol, their shapes and ranges.

A result is read back from disk, and may come from somebody else. Every array that a rule, a metric
or a figure reads has these sizes and values, whoever wrote it; `omtl.protocols` says what it means.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

LARGEST = sys.float_info.max


class Kind(NamedTuple):
    """What an array must be.

    Parameters
    ----------
    axes : str
        A letter for each axis; the same letters have the same size in all arrays of a result: P is
        for points of the grid, K for tasks, C for checkpoints.
    low, high : float
        The range of its numbers.
    most : str
        The array of its upper bounds, instead of `high`.
    is_whole : bool
        Whether it counts something.
    may_lack : bool
        Whether it is NaN where it is not defined. Where a point diverged, anything is.
    """

    axes: str
    low: float = -LARGEST
    high: float = LARGEST
    most: str = ""
    is_whole: bool = False
    may_lack: bool = False


def count(axes: str, most: str = "") -> Kind:
    """Return the kind of a number of examples."""
    return Kind(axes, 0.0, 2.0**53, most, is_whole=True)


SUM = {axes: Kind(axes, 0.0) for axes in ("P", "PK", "PC", "PKK")}
"""Sums of losses, errors or seconds."""

PLAY = {"mistakes": count("PK", "examples"), "updates": count("PK")}
STREAM = {"examples": count("K"), "seen": count("C")}
CHECKPOINTS = {"checkpoint_mistakes": count("PC", "seen")}
TIMED = {"seconds": SUM["P"]}
BY_TASK = {
    "checkpoint_by_task": count("PCK", "seen_by_task"),
    "seen_by_task": count("CK"),
}
CUMULATIVE = PLAY | STREAM | CHECKPOINTS | TIMED | BY_TASK | {"checkpoint_loss": SUM["PC"]}
TESTED = {
    "auc": Kind("PK", 0.0, 1.0, may_lack=True),
    "validation": Kind("P", 0.0, 1.0, may_lack=True),
    "examples": count("K"),
}
OBJECTIVE = ("loss", "penalty", "proximity", "shared", "own")
RANKED = ("precision", "average_precision")

SCHEMAS: dict[str, dict[str, Kind]] = {
    "cumulative": CUMULATIVE,
    "given_order": CUMULATIVE,
    "rehearsed": CUMULATIVE,
    "batch": TESTED,
    "heldout": TESTED | PLAY | TIMED,
    "objective": {
        **{"mistakes": PLAY["mistakes"], **STREAM, **CHECKPOINTS},
        **{f"checkpoint_{name}": Kind("PC") for name in OBJECTIVE},
        **{f"largest_{name}": SUM["PC"] for name in ("gradient", "weighted")},
    },
    "queries": {
        **{**PLAY, "examples": count("K"), "queries": count("PK", "examples")},
        **{"right": count("PK", "tested"), "tested": count("K")},
        "correlation": Kind("P", -1.0 - 1e-9, 1.0 + 1e-9, may_lack=True),
    },
    "regression": {
        **{**STREAM, "absolute": SUM["PK"], "square": SUM["PK"], "checkpoint_absolute": SUM["PC"]},
        **{"test_absolute": Kind("PK", 0.0, may_lack=True), "order": count("K")},
    },
    # A learner may see all tasks as one, so it has T of them, and the ranking N.
    "similarity": {
        **{"mistakes": count("PT", "examples"), "updates": count("PT")},
        **{"queries": count("PT"), "examples": count("T"), "seen": count("C")},
        **{**CHECKPOINTS, **TIMED, "validation": Kind("P", 0.0, 100.0 + 1e-9, may_lack=True)},
        **{name: Kind("PR", 0.0, 100.0 + 1e-9, may_lack=True) for name in RANKED},
        **{f"{name}_by_task": Kind("PNR", 0.0, 100.0 + 1e-9, may_lack=True) for name in RANKED},
    },
    "accumulation": {
        **{"mistakes": PLAY["mistakes"], "longest": SUM["PK"], "examples": count("K")},
        **{"errors": SUM["PKK"], "weighed_errors": SUM["PKK"], "shares": Kind("PKE", 0.0, 1.0)},
        **{"n_past": count("PK"), "place": count("K")},
    },
}
"""The arrays of each module of `omtl.protocols`; those of an option may be absent."""

OPTIONAL = {*BY_TASK, "seconds", "validation", "correlation"}
"""Arrays that only some options of a protocol, or only some learners, leave."""

DIVERGED = count("P")

FOUND = "found_"
"""How the names of a learner's findings begin, which may be any numbers of each point."""


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
    package, _, module = protocol.rpartition(".")
    sizes = {"P": n_points, "K": n_tasks}
    _check("diverged", arrays, DIVERGED, sizes)
    if package != "omtl.protocols" or module not in SCHEMAS:
        return
    kinds = SCHEMAS[module]
    optional = OPTIONAL if module != "similarity" else kinds.keys() - set(RANKED)
    if lacking := kinds.keys() - optional - arrays.keys():
        raise ValueError(f"it has no array {min(lacking)!r}")
    for name in arrays:
        if name in kinds:
            _check(name, arrays, kinds[name], sizes)
        elif name.startswith(FOUND):
            _check_shape(name, arrays[name].shape[:1], "P", sizes)
        elif name != "diverged":
            raise ValueError(f"protocol {module} has no array {name!r}")


def _check(name: str, arrays: Mapping[str, np.ndarray], kind: Kind, sizes: dict[str, int]) -> None:
    array = arrays.get(name)
    if array is None:
        raise ValueError(f"it has no array {name!r}")
    _check_shape(name, array.shape, kind.axes, sizes)
    if kind.is_whole and array.dtype.kind == "f" and (array != np.floor(array)).any():
        raise ValueError(f"array {name!r} has no whole numbers")
    most: Any = kind.high
    if kind.most:
        most = arrays.get(kind.most)
        _check_shape(kind.most, () if most is None else most.shape, kind.axes[1:], sizes)
    if not array.size or (array.min() >= kind.low and (array <= most).all()):  # not if any is NaN
        return
    wrong = ~((array >= kind.low) & (array <= most))
    if kind.may_lack:
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
