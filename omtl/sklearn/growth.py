"""States of streams whose tasks and features become more."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from omtl.kernel.loop import with_room
from omtl.kernel.rules import Shape
from omtl.sklearn.arguments import TaskCodes, task_labels, too_large
from omtl.sklearn.states import arrays_of, each_array

if TYPE_CHECKING:
    from omtl.sklearn.base import MultiTaskClassifier
    from omtl.sklearn.stream import TaskStream

_GROWING = threading.Lock()
"""So that threads which add tasks to one stream leave arrays of the same size."""


def new_tasks(stream: TaskStream, given: TaskCodes) -> dict[int, Hashable]:
    """Return new tasks by where they occur first; raise ValueError if they cannot be added."""
    if all(name in stream._number for name in given.names):
        return {}
    first = zip(np.unique(given.codes, return_index=True)[1].tolist(), given.names, strict=True)
    new = dict(sorted((i, name) for i, name in first if name not in stream._number))
    grown_state(stream, larger_shape(stream, len(stream._number) + len(new)))  # before any is met
    return new


def meet(stream: TaskStream, task: Hashable) -> None:
    """Add a task, if it is new."""
    if task is None and len(stream.tasks_) == 1:
        return
    (label,) = task_labels([task], "task")
    if label not in stream._number:
        add_task(stream, label)


def with_task(stream: MultiTaskClassifier, task: Hashable) -> MultiTaskClassifier:
    """Return a copy of an estimator that knows the task; what is learnt is shared."""
    twin = copy(stream)
    meet(twin, task)
    return twin


def add_task(stream: TaskStream, label: Hashable) -> None:
    """Add a task that is new; the arrays of the stream are replaced, and none is changed."""
    with _GROWING:
        n_tasks = len(stream.tasks_) + 1
        shape = larger_shape(stream, n_tasks)
        stream._state = grown_state(stream, shape)
        clock = each_array(stream._clock, lambda _, array: array.copy())
        stream._clock = clock._replace(last_met=np.append(clock.last_met, -1))
        if stream._holds:
            stream._window = with_room(stream._window, 2 * n_tasks + 1, stream._room)
        stream._shape = shape
        stream._number_tasks((*stream.tasks_, label))
        stream._forget_engine()


def grow_features(stream: TaskStream, n_features: int) -> None:
    """Add features up to this number, which no example has had yet; for sparse rows only."""
    with _GROWING:
        shape = stream._shape._replace(n_features=n_features)
        stream._state = grown_state(stream, shape)
        stream._forget_engine()
        stream._shape, stream.n_features_in_ = shape, n_features


def larger_shape(stream: TaskStream, n_tasks: int) -> Shape:
    """Return the shape of a stream with more tasks; raise ValueError if it has to know all."""
    shape = stream._shape
    if "network" in stream.entry.takes or shape.n_examples:
        raise ValueError(needs_all_tasks(stream))
    return shape._replace(n_tasks=n_tasks, mixing=np.eye(n_tasks))


def grown_state(stream: TaskStream, shape: Shape) -> Any:
    """Return a stream's state with more tasks or features, about which nothing is learnt.

    It is the state that would have been reached if they had been known from the start, but for
    what depends on the number of tasks.

    Raises
    ------
    ValueError
        If there is no memory for it, or if a new task changes the state in which others began.
    """
    n_before, n_tasks = stream._shape.n_tasks, shape.n_tasks
    try:
        empty = stream._learner.new_state(shape)
        begun = stream._learner.new_state(stream._shape) if n_tasks > n_before else empty
    except (MemoryError, OverflowError) as fault:
        raise ValueError(too_large(stream, shape)) from fault
    state = empty
    into = arrays_of(state)
    earlier = arrays_of(begun)
    for name, array in arrays_of(stream._state).items():
        place: list[Any] = [slice(size) for size in array.shape]
        for axis, size in enumerate(array.shape):
            if size == n_before + 1 and into[name].shape[axis] == n_tasks + 1 > size:
                place[axis] = [*range(n_before), n_tasks]  # what tasks share is behind them
        part = tuple(place)
        if n_tasks > n_before and not np.array_equal(into[name][part], earlier[name]):
            raise ValueError(needs_all_tasks(stream))
        into[name][part] = array
    return state


def needs_all_tasks(stream: TaskStream) -> str:
    """Return the message for a new task of a learner that begins differently with more tasks."""
    return f"{type(stream).__name__} has to know all tasks when learning begins: name them (tasks=)"
