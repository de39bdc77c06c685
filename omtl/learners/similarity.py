"""Online learning of many tasks' similarities from triplets (Hao et al., IJCAI 2017).

Task k has the similarity S^k(x, x') = xᵀ M^k x' (eq. 1), initially with M^k = I. A triplet
(x, x¹, x²; y) of task t has X = x (x¹ - x²)ᵀ, p = ⟨M^t, X⟩ and the loss [1 - y p]_+. If the label
is queried and the loss is positive,

    M^k ← M^k + y τ (A⁻¹)_{k,t} X for all k,   τ = min(C, loss / ‖φ‖²_{A⁻¹})     (eqs. 3 and 4),

with (A⁻¹)_{k,t} = (b + K δ_kt) / ((1 + b) K) and ‖φ‖²_{A⁻¹} = (A⁻¹)_{t,t} ‖x‖² ‖x¹ - x²‖². Each
M^k is the sum of I, a matrix that all tasks share, and one of its own: a step has rank 1 in two
matrices.

`omtl.kernel.similarities` takes these steps.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from omtl.kernel.triplet_steps import Policy


def related(C: float, b: float, n_tasks: int, plain_step: bool) -> Policy:
    """Return the policy of tasks related by A⁻¹ that queries every label."""
    shared = b / ((1.0 + b) * n_tasks)
    own = 1.0 / (1.0 + b)
    return Policy(C, own, shared, 1.0 if plain_step else own + shared)


class OMTRSL(NamedTuple):
    """Algorithm 1: all labels are queried.

    Cost per triplet: O(d²) for the scores and O(d²) for a step, or O(nonzeros²) for sparse rows.

    Parameters
    ----------
    C : float
        Longest step, C > 0.
    b : float
        Strength of the relation between tasks: 0 for none, ∞ for one common matrix.
    plain_step : bool
        Measure steps by ‖X‖², without (A⁻¹)_{t,t}.
    """

    C: float
    b: float
    plain_step: bool = False

    def policy(self, n_tasks: int) -> Policy:
        """Return the policy for a triplet."""
        return related(self.C, self.b, n_tasks, self.plain_step)


class OMTRSLActive(NamedTuple):
    """Algorithm 2: a label is queried with probability δ / (δ + |p|).

    Cost per triplet: that of `OMTRSL`, steps only where the label is queried.

    Parameters
    ----------
    C, b, plain_step
        As in `OMTRSL`.
    delta : float
        Smoothing δ > 0.
    """

    C: float
    b: float
    delta: float
    plain_step: bool = False

    def policy(self, n_tasks: int) -> Policy:
        """Return the policy for a triplet."""
        every = related(self.C, self.b, n_tasks, self.plain_step)
        return every._replace(sharpness=1.0 / self.delta)


class OMTRSLRandom(NamedTuple):
    """OMTRSL that queries each label with the same probability (section 4.2).

    Cost per triplet: that of `OMTRSLActive`.

    Parameters
    ----------
    C, b, plain_step
        As in `OMTRSL`.
    rate : float
        The probability.
    """

    C: float
    b: float
    rate: float
    plain_step: bool = False

    def policy(self, n_tasks: int) -> Policy:
        """Return the policy for a triplet."""
        return related(self.C, self.b, n_tasks, self.plain_step)._replace(rate=self.rate)


class OSTRSL(NamedTuple):
    """OASIS (Chechik et al., JMLR 2010) for each task alone: OMTRSL with b = 0.

    Cost per triplet: O(d²) for the score and O(d²) for a step, or O(nonzeros²) for sparse rows.

    Parameters
    ----------
    C : float
        Longest step, C > 0.
    """

    C: float

    def policy(self, n_tasks: int) -> Policy:  # noqa: ARG002
        """Return the policy for a triplet."""
        return Policy(self.C, own=1.0, shared=0.0, weight=1.0)


class OGRSL(NamedTuple):
    """OASIS (Chechik et al., JMLR 2010) for all tasks as one: a global matrix.

    Cost per triplet: as for `OSTRSL`.

    Parameters
    ----------
    C : float
        Longest step, C > 0.
    """

    C: float

    @property
    def pooled(self) -> bool:
        """Whether all tasks are treated as one."""
        return True

    def policy(self, n_tasks: int) -> Policy:  # noqa: ARG002
        """Return the policy for a triplet."""
        return Policy(self.C, own=0.0, shared=1.0, weight=1.0)


class SimilarityLearner(Protocol):
    """The interface of this module's learners."""

    def policy(self, n_tasks: int) -> Policy:
        """Return the policy for a triplet."""
