"""Oracles of PEER and HUMBLE, with the trust of every task in every other."""

from __future__ import annotations

import numpy as np

from omtl.kernel.rules import Shape
from omtl.learners.peers import Humble, Peer
from omtl.reference import ReferenceStep, Rounds, Steps, transcribes
from omtl.reference.vocabulary import examples, uniforms, zero_weights


@transcribes(Peer)
def peer(learner: Peer, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of PEER (Shen et al. 2018, algorithm 1)."""
    n_tasks = shape.n_tasks
    b1, b2, lam, on_mistakes, single, budget, stops = learner
    w, draws = zero_weights(shape), uniforms(shape.seed)
    tau, asked = np.full((n_tasks, n_tasks), 1.0 / max(n_tasks - 1, 1)), 0
    for x, y, k, _ in examples(rounds):
        p = w @ x
        others = [m for m in range(n_tasks) if m != k]
        if not x.any():
            yield ReferenceStep(float(p[k]), False, abs(p[k]))
            continue
        chance, u = b1 / (b1 + abs(p[k])), next(draws)
        P = u <= chance and not (stops and asked >= budget)
        gap = min(abs(p[k]), abs(u - chance))
        Q, answer, M = True, 0.0, y * p[k] <= 0.0
        if P:
            if single and others:
                trusts = tau[k, others]
                answer = float(p[others[int(np.argmax(trusts))]])
                best = np.sort(trusts)[::-1]
                if len(best) > 1 and 0.0 < best[0] - best[1] <= 1e-12:
                    gap = 0.0  # rounding decides who is trusted most
            elif others:
                answer = float(tau[k, others] @ p[others])
            chance, u = b2 / (b2 + abs(answer)), next(draws)
            Q = u <= chance
            gap = min(gap, abs(u - chance))
            if not Q and answer != 0.0:
                gap = min(gap, abs(answer))
        Z = P and Q and asked < budget
        asked += Z
        fired = bool((P and not Q) or (Z and M))
        yield ReferenceStep(float(p[k]), fired, gap)
        if fired:
            w[k] = w[k] + (y if Q else 1.0 if answer >= 0.0 else -1.0) * x
        if Z and (M or not on_mistakes) and others:
            losses = np.maximum(0.0, 1.0 - y * p[others])
            tau[k, others] *= np.exp(-losses / (lam or losses.sum() or 1.0))
            tau[k, others] /= tau[k, others].sum() or 1.0


@transcribes(Humble)
def humble(learner: Humble, rounds: Rounds, shape: Shape) -> Steps:
    """Yield the steps of HUMBLE (Shen et al. 2018, algorithm 2)."""
    n_tasks = shape.n_tasks
    b, C, scaled, budget = learner
    w, draws = zero_weights(shape), uniforms(shape.seed)
    spent, total = 0, n_tasks if scaled else 1.0
    tau = np.full((n_tasks, n_tasks), total / n_tasks)
    for x, y, k, _ in examples(rounds):
        p = w @ x
        score = float(tau[k] @ p)
        if not x.any():
            yield ReferenceStep(score, False, abs(score))
            continue
        chance, u = b / (b + abs(score)), next(draws)
        asked = u <= chance and spent < budget
        spent += asked
        fired = bool(asked and y * score <= 0.0)
        yield ReferenceStep(score, fired, min(abs(score), abs(u - chance)))
        if fired:
            w[k] = w[k] + y * x
        if asked:
            losses = np.maximum(0.0, 1.0 - y * p)
            if scaled:
                losses = np.minimum(2.0, losses) / (np.minimum(2.0, losses).sum() or 1.0)
            tau[k] *= np.exp(-C * losses)
            if tau[k].sum() > 0.0:
                tau[k] *= total / tau[k].sum()
