"""Three tasks, two of which are each other's negative (OMTL paper, section 5.1, "Synthetic").

Nothing is downloaded: w_1 = -w_2, w_3 is uncorrelated with both, and labels are the signs of w_k·x.
The paper does not say how weights and examples are drawn: here both are standard normal, and w_3 is
made uncorrelated with w_1.
"""

from __future__ import annotations

import numpy as np

from data_fetchers.fetch import RemoteFile
from omtl.data.streams import Tasks

NAME = "opposed_tasks"
FILES: tuple[RemoteFile, ...] = ()
CITATION = ""
LICENCE = "none needed: drawn here"
SYNTHETIC = True


def true_weights(rng: np.random.Generator, n_features: int) -> np.ndarray:
    """Draw the tasks' true weights, shape (3, n_features)."""
    w, other = rng.standard_normal((2, n_features))
    centred = w - w.mean()
    third = other - (other @ centred) / (centred @ centred) * centred
    return np.array([w, -w, third])


def load(
    *,
    rng: np.random.Generator,
    n_examples: int = 100,
    n_features: int = 10,
) -> Tasks:
    """Draw the tasks and their examples.

    Parameters
    ----------
    rng : numpy.random.Generator
        Decides the draw.
    n_examples, n_features : int
        Numbers of examples per task, and of features.
    """
    weights = true_weights(rng, n_features)
    X = rng.standard_normal((3 * n_examples, n_features))
    task = np.repeat(np.arange(3), n_examples)
    y = np.where(np.einsum("ij,ij->i", X, weights[task]) > 0.0, 1.0, -1.0)
    return Tasks(X, y, task, ("task 1", "task 2", "task 3"))
