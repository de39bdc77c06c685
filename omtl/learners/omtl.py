"""Online learning of multiple tasks and their relationships (Saha et al., AISTATS 2011, "OMTL").

A multi-task perceptron that learns its interaction matrix A with the weights W (one column per
task), their algorithm 1: if task k errs on (x, y), w^j ← w^j + y (A⁻¹)_{j,k} x for every task j
(eq. 3.3), and then A is learnt from the W before that step. Until EPOCH, a share of the rounds (0.5
in their tables), and in the first round, the tasks learn alone: A = I/K.

The four rules for A, for K tasks and a learning rate η:

- `OMTLLogDet`: A_s = (A_{s−1}⁻¹ + η WᵀW)⁻¹ (eq. 3.7);
- `OMTLVonNeumann`: A_s = exp(log A_{s−1} − η WᵀW) (eq. 3.8);
- `OMTLCovariance`: A_s = cov(W) (eq. 3.9) where ``as_printed``, else A_s⁻¹ = cov(W);
- `OMTLBatchOpt`, one of their baselines: A_s = (WᵀW)^½ / tr((WᵀW)^½) (eq. 3.10).

Departures from the text, and additions to it:

- ``normalise`` scales A⁻¹ to trace K, like the A⁻¹ of tasks that learn alone, up to a factor. The
  text says that the divergences keep the trace of A at 1, but no equation does so. Weights grow
  with A⁻¹, and A⁻¹ grows with their squares; without this scaling, soon only the last steps would
  count, and von Neumann's rule would overflow (there it cannot be turned off). LogDet's next η WᵀW
  is added to the sum before it was scaled, or to the scaled one if ``keeps_trace``; with
  ``unit_trace`` too, A itself has trace 1, as in the text.
- A⁻¹ = cov(W): as printed, tasks with similar weights have a negative entry in A⁻¹, and each
  unlearns what the other learns. With the regulariser wᵀ(A ⊗ I)w (eq. 3.2), A⁻¹ is the covariance
  of a Gaussian prior, which makes similar tasks learn together. Still, theirs was probably as
  printed: on their toy problem it is off by as much as they report, and A⁻¹ = cov(W) is not.
- If cov(W) as printed, or WᵀW, has no inverse, as long as a task has no weights, A stays unchanged.
  So it does if LogDet's A⁻¹ has none in double precision and is to be scaled by it.
- ``margin`` 1 learns if the hinge loss is positive, with a step ``rate``.
- ``active`` is their section 4: a label is queried with probability b/(b + |r|), where r is the
  score and b = Σ_j |A_{k,j}|; otherwise the example is not used.

The weights are stored without ``rate``, so that it changes nothing where the text has none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from omtl.kernel.products import row_sum
from omtl.kernel.relationships import Relationships
from omtl.kernel.rules import Example, Shape, rules_of
from omtl.kernel.small_matrices import find_exponential, inverse_power, put, trace_of


class OMTLLogDet(NamedTuple):
    """OMTL with the LogDet divergence (Saha et al. 2011, eq. 3.7).

    Objective of each round, with the divergence D and the weights w of all tasks stacked:

        min_{w, A ≻ 0}  ½ wᵀ (A ⊗ I) w + D(A, A') + losses

    Update, if task k errs, of every task j (eq. 3.3), and of the relation (eq. 3.7):

        w_j ← w_j + y (A⁻¹)_{j,k} x
        A⁻¹ ← A⁻¹ + η WᵀW

    Cost per example: O(nonzeros), and O(n_tasks · (nonzeros + n_tasks)) if a step is taken;
    with ``active`` or ``unit_trace``, O(n_tasks · nonzeros + n_tasks³).

    Parameters
    ----------
    eta : float in [0, inf)
        Learning rate η ≥ 0 of the relation; 0 learns each task alone.
    epoch : float in [0, 1]
        Share of the rounds, at least the first, in which the tasks learn alone.
    rate : float in (0, inf)
        Learning rate of the weights; with ``margin = 0`` it has the same effect as another η.
    margin : float
        Learn if y w_k·x is at most this: 0 for mistakes only, 1 for the hinge loss.
    normalise : bool
        Whether to scale A⁻¹ to trace n_tasks.
    active : bool
        Whether to query labels and learn only from these.
    unit_trace : bool
        Whether A⁻¹ is scaled so that A has trace 1 instead.
    keeps_trace : bool
        Whether the next η WᵀW is added to the scaled A⁻¹.

    Estimator
    ---------
    defaults : eta = 0.01, epoch = 0.0
    takes : rounds, n_rounds, random_state
    cites : saha2011online
    """

    eta: float
    epoch: float
    rate: float = 1.0
    margin: float = 0.0
    normalise: bool = True
    active: bool = False
    unit_trace: bool = False
    keeps_trace: bool = False

    def new_state(self, shape: Shape) -> Relationships:
        """Return zero weights of tasks that learn alone."""
        has_trace_K = self.normalise and not self.unit_trace
        start = 1.0 if has_trace_K and self.keeps_trace else float(shape.n_tasks)
        return Relationships.none(shape, self.epoch, has_trace_K, start)

    def score(self, state: Relationships, x: Example) -> float:
        """Return w^k·x."""
        return self.rate * state.W.dot_own(x)

    def update(self, state: Relationships, x: Example, y: float, score: float) -> bool:
        """Take a step of all tasks if it is due, and learn their relation."""
        return state.learn(self, x, y, score)

    def relate(self, state: Relationships) -> None:
        """Add η WᵀW to A⁻¹ (eq. 3.7)."""
        state.add_gram(self)
        if self.normalise and self.unit_trace:
            work, A = state.memory[0], state.memory[1]
            put(work, 1.0, state.learnt)
            if inverse_power(work, False, A, state.memory[2]) > 0.0:
                put(state.inverse, trace_of(A), state.learnt)
                state.compare(self)
        else:
            state.use(self, state.learnt)
        if self.keeps_trace:
            put(state.learnt, 1.0, state.inverse)

    def findings(self, state: Relationships) -> dict[str, np.ndarray]:
        """Return the number of labels queried for each task, if the learner queries."""
        return {"asked": state.asked} if self.active else {}


@rules_of(OMTLLogDet)
class OMTLCovariance(NamedTuple):
    """OMTL with A⁻¹ = cov(W), or A = cov(W) as printed (Saha et al. 2011, eq. 3.9; see the module).

    Objective of each round, with the weights w of all tasks stacked (eq. 3.2):

        min_{w, A ≻ 0}  ½ wᵀ (A ⊗ I) w + losses

    Update, if task k errs, of every task j (eq. 3.3), and of the relation, over the d features f:

        w_j ← w_j + y (A⁻¹)_{j,k} x
        A⁻¹ ← cov(W),  cov(W)_{j,k} = Σ_f (w_j,f − w̄_j)(w_k,f − w̄_k) / (d − 1)

    A task whose weights are zero when A⁻¹ is first learnt keeps zero weights, because it covaries
    with no other task.

    Cost per example: O(nonzeros), and O(n_tasks · (nonzeros + n_tasks)) if a step is taken;
    with ``as_printed`` or ``active``, O(n_tasks · nonzeros + n_tasks³).

    Parameters
    ----------
    epoch : float in [0, 1]
        Share of the rounds, at least the first, in which the tasks learn alone.
    rate : float in (0, inf)
        Learning rate of the weights; changes no prediction with ``margin = 0`` and ``normalise``.
    margin : float
        Learn if y w_k·x is at most this: 0 for mistakes only, 1 for the hinge loss.
    normalise : bool
        Whether to scale A⁻¹ to trace n_tasks.
    as_printed : bool
        Whether A is the covariance, as in the text, or A⁻¹.
    active : bool
        Whether to query labels and learn only from these.

    Estimator
    ---------
    defaults : epoch = 0.0
    takes : rounds, n_rounds, random_state
    cites : saha2011online
    """

    epoch: float
    rate: float = 1.0
    margin: float = 0.0
    normalise: bool = True
    as_printed: bool = False
    active: bool = False

    def new_state(self, shape: Shape) -> Relationships:
        """Return zero weights of tasks that learn alone."""
        return Relationships.none(shape, self.epoch, self.normalise)

    def update(self, state: Relationships, x: Example, y: float, score: float) -> bool:
        """Take a step of all tasks if it is due, and learn their relation."""
        if not state.learn(self, x, y, score):
            return False
        total, together = row_sum(x), state.acts_together(x)
        for j in range(state.sums.size):
            if together or j == x.task:
                state.sums[j] += state.W.steps[j] * total
        return True

    def relate(self, state: Relationships) -> None:
        """Learn cov(W) (eq. 3.9)."""
        state.find_covariance(self)
        if not self.as_printed:
            state.use(self, state.learnt)
        elif inverse_power(state.learnt, False, state.memory[0], state.memory[1]) > 0.0:
            state.use(self, state.memory[0])


@rules_of(OMTLLogDet)
class OMTLBatchOpt(NamedTuple):
    """BatchOpt, a baseline of OMTL (Saha et al. 2011, eq. 3.10).

    Objective of each round, with the weights w of all tasks stacked (eq. 3.2):

        min_{w, A ≻ 0}  ½ wᵀ (A ⊗ I) w + losses

    Update, if task k errs, of every task j (eq. 3.3), and of the relation (eq. 3.10):

        w_j ← w_j + y (A⁻¹)_{j,k} x
        A ← (WᵀW)^½ / tr((WᵀW)^½)

    Cost per example: O(nonzeros), and O(n_tasks · nonzeros + n_tasks³) if a step is taken.

    Parameters
    ----------
    epoch : float in [0, 1]
        Share of the rounds, at least the first, in which the tasks learn alone.
    rate : float in (0, inf)
        Learning rate of the weights; changes no prediction with ``margin = 0`` and ``normalise``.
    margin : float
        Learn if y w_k·x is at most this: 0 for mistakes only, 1 for the hinge loss.
    normalise : bool
        Whether to scale A⁻¹ to trace n_tasks.
    active : bool
        Whether to query labels and learn only from these.

    Estimator
    ---------
    defaults : epoch = 0.0
    takes : rounds, n_rounds, random_state
    cites : saha2011online
    """

    epoch: float
    rate: float = 1.0
    margin: float = 0.0
    normalise: bool = True
    active: bool = False

    def new_state(self, shape: Shape) -> Relationships:
        """Return zero weights of tasks that learn alone."""
        return Relationships.none(shape, self.epoch, self.normalise)

    def relate(self, state: Relationships) -> None:
        """Learn (WᵀW)^½ (eq. 3.10)."""
        root = state.memory[0]
        put(state.learnt, self.rate * self.rate, state.gram)
        trace = inverse_power(state.learnt, True, root, state.memory[1])
        if trace > 0.0:
            put(root, trace, root)
            state.use(self, root)


@rules_of(OMTLLogDet)
class OMTLVonNeumann(NamedTuple):
    """OMTL with von Neumann's divergence (Saha et al. 2011, eq. 3.8).

    Objective of each round, with the divergence D and the weights w of all tasks stacked:

        min_{w, A ≻ 0}  ½ wᵀ (A ⊗ I) w + D(A, A') + losses

    Update, if task k errs, of every task j (eq. 3.3), and of the relation (eq. 3.8):

        w_j ← w_j + y (A⁻¹)_{j,k} x
        log A ← log A − η WᵀW

    A⁻¹ is scaled to trace n_tasks; otherwise its steps would grow faster than the exponential of
    their own squares.

    Cost per example: O(nonzeros), and O(n_tasks · nonzeros + n_tasks³) if a step is taken, times
    at most the logarithm of the norm of log A.

    Parameters
    ----------
    eta : float in [0, inf)
        Learning rate η ≥ 0 of the relation; 0 learns each task alone.
    epoch : float in [0, 1]
        Share of the rounds, at least the first, in which the tasks learn alone.
    rate : float in (0, inf)
        Learning rate of the weights; with ``margin = 0`` it has the same effect as another η.
    margin : float
        Learn if y w_k·x is at most this: 0 for mistakes only, 1 for the hinge loss.
    active : bool
        Whether to query labels and learn only from these.

    Estimator
    ---------
    defaults : eta = 0.01, epoch = 0.0
    takes : rounds, n_rounds, random_state
    cites : saha2011online
    """

    eta: float
    epoch: float
    rate: float = 1.0
    margin: float = 0.0
    active: bool = False

    def new_state(self, shape: Shape) -> Relationships:
        """Return zero weights of tasks that learn alone."""
        return Relationships.none(shape, self.epoch, padded=True)

    def relate(self, state: Relationships) -> None:
        """Subtract η WᵀW from log A (eq. 3.8)."""
        state.add_gram(self)
        find_exponential(state.learnt, state.inverse, state.each, state.memory)
        state.compare(self)
