"""Regression tasks whose weights deviate little from a common vector (Denevi et al., UAI 2020).

Nothing is downloaded: w_k = θ + N(0, I) with all components of θ equal, inputs are uniform on the
unit sphere, and y = ⟨x, w_k⟩ + noise with a signal-to-noise ratio of 1 (section 8). As in the
authors' program, the ratio is exact in each task: the noise is scaled to the variance of its
signal.
"""

from __future__ import annotations

import numpy as np

from data_fetchers.fetch import RemoteFile
from omtl.data.streams import RealTasks

NAME = "biased_tasks"
FILES: tuple[RemoteFile, ...] = ()
CITATION = ""
LICENCE = "none needed: drawn here"
SYNTHETIC = True


def load(
    *,
    rng: np.random.Generator,
    n_tasks: int = 400,
    n_examples: int = 50,
    n_features: int = 10,
    component: float = 4.0,
) -> RealTasks:
    """Draw the tasks and their examples.

    Parameters
    ----------
    rng : numpy.random.Generator
        Decides the draw.
    n_tasks, n_examples, n_features : int
        Numbers of tasks, of examples per task, and of features.
    component : float
        All components of θ.
    """
    X = rng.standard_normal((n_tasks, n_examples, n_features))
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    W = component + rng.standard_normal((n_tasks, n_features))
    signal = np.einsum("tnd,td->tn", X, W)
    noise = rng.standard_normal((n_tasks, n_examples))
    noise *= signal.std(axis=1, keepdims=True) / noise.std(axis=1, keepdims=True)
    return RealTasks(
        X.reshape(-1, n_features),
        (signal + noise).ravel(),
        np.repeat(np.arange(n_tasks), n_examples),
        tuple(f"task {k + 1}" for k in range(n_tasks)),
    )
