"""Oracles of learners that came after the papers, with explicit matrices over all tasks."""

from __future__ import annotations

import math

import numpy as np

from omtl.reference import Rounds, Step, Steps
from omtl.reference.baselines import slope_of
from omtl.reference.lifelong import first_word, xorshift
from omtl.reference.network import compound, inverse_relation


def hedged_multi_task(
    rounds: Rounds, n_tasks: int, n_features: int, eta: float, n_experts: int
) -> Steps:
    """Yield the steps of MT-OGD for each of the strengths, weighed by Hedge.

    Parameters
    ----------
    rounds : sequence of sequences of Given
    n_tasks, n_features : int
    eta : float
    n_experts : int
    """
    ones, eye = np.ones((n_tasks, n_tasks)), np.eye(n_tasks)
    strengths = np.linspace(0.0, 1.0, n_experts)
    inverses = [(1.0 - c) * eye + c * ones / n_tasks for c in strengths]
    w = np.zeros((n_experts, n_tasks * n_features))
    losses: list[np.ndarray] = []
    p, t = np.full(n_experts, 1.0 / n_experts), 0
    for given in rounds:
        for x, y, k, _ in given:
            phi = compound(x, k, n_tasks)
            scores = w @ phi
            score = float(p @ scores)
            fired = y * score < 1.0 and bool(x.any())
            yield Step(score, fired, abs(y * score - 1.0))
            t += bool(x.any())
            if not fired:
                continue
            apart = scores - scores[0]
            apart[np.abs(apart) <= 1e-12 * np.abs(scores).max()] = 0.0  # they differ by rounding
            losses.append(-y * (scores[0] + apart))
            for j, inverse in enumerate(inverses):
                step = np.kron(inverse, np.eye(n_features)) @ phi / inverse[k, k]
                w[j] = w[j] + eta * t**-0.5 * y * step
            spread = sum((one.max() - one.min()) ** 2 for one in losses)
            if spread > 0.0:
                total = np.sum(losses, axis=0)
                p = np.exp(-math.sqrt(math.log(n_experts) / spread) * (total - total.min()))
                p = p / p.sum()


def multitask_arow(rounds: Rounds, n_tasks: int, n_features: int, r: float, c: float) -> Steps:
    """Yield the steps of AROW on the rows (√(1 − c) φ, √c x), Σ made diagonal after each.

    Parameters
    ----------
    rounds : sequence of sequences of Given
    n_tasks, n_features : int
    r, c : float
    """
    mu = np.zeros((n_tasks + 1) * n_features)
    sigma = np.eye((n_tasks + 1) * n_features)
    for given in rounds:
        for x, y, k, _ in given:
            own = math.sqrt(1.0 - c) * compound(x, k, n_tasks)
            z = np.concatenate([own, math.sqrt(c) * x])
            m, v = float(mu @ z), float(z @ sigma @ z)
            fired = m * y < 1.0 and bool(x.any())
            if fired:
                beta = 1.0 / (v + r)
                mu = mu + max(0.0, 1.0 - y * m) * beta * y * (sigma @ z)
                sigma = np.diag(np.diag(sigma - beta * np.outer(sigma @ z, sigma @ z)))
            yield Step(m, fired, abs(y * m - 1.0))


def selective_perceptron(
    rounds: Rounds,
    n_tasks: int,
    n_features: int,
    a: float,
    b: float,
    at_random: bool,
    seed: int = 0,
) -> Steps:
    """Yield the steps of the multi-task perceptron that asks with probability a / (a + |r|).

    Parameters
    ----------
    rounds : sequence of sequences of Given
    n_tasks, n_features : int
    a, b : float
    at_random : bool
    seed : int
    """
    pooled = np.full((n_tasks, n_tasks), 1.0 / n_tasks)
    A = pooled if math.isinf(b) else inverse_relation(n_tasks, b)
    word = first_word(seed)
    w = np.zeros(n_tasks * n_features)
    for given in rounds:
        for x, y, k, _ in given:
            phi = compound(x, k, n_tasks)
            score = float(w @ phi)
            gap, fired = abs(y * score), False
            if x.any():
                word, u = xorshift(word)
                p = 0.5 if at_random else 1.0 if math.isinf(a) else a / (a + abs(score))
                gap, fired = min(gap, abs(u - p)), u <= p and y * score <= 0.0
            if fired:
                w = w + y * np.kron(A, np.eye(n_features)) @ phi
            yield Step(score, fired, gap)


def peer(
    rounds: Rounds,
    n_tasks: int,
    n_features: int,
    b1: float,
    b2: float,
    lam: float,
    on_mistakes: bool,
    single: bool,
    seed: int = 0,
) -> Steps:
    """Yield the steps of PEER (Shen et al. 2018, algorithm 1).

    Parameters
    ----------
    rounds : sequence of sequences of Given
    n_tasks, n_features : int
    b1, b2, lam : float
    on_mistakes, single : bool
    seed : int
    """
    w, word = np.zeros((n_tasks, n_features)), first_word(seed)
    tau = np.full((n_tasks, n_tasks), 1.0 / max(n_tasks - 1, 1))
    for given in rounds:
        for x, y, k, _ in given:
            p = w @ x
            others = [m for m in range(n_tasks) if m != k]
            if not x.any():
                yield Step(float(p[k]), False, abs(p[k]))
                continue
            word, u = xorshift(word)
            P = u <= b1 / (b1 + abs(p[k]))
            gap = min(abs(p[k]), abs(u - b1 / (b1 + abs(p[k]))))
            Q, answer, M = True, 0.0, y * p[k] <= 0.0
            if P:
                word, u = xorshift(word)
                if single and others:
                    trusts = tau[k, others]
                    answer = float(p[others[int(np.argmax(trusts))]])
                    best = np.sort(trusts)[::-1]
                    if len(best) > 1 and 0.0 < best[0] - best[1] <= 1e-12:
                        gap = 0.0  # rounding says who is trusted most
                elif others:
                    answer = float(tau[k, others] @ p[others])
                Q = u <= b2 / (b2 + abs(answer))
                gap = min(gap, abs(u - b2 / (b2 + abs(answer))))
                if not Q and answer != 0.0:
                    gap = min(gap, abs(answer))
            fired = bool(P and (not Q or M))
            yield Step(float(p[k]), fired, gap)
            if fired:
                w[k] = w[k] + (y if Q else 1.0 if answer >= 0.0 else -1.0) * x
            if P and Q and (M or not on_mistakes) and others:
                losses = np.maximum(0.0, 1.0 - y * p[others])
                scale = lam or losses.sum() or 1.0
                tau[k, others] *= np.exp(-losses / scale)
                tau[k, others] /= tau[k, others].sum() or 1.0


def humble(
    rounds: Rounds,
    n_tasks: int,
    n_features: int,
    b: float,
    C: float,
    scaled: bool,
    seed: int = 0,
) -> Steps:
    """Yield the steps of HUMBLE (Shen et al. 2018, algorithm 2).

    Parameters
    ----------
    rounds : sequence of sequences of Given
    n_tasks, n_features : int
    b, C : float
    scaled : bool
    seed : int
    """
    w, word = np.zeros((n_tasks, n_features)), first_word(seed)
    total = n_tasks if scaled else 1.0
    tau = np.full((n_tasks, n_tasks), total / n_tasks)
    for given in rounds:
        for x, y, k, _ in given:
            p = w @ x
            score = float(tau[k] @ p)
            if not x.any():
                yield Step(score, False, abs(score))
                continue
            word, u = xorshift(word)
            asked = u <= b / (b + abs(score))
            fired = bool(asked and y * score <= 0.0)
            yield Step(score, fired, min(abs(score), abs(u - b / (b + abs(score)))))
            if fired:
                w[k] = w[k] + y * x
            if asked:
                losses = np.maximum(0.0, 1.0 - y * p)
                if scaled:
                    losses = np.minimum(2.0, losses) / (np.minimum(2.0, losses).sum() or 1.0)
                tau[k] *= np.exp(-C * losses)
                if tau[k].sum() > 0.0:
                    tau[k] *= total / tau[k].sum()


class Bet:
    """A vector p v of Denevi, Stamos and Pontil (2020), algorithms 1 (p = b u) and 2 (v)."""

    def __init__(self, n_features: int, wealth: float, refined: bool) -> None:
        self.v, self.b, self.u = np.zeros(n_features), 0.0, wealth
        self.i, self.squares, self.refined = 0, 1.0, refined

    @property
    def w(self) -> np.ndarray:
        """The vector."""
        return self.b * self.u * self.v

    def pay(self, g: np.ndarray, C: float) -> None:
        """Take a step of the gradient g, where |⟨g, v⟩| ≤ C."""
        a = float(g @ self.v) / C
        self.i, self.u = self.i + 1, self.u * (1.0 - a * self.b)
        if self.refined:  # Cutkosky and Orabona (2018), algorithm 1
            h = a / (1.0 - a * self.b)
            self.squares += h**2
            step = 2.0 / (2.0 - math.log(3.0)) * h / self.squares
            self.b = float(np.clip(self.b - step, -0.5, 0.5))
        else:
            self.b = ((self.i - 1) * self.b - a) / self.i
        v = self.v - math.sqrt(2.0 / self.i) / C * g
        self.v = v / max(1.0, float(np.linalg.norm(v)))


def parameter_free(
    rounds: Rounds,
    n_tasks: int,
    n_features: int,
    lipschitz: float,
    wealth: float,
    loss: int,
    shared: bool,
    refined: bool,
) -> Steps:
    """Yield the steps of algorithm 4 of Denevi, Stamos and Pontil (2020).

    Parameters
    ----------
    rounds : sequence of sequences of Given
    n_tasks, n_features : int
    lipschitz, wealth : float
    loss : int
        As of `omtl.reference.baselines.slope_of`.
    shared, refined : bool
    """
    own = [Bet(n_features, wealth, refined) for _ in range(n_tasks)]
    bias = Bet(n_features, wealth, refined)
    for given in rounds:
        for x, y, k, _ in given:
            score = float((own[k].w + (bias.w if shared else 0.0)) @ x)
            s, gap = slope_of(loss, y, score)
            yield Step(score, s != 0.0 and bool(x.any()), gap)
            if x.any():
                own[k].pay(s * x, lipschitz)
                bias.pay(s * x, lipschitz)


def parameter_free_lazy(
    rounds: Rounds,
    n_tasks: int,
    n_features: int,
    lipschitz: float,
    wealth: float,
    loss: int,
    refined: bool,
) -> Steps:
    """Yield the steps of algorithm 5 of Denevi, Stamos and Pontil (2020).

    Parameters
    ----------
    rounds : sequence of sequences of Given
    n_tasks, n_features : int
    lipschitz, wealth : float
    loss : int
        As of `omtl.reference.baselines.slope_of`.
    refined : bool
    """
    own = [Bet(n_features, wealth, refined) for _ in range(n_tasks)]
    bias = Bet(n_features, wealth, refined)
    gradients: list[np.ndarray] = []
    task = -1
    for given in rounds:
        for x, y, k, _ in given:
            if gradients and k != task and x.any():  # a row without features scores 0 anyway
                bias.pay(np.sum(gradients, axis=0), lipschitz * len(gradients))
                gradients = []
            score = float((own[k].w + bias.w) @ x)
            s, gap = slope_of(loss, y, score)
            yield Step(score, s != 0.0 and bool(x.any()), gap)
            if x.any():
                own[k].pay(s * x, lipschitz)
                gradients.append(s * x)
                task = k


def within_online(
    rounds: Rounds, n_tasks: int, n_features: int, lam: float, eta: float, loss: int
) -> Steps:
    """Yield the steps of subgradients within tasks about a bias, which moves where a task ends.

    Parameters
    ----------
    rounds : sequence of sequences of Given
    n_tasks, n_features : int
    lam, eta : float
    loss : int
        As of `omtl.reference.baselines.slope_of`.
    """
    v, theta = np.zeros((n_tasks, n_features)), np.zeros(n_features)
    gradients: list[np.ndarray] = []
    task, i = -1, np.zeros(n_tasks)
    for given in rounds:
        for x, y, k, _ in given:
            if gradients and k != task and x.any():
                theta = theta - eta * np.mean(gradients, axis=0)
                gradients = []
            score = float((theta + v[k]) @ x)
            s, gap = slope_of(loss, y, score)
            yield Step(score, s != 0.0 and bool(x.any()), gap)
            if x.any():
                i[k], task = i[k] + 1, k
                v[k] = v[k] - (s * x + lam * v[k]) / (lam * (i[k] + 1))
                gradients.append(s * x)


def romco(
    rounds: Rounds, n_tasks: int, n_features: int, eta: float, lam1: float, lam2: float
) -> Steps:
    """Yield the steps of gradients on U + V, singular values and tasks shrunk after each round.

    Parameters
    ----------
    rounds : sequence of sequences of Given
    n_tasks, n_features : int
    eta, lam1, lam2 : float
    """
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
        U[np.abs(U) <= 1e-15 * sigma.max()] = 0.0  # what the decomposition rounds
        norms = np.linalg.norm(V, axis=1)
        V *= (np.maximum(0.0, norms - eta * lam2) / np.where(norms > 0.0, norms, 1.0))[:, None]


def neighbourhood_mt(
    rounds: Rounds, n_tasks: int, n_features: int, A: np.ndarray, eta: float, b: float
) -> Steps:
    """Yield the steps of neighbourhoods that run MT-OGD each, with weights of its own.

    Parameters
    ----------
    rounds : sequence of sequences of Given
    n_tasks, n_features : int
    A : ndarray of shape (n_tasks, n_tasks)
        Combination weights a_ij.
    eta, b : float
    """
    X = np.zeros((n_tasks, n_tasks, n_features))  # X[j, i]: what neighbourhood j tells agent i
    seen = np.zeros(n_tasks)
    inverses = []
    for j in range(n_tasks):
        member = (A[:, j] > 0.0).astype(float)
        inverses.append((np.diag(member) + b * np.outer(member, member) / member.sum()) / (1.0 + b))
    each = [sum(A[i, j] ** 2 * inverses[j][i, i] for j in range(n_tasks)) for i in range(n_tasks)]
    scale = np.mean(each)
    for given in rounds:
        for x, y, i, _ in given:
            score = float(A[i] @ X[:, i] @ x)
            fired = y * score < 1.0 and bool(x.any())
            yield Step(score, fired, abs(y * score - 1.0))
            seen[i] += bool(x.any())
            if fired:
                for j in range(n_tasks):
                    phi = np.outer(inverses[j][:, i], A[i, j] * y * x) / scale
                    X[j] = X[j] + eta * seen[i] ** -0.5 * phi
