"""Weight vectors of many tasks, and the relation learnt from them (`omtl.learners.omtl`)."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from omtl.kernel.lanes import BLOCK
from omtl.kernel.random_numbers import seeded, uniform
from omtl.kernel.rules import Shape
from omtl.kernel.side_by_side import SideBySide
from omtl.kernel.small_matrices import inverse_power, put, trace_of


class Relationships(NamedTuple):
    """The tasks' weight vectors divided by the rate, and their relation.

    Parameters
    ----------
    W : SideBySide
        The weight vectors w^k.
    inverse : ndarray of shape (n_tasks, n_tasks or width)
        A⁻¹ for the next step.
    learnt : ndarray of shape (n_tasks, n_tasks or width)
        The learnt quantity: A⁻¹ before normalisation, or its logarithm. If its exponential is
        taken, rows are padded with zeros to a fast length.
    gram : ndarray of shape (n_tasks, n_tasks)
        WᵀW of these vectors, updated from the scores.
    sums : ndarray of shape (n_tasks,)
        Sums of the components of each weight vector.
    n_unmet : ndarray of shape (1,), int64
        Number of components that stay zero and are not stored.
    memory : ndarray of shape (4, n_tasks, width)
        Work space for matrix functions.
    each : ndarray of shape (n_tasks,), int32
        The indices of the tasks.
    together_from : ndarray of shape (1,), int64
        The first round in which the relation is learnt and used.
    similarity : ndarray of shape (n_tasks,)
        Σ_j |A_{k,j}| of each task, needed only for active learning.
    asked : ndarray of shape (n_tasks,), int64
        Number of labels queried.
    random : ndarray of shape (1,), uint64
        State of the random generator for active learning.
    """

    W: SideBySide
    inverse: np.ndarray
    learnt: np.ndarray
    gram: np.ndarray
    sums: np.ndarray
    n_unmet: np.ndarray
    memory: np.ndarray
    each: np.ndarray
    together_from: np.ndarray
    similarity: np.ndarray
    asked: np.ndarray
    random: np.ndarray

    @classmethod
    def none(
        cls,
        shape: Shape,
        epoch: float,
        normalise: bool = True,
        start: float = 0.0,
        padded: bool = False,
    ) -> Relationships:
        """Return zero weights of tasks that learn alone; A⁻¹ is K I, or I if normalised.

        Parameters
        ----------
        shape : Shape
        epoch : float
            Share of the rounds, at least the first, in which they do.
        normalise : bool
        start : float
            The learnt quantity is at first `start` times I.
        padded : bool
            Whether rows are padded.
        """
        m = shape.n_tasks
        width = -(-m // BLOCK) * BLOCK if padded else m
        alone = 1.0 if normalise else float(m)
        return cls(
            W=SideBySide.zeros(m, shape),
            inverse=alone * np.eye(m, width),
            learnt=start * np.eye(m, width),
            gram=np.zeros((m, m)),
            sums=np.zeros(m),
            n_unmet=np.array([shape.n_unmet]),
            memory=np.zeros((4, m, width)),
            each=np.arange(m, dtype=np.int32),
            together_from=np.array([max(1, math.ceil(epoch * shape.n_rounds))]),
            similarity=np.full(m, 1.0 / alone),
            asked=np.zeros(m, dtype=np.int64),
            random=seeded(shape.seed),
        )

    def learn(self, learner, x, y, score):
        """Take a step if it is due, of all tasks or, in the first rounds, of the event's alone.

        The step of task j is (A⁻¹)_{j,k} y times the example. Returns whether it was taken.
        """
        k, m = x.task, self.sums.size
        if learner.active:
            b = self.similarity[k]
            if uniform(self) * (b + abs(score)) > b:
                return False
            self.asked[k] += 1
        if y * score > learner.margin:
            return False
        self.W.dot_all(x)
        scores, steps = self.W.products, self.W.steps
        for j in range(m):
            steps[j] = y * self.inverse[j, k]
        together = self.acts_together(x)
        if together:
            learner.relate(self)
        for i in range(m):
            for j in range(m):
                product = steps[i] * scores[j] + steps[j] * scores[i]
                self.gram[i, j] += product + steps[i] * steps[j] * x.square_norm
        if together:
            self.W.add_all(x)
        else:
            self.W.add_own(steps[k], x)
        return True

    def acts_together(self, x):
        """Return whether the relation is learnt and used in this round."""
        return x.round >= self.together_from[0]

    def use(self, learner, source):
        """Use a matrix as A⁻¹ from the next step on, with trace n_tasks if normalised."""
        m = self.sums.size
        trace = trace_of(source) if learner.normalise else float(m)
        if not trace > 0.0:
            return
        for i in range(m):
            for j in range(m):
                self.inverse[i, j] = m * source[i, j] / trace
        self.compare(learner)

    def compare(self, learner):
        """Record each task's similarity to all tasks, if queries depend on it."""
        if not learner.active:
            return
        m = self.sums.size
        work, relation, vectors = self.memory[0], self.memory[1], self.memory[2]
        put(work, 1.0, self.inverse)
        known = inverse_power(work, False, relation, vectors) > 0.0
        for i in range(m):
            self.similarity[i] = 0.0 if known else np.inf
            for j in range(m):
                self.similarity[i] += abs(relation[i, j]) if known else 0.0

    def add_gram(self, learner):
        """Add η WᵀW to the learnt matrix."""
        rate = learner.eta * learner.rate * learner.rate
        for i in range(self.sums.size):
            for j in range(self.sums.size):
                self.learnt[i, j] += rate * self.gram[i, j]

    def find_covariance(self, learner):
        """Set the learnt matrix to cov(W) over all features."""
        square, d = learner.rate * learner.rate, self.W.vectors.shape[1] + self.n_unmet[0]
        for i in range(self.sums.size):
            for j in range(self.sums.size):
                both = self.gram[i, j] - self.sums[i] * self.sums[j] / d
                self.learnt[i, j] = square * both / max(1, d - 1)
