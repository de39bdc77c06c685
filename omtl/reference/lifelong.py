"""Oracles of ITOL, TOL and AKLO, with all past classifiers as vectors and all losses."""

from __future__ import annotations

from math import floor, log, log2, sqrt

import numpy as np

from omtl.kernel.rules import Shape
from omtl.learners.lifelong import AKLO, OGD
from omtl.reference import ReferenceStep, Rounds, Steps, transcribes
from omtl.reference.vocabulary import examples, uniforms, weights_of_losses, zero_weights


@transcribes(OGD)
def ogd(learner: OGD, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of algorithm 1, lines 8 to 13, with η_t = 1 / (λ (t + shift))."""
    lam, pooled, shift, margin = learner
    w = zero_weights(shape)
    t = np.zeros(shape.n_tasks, dtype=int)
    for x, y, k, _ in examples(rounds, pooled):
        score = float(w[k] @ x)
        fired, gap = _due(y * score, margin)
        if x.any():
            t[k] += 1
            eta = 1.0 / (lam * (int(t[k]) + shift))
            w[k] = (1.0 - eta * lam) * w[k] + (eta * y * x if fired else 0.0)
        yield ReferenceStep(score, fired and bool(x.any()), gap)


@transcribes(AKLO)
def aklo(learner: AKLO, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of algorithms 1 and 2, and of the variant of theorem 2.

    The base of a task consists of the tasks that began before it.
    """
    draws = uniforms(shape.seed)
    order: list[int] = []
    w: dict[int, np.ndarray] = {}
    errors: dict[int, list[np.ndarray]] = {}
    for x, y, k, _ in examples(rounds):
        if k not in w:
            order.append(k)
            w[k], errors[k] = np.zeros(shape.n_features), []
        base = np.array([w[j] @ x for j in order[: order.index(k)]])
        t = len(errors[k]) + 1
        horizon = 0 if learner.doubling or not shape.n_examples else shape.n_examples[k]
        own = float(w[k] @ x)
        score, gap = _say(own, learner.own_clip), np.inf
        if base.size:
            p = _weights(errors[k], t, horizon, learner, base.size)
            if learner.uniform:
                p = np.full(base.size, 1.0 / base.size)
            if learner.sample:
                u = next(draws)
                edges = np.cumsum(p)[:-1]
                said = _say(base[int(np.searchsorted(edges, u, side="right"))], learner.clip)
                gap = min([gap, *np.abs(edges - u)])
            elif learner.clip == 0:
                said = float(np.clip(p @ base, -1.0, 1.0))
            else:
                said = float(p @ [_say(value, learner.clip) for value in base])
            a = _alpha(t, horizon, learner)
            score = (1.0 - a) * score + a * said
        fired, own_gap = _due(y * own, learner.margin)
        doubtful = [own] if learner.own_clip == 3 else []
        doubtful += list(base) if learner.clip == 3 or learner.loss == 1 else []
        gap = min([gap, own_gap, *(abs(value) for value in doubtful if value != 0.0)])
        if x.any():
            errors[k].append(_errors(base, y, learner.loss))
            eta = 1.0 / (learner.lam * (t + learner.shift))
            w[k] = (1.0 - eta * learner.lam) * w[k] + (eta * y * x if fired else 0.0)
        yield ReferenceStep(score, fired and bool(x.any()), gap)


def _due(margin_of_own: float, margin: float) -> tuple[bool, float]:
    """Return whether a step is due, and the distance from a different decision."""
    fired = margin_of_own < margin or margin_of_own <= 0.0
    edges = {margin, 0.0} if margin < 0.0 else {margin}
    sure = margin_of_own == 0.0  # exactly, because all products are empty
    return fired, np.inf if sure else min(abs(margin_of_own - edge) for edge in edges)


def _say(value: float, clip: int) -> float:
    """Return T(value), or the value itself (2) or its sign (3)."""
    if clip == 2:
        return float(value)
    return float(np.sign(value)) if clip == 3 else float(np.clip(value, -1.0, 1.0))


def _alpha(t: int, horizon: int, learner: AKLO) -> float:
    """Return α_t."""
    if horizon == 0:
        return t**-0.5
    if learner.fading == 1:
        return horizon / (horizon + t - 1)
    last = learner.alpha_last
    return last + (1.0 - last) * (1.0 - (t - 1) / horizon)


def _errors(base: np.ndarray, y: float, loss: int) -> np.ndarray:
    """Return e_t of each past classifier (algorithm 2, line 3, or its variants)."""
    if loss == 1:
        return (y * base <= 0.0).astype(float)
    return np.maximum(0.0, 1.0 - y * base) if loss == 2 else (np.clip(base, -1.0, 1.0) - y) ** 2


def _weights(
    errors: list[np.ndarray], t: int, horizon: int, learner: AKLO, n_past: int
) -> np.ndarray:
    """Return p_t (algorithm 2, line 5) from all errors so far, or from those of the interval."""
    until, since = horizon, 1
    if horizon == 0:
        until = since = 2 ** floor(log2(t))
    total = sum(_alpha(s, horizon, learner) for s in range(1, until + 1))
    epsilon = learner.epsilon_factor * sqrt(log(n_past) / (8.0 * total))
    lost = np.sum([np.zeros(n_past), *errors[since - 1 :]], axis=0)
    return weights_of_losses(lost, epsilon)
