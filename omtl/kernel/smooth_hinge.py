"""The hinge loss with a smooth corner, and linear models that minimise weighted sums of it.

The corner is a parabola of a small width (Chapelle, Neural Computation 2007, "training a support
vector machine in the primal"), which lowers a loss by at most width/2. The objective of a
model, Σ_i c_i ℓ(y_i w·x_i) + ridge/2 ‖w‖², is then convex, and its gradient piecewise linear.
Newton's method with an exact line search reaches its minimiser in the few steps needed to find
which examples are in the corner. It is compiled here, because SciPy's solvers spend more time on
one step of such a small problem than all of its arithmetic takes. With many or sparse features
there would be too many second derivatives, so SciPy's L-BFGS-B is used.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.extending import register_jitable
from scipy import optimize, sparse

from omtl.util.compile_cache import kept

MOST_FEATURES = 300
"""With more features than these the solver is L-BFGS-B."""

GAP = 1e-12
"""How far an objective may be above its minimum when Newton's method ends. The ridge makes it
strongly convex, so it is above by at most ‖gradient‖² / (2 ridge)."""

STEPS = 1000
"""Maximum number of steps of Newton's method."""

TRIALS = 50
"""Maximum number of step lengths to try."""

FLAT = 0.1
"""A step may end where the slope is below this part of the initial slope."""

ROUNDING = 1e-15
"""Relative rounding error of an objective."""

LEAST_CURVATURE = 1e-13
"""Lower bound on the ridge in the second derivatives of a step, as a part of their value with all
examples in the corner: without a ridge they may be zero."""

STOP: dict[str, Any] = {"maxiter": 200, "maxfun": 400, "maxcor": 20, "ftol": 1e-7, "gtol": 1e-5}
"""Stopping options of L-BFGS-B."""


def smooth_hinge(margins: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the smooth hinge loss of margins z = y w·x, and minus its derivative in z.

    ℓ(z) = 0 for z ≥ 1, (1 − z)² / (2 width) for 1 − width ≤ z < 1, 1 − z − width/2 below.
    """
    short = np.subtract(1.0, margins)
    np.maximum(short, 0.0, out=short)
    slope = np.minimum(short / width, 1.0)
    short -= (0.5 * width) * slope
    short *= slope
    return short, slope


def minimisers(
    signed: np.ndarray | sparse.csr_array,
    c: np.ndarray,
    ridge: float,
    width: float,
    start: np.ndarray | None = None,
) -> np.ndarray:
    """Return argmin_w Σ_i c_mi ℓ(w·z_i) + ridge/2 ‖w‖² for each model m, (n_models, n_features).

    The final objective is at most `GAP` above its minimum, up to rounding.

    Cost: about ten steps of Newton's method for each model, or three if started near the minimiser;
    each step costs O(n_features) for each example with a weight and O(n_features²) for each in the
    corner. L-BFGS-B takes some tens of steps of O(n_models · nonzeros), and is less exact.

    Parameters
    ----------
    signed : ndarray or csr_array of shape (n_examples, n_features)
        z_i = y_i x_i; fastest by columns (Fortran's order).
    c : ndarray of shape (n_models, n_examples)
        Weights c ≥ 0.
    ridge : float
        Ridge ≥ 0.
    width : float
        Width > 0 of the corner.
    start : ndarray of shape (n_models, n_features), optional
        Where to start; by default the minimiser of the mean of all models' objectives, itself
        started at zero. The result is no worse than the start.
    """
    if start is not None:
        W = start.copy()
    elif len(c) > 1:
        alike = minimisers(signed, c.mean(axis=0, keepdims=True), ridge, width)
        W = np.repeat(alike, len(c), axis=0)
    else:
        W = np.zeros((1, signed.shape[1]))
    if sparse.issparse(signed) or signed.shape[1] > MOST_FEATURES:
        return _by_lbfgs(signed, c, ridge, width, W)
    greatest = np.einsum("ij,ij->j", signed, signed) / (len(signed) * width)
    floor = np.maximum(ridge, LEAST_CURVATURE * np.where(greatest > 0.0, greatest, 1.0))
    by_feature = np.ascontiguousarray(signed.T)
    for w, weight in zip(W, np.ascontiguousarray(c), strict=True):
        _newton(by_feature, weight, ridge, width, floor, w)
    return W


def _by_lbfgs(
    signed: np.ndarray | sparse.csr_array, c: np.ndarray, ridge: float, width: float, W: np.ndarray
) -> np.ndarray:
    """Return the minimisers of all models together."""

    def objective(v: np.ndarray) -> tuple[float, np.ndarray]:
        V = v.reshape(W.shape)
        loss, slope = smooth_hinge(np.asarray(signed @ V.T).T, width)
        slope *= c
        value = float(np.vdot(c, loss) + 0.5 * ridge * np.vdot(v, v))
        return value, (ridge * V - np.asarray(signed.T @ slope.T).T).ravel()

    found = optimize.minimize(objective, W.ravel(), jac=True, method="L-BFGS-B", options=STOP)
    return found.x.reshape(W.shape)


_REORDERED = {"reassoc", "contract", "nsz"}


@kept(nogil=True, error_model="numpy")
def _newton(Z, c, ridge, width, floor, w):
    """Move w to the minimiser. Z has the features by rows; `floor` is the ridge in a step.

    If a second derivative overflows, w becomes nan.
    """
    if np.any(c == 0.0):
        counted = np.flatnonzero(c)
        Z, c = Z[:, counted], c[counted]
    short = 1.0 - np.dot(w, Z)
    for _ in range(STEPS):
        gradient = ridge * w - np.dot(Z, _pull(short, c, width))
        if np.dot(gradient, gradient) <= 2.0 * ridge * GAP:
            break
        curvature = _curvature(Z, short, c, width)
        for f in range(w.size):
            curvature[f, f] += floor[f]
        if not np.isfinite(curvature.sum()):
            w[:] = np.nan
            break
        step = np.linalg.solve(curvature, -gradient)
        change = -np.dot(step, Z)
        t = _length(short, change, c, width, ridge * np.dot(w, step), ridge * np.dot(step, step))
        if t == 0.0:
            break
        w += t * step
        short += t * change


@register_jitable(fastmath=_REORDERED)
def _pull(short, c, width):
    """Return minus the derivative of each c ℓ(z) in z, where `short` is 1 − z."""
    pull = np.empty(short.size)
    for i in range(short.size):
        pull[i] = c[i] * min(max(short[i] / width, 0.0), 1.0)
    return pull


@register_jitable
def _curvature(Z, short, c, width):
    """Return the second derivatives of the losses, from the examples in the corner."""
    corner, n_corner = np.empty(short.size, np.int64), 0
    for i in range(short.size):
        if 0.0 < short[i] < width:
            corner[n_corner] = i
            n_corner += 1
    inside, weighed = np.empty((len(Z), n_corner)), np.empty((len(Z), n_corner))
    for f in range(len(Z)):
        for k in range(n_corner):
            inside[f, k] = Z[f, corner[k]]
            weighed[f, k] = c[corner[k]] / width * inside[f, k]
    return np.dot(weighed, inside.T)


@register_jitable(error_model="numpy")
def _length(short, change, c, width, pull, stiffness):
    """Return how far to go along a step: to where the objective is flat and no higher, or 0 if it
    falls only by rounding. The ridge's change is t pull + t²/2 stiffness."""
    start, slope, _ = _along(short, change, 0.0, c, width)
    steep = -(slope + pull)
    if not steep > ROUNDING * start:
        return 0.0
    t, low, high = 1.0, 0.0, np.inf
    for _ in range(TRIALS):
        value, slope, curve = _along(short, change, t, c, width)
        value += t * (pull + 0.5 * t * stiffness)
        slope += pull + t * stiffness
        if abs(slope) <= FLAT * steep and value <= start:
            return t
        if slope < 0.0:
            low = t
        else:
            high = t
        t -= slope / (curve + stiffness)
        if not low < t < high:
            t = 0.5 * (low + high) if high < np.inf else 2.0 * low
    return low


@register_jitable(fastmath=_REORDERED)
def _along(short, change, t, c, width):
    """Return the losses at t along a step, and their first and second derivatives in t."""
    value, slope, curve = 0.0, 0.0, 0.0
    for i in range(short.size):
        below = short[i] + t * change[i]
        part = min(max(below / width, 0.0), 1.0)
        value += c[i] * part * (below - 0.5 * width * part)
        slope += c[i] * part * change[i]
        curve += c[i] * change[i] * change[i] if 0.0 < below < width else 0.0
    return value, slope, curve / width
