"""Oracle of ROMCO, with a singular value decomposition of all tasks' weights in every round."""

from __future__ import annotations

import numpy as np

from omtl.kernel.rules import Shape
from omtl.learners.romco import ROMCO
from omtl.reference import Rounds, Step, Steps, transcribes


@transcribes(ROMCO)
def romco(learner: ROMCO, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of gradients on U + V, singular values and tasks shrunk after each round."""
    n_tasks, n_features = shape.n_tasks, shape.n_features
    eta, lam1, lam2 = learner
    U, V = np.zeros((2, n_tasks, n_features))
    for given in rounds:
        for x, y, k, _ in given:
            score = float((U[k] + V[k]) @ x)
            fired = y * score < 1.0 and bool(x.any())
            yield Step(score, fired, abs(y * score - 1.0))
            if fired:
                U[k] += eta * y * x
                V[k] += eta * y * x
        left, sigma, right = np.linalg.svd(U, full_matrices=False)
        U = left @ np.diag(np.maximum(0.0, sigma - eta * lam1)) @ right
        U[np.abs(U) <= 1e-15 * sigma.max()] = 0.0  # the decomposition's rounding error
        norms = np.linalg.norm(V, axis=1)
        V *= (np.maximum(0.0, norms - eta * lam2) / np.where(norms > 0.0, norms, 1.0))[:, None]
