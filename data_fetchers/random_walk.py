"""Similar tasks whose true weights are a random walk (DOM paper, section 4.1; after COML's).

Nothing is downloaded: w⁰ has 60 % of its components 1 and the rest −1.5, task k's weights are those
of task k − 1 plus Gaussian increments, examples are uniform in a cube, and labels have no noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from data_fetchers.fetch import RemoteFile
from omtl.data.streams import Tasks
from omtl.util.errors import UserError

NAME = "random_walk"
FILES: tuple[RemoteFile, ...] = ()
CITATION = ""
LICENCE = "none needed: drawn here"
SYNTHETIC = True

BOUND = 3.0
"""Examples are uniform in [−BOUND, BOUND]^d."""


def step_std(size: float, size_is: str) -> float:
    """Return the standard deviation of a step whose variance or deviation is given.

    Raises
    ------
    UserError
        If `size_is` is neither ``variance`` nor ``std``.
    """
    stds = {"variance": size**0.5, "std": size}
    if size_is not in stds:
        raise UserError(
            f"random walk: a size that is {size_is!r} is not known; choose from {', '.join(stds)}"
        )
    return stds[size_is]


def labelled(rng: np.random.Generator, weights: np.ndarray, n_examples: int) -> Tasks:
    """Draw examples uniform in the cube and label them by the tasks' true weights.

    Parameters
    ----------
    rng : numpy.random.Generator
        Decides the draw.
    weights : ndarray of shape (n_tasks, n_features)
        The tasks' true weights.
    n_examples : int
        Number of examples of each task.
    """
    n_tasks, n_features = weights.shape
    X = rng.uniform(-BOUND, BOUND, (n_tasks * n_examples, n_features))
    task = np.repeat(np.arange(n_tasks), n_examples)
    y = np.where(np.einsum("ij,ij->i", X, weights[task]) > 0.0, 1.0, -1.0)
    return Tasks(X, y, task, tuple(f"task {k + 1}" for k in range(n_tasks)))


def walk(
    rng: np.random.Generator, n_tasks: int, n_features: int, std: float | np.ndarray
) -> np.ndarray:
    """Draw weights, the steps having a standard deviation of `std`, shape (n_tasks, n_features)."""
    steps = std * rng.standard_normal((n_tasks, n_features))
    start = np.where(np.arange(n_features) < round(0.6 * n_features), 1.0, -1.5)
    return start + np.cumsum(steps, axis=0)


def true_weights(
    rng: np.random.Generator, n_tasks: int, n_features: int, increment: float, increment_is: str
) -> np.ndarray:
    """Draw the tasks' true weights, shape (n_tasks, n_features)."""
    return walk(rng, n_tasks, n_features, step_std(increment, increment_is))


@dataclass(frozen=True)
class Options:
    """The options of the data set.

    Parameters
    ----------
    n_tasks, n_examples, n_features : int
        Numbers of tasks, of examples per task, and of features.
    increment : float
        Size of the random walk's steps.
    increment_is : {"variance", "std"}
        The meaning of `increment`.
    """

    n_tasks: int = 9
    n_examples: int = 2000
    n_features: int = 100
    increment: float = 0.1
    increment_is: str = "variance"


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
        If `increment_is` is neither of the two.
    """
    std = step_std(options.increment, options.increment_is)
    weights = walk(rng, options.n_tasks, options.n_features, std)
    return labelled(rng, weights, options.n_examples)
