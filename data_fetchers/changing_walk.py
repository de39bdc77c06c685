"""Similar tasks that change during learning: streams designed to break methods.

Nothing is downloaded. The tasks' weights start as a random walk over the tasks (`random_walk`),
where sharing between tasks helps. Then they drift, change sides at half time, have long runs of one
label, or begin one after the other. The examples of a task are in temporal order: use the protocol
``given_order``, because others shuffle them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from data_fetchers.fetch import RemoteFile
from data_fetchers.random_walk import BOUND, walk
from omtl.data.streams import Tasks
from omtl.util.errors import UserError

NAME = "changing_walk"
FILES: tuple[RemoteFile, ...] = ()
CITATION = ""
LICENCE = "none needed: drawn here"
SYNTHETIC = True


@dataclass(frozen=True)
class Options:
    """The options of the data set.

    Parameters
    ----------
    n_tasks, n_examples, n_features : int
        Numbers of tasks, of examples per task, and of features.
    increment : float
        Variance of the steps from one task's weights to the next one's.
    drift : float
        Variance of each weight's step from one example of a task to the next.
    swap_at : float in (0, 1]
        Share of the examples after which every second task's weights change sign, so that a task
        that was similar to the others becomes their opposite. 1 for never.
    run : int
        Number of examples of one label before those of the other, in opposite phase in neighbouring
        tasks; 1 for labels as drawn.
    fewest : float in (0, 1]
        Share of the examples that the last task has; the first has all of them, and those in
        between have decreasing numbers. With the protocol's ``join: late`` tasks then begin one
        after the other.
    """

    n_tasks: int = 8
    n_examples: int = 500
    n_features: int = 50
    increment: float = 0.1
    drift: float = 0.0
    swap_at: float = 1.0
    run: int = 1
    fewest: float = 1.0


def load(options: Options, *, rng: np.random.Generator) -> Tasks:
    """Draw the tasks and their examples.

    Parameters
    ----------
    options : Options
    rng : numpy.random.Generator
        Decides the draw.

    Raises
    ------
    UserError
        If a size is out of range.
    """
    if options.drift < 0.0 or options.run < 1:
        raise UserError(
            f"{NAME}: drift={options.drift!r} must be at least 0 and run={options.run!r} at least 1"
        )
    if not (0.0 < options.swap_at <= 1.0 and 0.0 < options.fewest <= 1.0):
        raise UserError(
            f"{NAME}: swap_at={options.swap_at!r} and fewest={options.fewest!r} "
            "must be above 0 and at most 1"
        )
    n_tasks, n_features = options.n_tasks, options.n_features
    w = walk(rng, n_tasks, n_features, options.increment**0.5)
    parts, labels, counts = [], [], []
    for k, share in enumerate(np.linspace(1.0, options.fewest, n_tasks).tolist()):
        n = max(1, round(share * options.n_examples))
        X = rng.uniform(-BOUND, BOUND, (n, n_features))
        steps = options.drift**0.5 * rng.standard_normal((n, n_features))
        weights = w[k] + np.cumsum(steps, axis=0)
        if k % 2:
            weights[round(options.swap_at * n) :] *= -1.0
        y = np.where(np.einsum("ij,ij->i", X, weights) > 0.0, 1.0, -1.0)
        if options.run > 1:  # an example and its mirror image have opposite labels
            wanted = np.where((np.arange(n) // options.run + k) % 2, -1.0, 1.0)
            X, y = X * (y * wanted)[:, None], wanted
        parts.append(X)
        labels.append(y)
        counts.append(n)
    task = np.repeat(np.arange(n_tasks), counts)
    names = tuple(f"task {k + 1}" for k in range(n_tasks))
    return Tasks(np.concatenate(parts), np.concatenate(labels), task, names)
