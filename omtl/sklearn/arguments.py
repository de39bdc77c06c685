"""Processing of estimators' arguments: classes, tasks, networks, hyper-parameters."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from numbers import Integral
from reprlib import repr as in_short
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import _check_sample_weight

from omtl.data.networks import mixing_matrix
from omtl.data.validation import sound_rows
from omtl.util.errors import UserError

MOST_NAMES = 1 << 20
"""The range of whole numbers that name tasks, up to which a table of them is made."""

MOST_TIMES = 2**31
"""The largest weight of an example: it is met so many times."""


def given_rows(X: Any, y: Any = None) -> Any:
    """Return examples for scikit-learn's validation; sparse ones are canonical.

    Raises
    ------
    ValueError
        If it would take times for numbers, or read what is masked.
    """
    kinds = X.dtypes if hasattr(X, "columns") else [getattr(X, "dtype", None)]
    if any(getattr(kind, "kind", "") in ("M", "m") for kind in kinds):
        raise ValueError("X has times; replace them by numbers, such as days since the first")
    for what, each in (("X", X), ("y", y)):
        if isinstance(each, np.ma.MaskedArray) and np.ma.is_masked(each):
            raise ValueError(f"{what} has masked values; leave out their examples, or fill them")
    return sound_rows(X)


def label_classes(labels: Any) -> np.ndarray:
    """Return the sorted classes that occur; raise ValueError if they are of several kinds."""
    array = np.asarray(labels)
    try:
        kept = not isinstance(labels, list | tuple) or array.tolist() == [*labels]
        if kept and (array == array).all():
            return np.unique(array)
    except TypeError:  # they have no order
        pass
    raise ValueError(f"classes must be labels of one kind, such as two strings: {in_short(labels)}")


def two_classes(classes: np.ndarray) -> np.ndarray:
    """Return sorted classes; raise ValueError unless there are two."""
    if classes.size > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is multiclass: "
            f"{classes.size} classes"
        )
    if classes.size < 2:
        raise ValueError(
            f"two classes are needed, but there is one class or none: {classes.tolist()}; if "
            "a stream begins with one class, name both (classes=)"
        )
    return classes


def task_labels(task: Any, what: str) -> list[Hashable]:
    """Return labels of tasks as plain, hashable objects."""
    plain = task.tolist() if hasattr(task, "tolist") else task
    if (
        isinstance(plain, str | bytes | set | frozenset | Mapping)
        or not isinstance(plain, Iterable)
        or getattr(task, "ndim", 1) != 1
    ):
        raise ValueError(f"{what}={in_short(task)} must be a sequence of labels, such as a list")
    listed = list(plain)
    try:
        missing = any(label is None or label != label for label in set(listed))  # NaN
    except TypeError as fault:
        raise ValueError(
            f"{what}: a label must be hashable, such as a string, and not missing: {fault}"
        ) from None
    if missing:
        raise ValueError(f"{what}: a label is NaN or None, which names no task")
    return listed


def declared_names(tasks: Any) -> tuple[Hashable, ...]:
    """Return the names of declared tasks; raise ValueError if one is repeated or there is none."""
    names = task_labels(tasks, "tasks")
    if len(set(names)) != len(names) or not names:
        raise ValueError(f"tasks={names} must be one or more distinct labels")
    return tuple(names)


class TaskCodes(NamedTuple):
    """The tasks of examples.

    Parameters
    ----------
    codes : ndarray of shape (n_examples,), int64
        A number of each example's task.
    names : list of hashable
        The label of each number.
    """

    codes: np.ndarray
    names: list[Hashable]


def task_codes(task: Any) -> TaskCodes | None:
    """Return labels of tasks as numbers; None if there are none."""
    if task is None:
        return None
    is_vector = type(task) in (np.ndarray, np.memmap) and task.ndim == 1 and task.size > 0
    if is_vector and task.dtype.kind in "iu":  # without a Python object for each example
        wide = task if task.dtype.itemsize == 8 else task.astype(np.int64)
        least = int(wide.min())
        if int(wide.max()) - least < MOST_NAMES:
            distance = (wide - wide.dtype.type(least)).astype(np.int64)
            there = np.bincount(distance) > 0
            codes = (np.cumsum(there) - 1)[distance]
            return TaskCodes(codes, [least + k for k in np.flatnonzero(there).tolist()])
    number: dict[Hashable, int] = {}
    labels = task_labels(task, "task")
    codes = np.array([number.setdefault(label, len(number)) for label in labels], dtype=np.int64)
    return TaskCodes(codes, list(number))


def names_of_codes(given: TaskCodes | None) -> tuple[Hashable, ...]:
    """Return the tasks that occur, sorted if possible, otherwise in order of appearance."""
    if given is None:
        return (0,)
    try:
        return tuple(sorted(given.names))  # type: ignore[type-var]
    except TypeError:
        return tuple(given.names)


def numbering(tasks: tuple[Hashable, ...]) -> dict[Hashable, int]:
    """Return the index of each task; that of None is 0 if there is only one."""
    number = {name: k for k, name in enumerate(tasks)}
    return number if len(tasks) > 1 else {None: 0, **number}


def numbers_of(given: TaskCodes | None, n: int, number: Mapping[Hashable, int]) -> np.ndarray:
    """Return the indices of the tasks of `n` examples (`numbering`)."""
    if given is None:
        if None not in number:
            raise ValueError(
                f"there are {len(number)} tasks: give the task of each example (task=)"
            )
        return np.zeros(n, dtype=np.int64)
    if given.codes.size != n:
        raise ValueError(f"task has {given.codes.size} entries for {n} examples")
    try:
        return np.array([number[name] for name in given.names], dtype=np.int64).take(given.codes)
    except KeyError as fault:
        names = [name for name in number if name is not None]
        shown = ", ".join(map(repr, names[:10])) + (", …" if len(names) > 10 else "")
        raise ValueError(
            f"task {fault.args[0]!r} was not declared (declared: {shown}); "
            "name all tasks when learning begins (tasks=)"
        ) from None


def mixing_of(network: Any, n_tasks: int) -> np.ndarray:
    """Return the combination weights of a network; raise ValueError if it is invalid."""
    try:
        if isinstance(network, str):
            return mixing_matrix(n_tasks, network)
        if isinstance(network, Mapping):
            if not isinstance(network.get("weights", ""), str):
                raise UserError("network: weights is a name; give weights of your own as the array")
            if not isinstance(network.get("include_self", True), bool):
                raise UserError("network: include_self must be True or False")
            return mixing_matrix(**{"n_nodes": n_tasks, **network})
    except (UserError, TypeError) as fault:
        raise ValueError(str(fault)) from fault
    try:
        mixing = np.ascontiguousarray(network, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"network={network!r} must be a name, a mapping of options or an array of weights"
        ) from None
    if mixing.ndim != 2 or mixing.shape[0] != mixing.shape[1]:
        raise ValueError(f"network: combination weights of shape {mixing.shape} are not square")
    if not (np.all(mixing >= 0.0) and np.allclose(mixing.sum(axis=1), 1.0)):
        raise ValueError(
            "network: combination weights must be non-negative, and each row must sum to 1"
        )
    return mixing


def count_rounds(numbers: np.ndarray, n_tasks: int, by_task: bool) -> int:
    """Return the number of rounds of a whole stream (`omtl.kernel.loop`)."""
    if not by_task:
        return numbers.size
    count, met = 0, set[int]()
    for k in numbers.tolist():
        if k in met or len(met) == n_tasks:
            count, met = count + 1, set()
        met.add(k)
    return count + bool(met)


def count_in(name: str, value: Any) -> int:
    """Return a number of things or a seed; raise ValueError unless it is one."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{name}={value!r} must be a non-negative whole number")
    return int(value)


def example_counts(
    given: Any, names: tuple[Hashable, ...], counted: np.ndarray | None
) -> tuple[int, ...]:
    """Return the number of examples of each task, as far as known."""
    if given is not None:
        if not isinstance(given, Mapping) or set(given) != set(names):
            raise ValueError(f"n_examples must give a number to each of the tasks {names}")
        return tuple(count_in("n_examples", given[name]) for name in names)
    return () if counted is None else tuple(np.bincount(counted, minlength=len(names)).tolist())


def nodes_of(number: np.ndarray, node: Any, n_nodes: int, n_tasks: int) -> np.ndarray:
    """Return the node of each example: by default that with the number of its task."""
    if node is None:
        if n_nodes != n_tasks:
            raise ValueError(
                f"the network has {n_nodes} nodes for {n_tasks} tasks: "
                "give the node of each example (node=)"
            )
        return number.copy()
    nodes = np.asarray(node)
    if nodes.shape != number.shape or nodes.dtype.kind not in "iu":
        raise ValueError(f"node must be {number.size} whole numbers, one per example")
    if nodes.size and not (nodes.min() >= 0 and nodes.max() < n_nodes):
        raise ValueError(
            f"node must be from 0 to {n_nodes - 1}, because the network has {n_nodes} nodes"
        )
    return nodes.astype(np.int64)


def repeat_by_weight(
    sample_weight: Any, X: Any, y: np.ndarray, task: Any, node: Any
) -> tuple[Any, ...]:
    """Return X, y, task and node with each example as many times as it weighs.

    Raises
    ------
    ValueError
        If a weight is not a whole number from 0 on, or all are 0.
    """
    if sample_weight is None:
        return X, y, task, node
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    is_count = (weights >= 0.0) & (weights <= MOST_TIMES) & (weights == np.floor(weights))
    if not is_count.all() or not weights.any():
        raise ValueError(
            "sample_weight must be whole numbers, 0 or more, not all 0: an example is met as many "
            "times as it weighs"
        )
    at = np.repeat(np.arange(weights.size), weights.astype(np.int64))

    columns = {"task": task, "node": node}
    for what, each in columns.items():
        if each is not None:
            labels = each if isinstance(each, np.ndarray) else task_labels(each, what)
            if len(labels) != weights.size:
                raise ValueError(f"{what} has {len(labels)} entries for {weights.size} examples")
            columns[what] = _safe_indexing(labels, at)
    return X[at], y[at], *columns.values()


def seed_of(random_state: Any) -> int:
    """Return the seed that a `random_state` stands for: itself, or one drawn from it."""
    if isinstance(random_state, Integral):
        return count_in("random_state", random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))
