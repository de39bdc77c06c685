"""Similar tasks whose true weights are a random walk (DOM paper, section 4.1; after COML's).

Nothing is fetched: w⁰ has 60 % of its components 1 and the rest −1.5, task k's weights are those of
task k − 1 plus Gaussian increments, examples are uniform in a cube, and labels have no noise.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from data_fetchers.fetch import RemoteFile
from omtl.errors import UserError
from omtl.streams import Tasks

NAME = "random_walk"
FILES: tuple[RemoteFile, ...] = ()
CITATION = ""
LICENCE = "none needed: drawn here"
SYNTHETIC = True

BOUND = 3.0
"""Examples are uniform in [−BOUND, BOUND]^d."""


def true_weights(
    rng: np.random.Generator, n_tasks: int, n_features: int, increment: float, increment_is: str
) -> np.ndarray:
    """Draw the tasks' true weights, shape (n_tasks, n_features).

    Raises
    ------
    UserError
        If `increment_is` is neither ``variance`` nor ``std``.
    """
    stds = {"variance": increment**0.5, "std": increment}
    if increment_is not in stds:
        raise UserError(
            f"random_walk: increment_is={increment_is!r} is not known; "
            f"choose from {', '.join(stds)}"
        )
    start = np.where(np.arange(n_features) < round(0.6 * n_features), 1.0, -1.5)
    steps = stds[increment_is] * rng.standard_normal((n_tasks, n_features))
    return start + np.cumsum(steps, axis=0)


def load(
    *,
    home: Path | None = None,  # noqa: ARG001 - nothing is kept
    rng: np.random.Generator,
    n_tasks: int = 9,
    n_examples: int = 2000,
    n_features: int = 100,
    increment: float = 0.1,
    increment_is: str = "variance",
) -> Tasks:
    """Draw the tasks and their examples.

    Parameters
    ----------
    rng : numpy.random.Generator
        Decides the draw.
    n_tasks, n_examples, n_features : int
        Numbers of tasks, of examples of each task, and of features.
    increment : float
        Size of the random walk's steps.
    increment_is : {"variance", "std"}
        What `increment` is of.
    """
    weights = true_weights(rng, n_tasks, n_features, increment, increment_is)
    X = rng.uniform(-BOUND, BOUND, (n_tasks * n_examples, n_features))
    task = np.repeat(np.arange(n_tasks), n_examples)
    y = np.where(np.einsum("ij,ij->i", X, weights[task]) > 0.0, 1.0, -1.0)
    return Tasks(X, y, task, tuple(f"task {k + 1}" for k in range(n_tasks)))
