"""Soft confidence-weighted learning, SCW (Wang, Zhao, Hoi, ICML 2012)."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from omtl.kernel.by_feature import Gaussians
from omtl.kernel.rules import Example, Shape


class Confident(NamedTuple):
    """The distributions of the weights, and φ = Φ⁻¹(η)."""

    weights: Gaussians
    phi: np.ndarray


class SCW(NamedTuple):
    """SCW-I (Wang et al. 2012, proposition 1) with a diagonal Σ, the identity at first.

    Objective of each step, which moves a Gaussian over the weights from N(w', Σ') to N(w, Σ):

        min KL(N(w, Σ) ‖ N(w', Σ')) + C max(0, φ √(xᵀΣx) − y w·x),  φ = Φ⁻¹(η)

    Update, if φ√v > m, with m = y w·x, v = xᵀΣx, ψ = 1 + φ²/2, ζ = 1 + φ², and only Σ's diagonal:

        α = min(C, max(0, (−mψ + √(m²φ⁴/4 + vφ²ζ)) / (vζ)))
        β = αφ / (√u + vαφ),  u = ¼ (−αvφ + √(α²v²φ² + 4v))²
        w ← w + α y Σx
        Σ ← Σ − β Σx xᵀΣ

    Cost per example: O(nonzeros).

    Parameters
    ----------
    C : float in (0, inf)
        The largest step C > 0.
    eta : float in (0.5, 1)
        η, between ½ and 1: the probability of a correct prediction required after a step.
    pooled : bool
        One weight vector for all tasks instead of one per task.

    Estimator
    ---------
    defaults : C = 1.0, eta = 0.9
    cites : wang2012exact
    """

    C: float
    eta: float
    pooled: bool = False

    def new_state(self, shape: Shape) -> Confident:
        """Return zero means, with variances of 1."""
        n = 1 if self.pooled else shape.n_tasks
        phi = NormalDist().inv_cdf(self.eta)
        return Confident(Gaussians.standard(n, shape.n_features), np.array([phi]))

    def score(self, state: Confident, x: Example) -> float:
        """Return w·x."""
        return state.weights.dot(0 if self.pooled else x.task, x)

    def update(self, state: Confident, x: Example, y: float, score: float) -> bool:
        """Move the means towards this example, and shrink the variances."""
        k = 0 if self.pooled else x.task
        phi, m = state.phi[0], y * score
        v = max(x.square_norm - state.weights.dropped(k, x), 0.0)
        if phi * math.sqrt(v) <= m:
            return False
        square = phi * phi
        root = math.sqrt(m * m * square * square / 4.0 + v * square * (1.0 + square))
        alpha = min(self.C, (root - m * (1.0 + square / 2.0)) / max(v * (1.0 + square), 1e-300))
        if alpha <= 0.0:
            return False
        reach = alpha * v * phi
        deviation = 0.5 * (math.sqrt(reach * reach + 4.0 * v) - reach)
        beta = alpha * phi / (deviation + reach)
        state.weights.learn(k, alpha * y, beta, x)
        return True
