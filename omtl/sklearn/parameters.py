"""What each estimator adds to its learner: defaults, ranges and information about the stream."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from types import UnionType
from typing import Any, NamedTuple

import numpy as np

Values = tuple[str, Callable[[float], bool]]
"""The valid values of a hyper-parameter, in words and as a test."""

POSITIVE: Values = ("positive", lambda value: value > 0.0)
FINITE: Values = ("positive and finite", lambda value: 0.0 < value < math.inf)
NOT_NEGATIVE: Values = ("at least 0 and finite", lambda value: 0.0 <= value < math.inf)
RELATION: Values = ("at least 0", lambda value: value >= 0.0)
SHARE: Values = ("from 0 to 1", lambda value: 0.0 <= value <= 1.0)
PART: Values = ("above 0 and at most 1", lambda value: 0.0 < value <= 1.0)
CONFIDENCE: Values = ("above 0.5 and below 1", lambda value: 0.5 < value < 1.0)
BELOW_ONE: Values = ("at least 0 and below 1", lambda value: 0.0 <= value < 1.0)
AT_LEAST_ONE: Values = ("at least 1 and finite", lambda value: 1.0 <= value < math.inf)
MANY: Values = ("at least 2 and finite", lambda value: 2 <= value < math.inf)
ANY: Values = ("a number", lambda value: True)  # noqa: ARG005

NUMBERS: dict[type, tuple[str, type | UnionType]] = {
    float: ("a number", Real),
    int: ("a whole number", Integral),
    bool: ("True or False", bool | np.bool_),
}
"""The types of hyper-parameters, in words and as types."""


class Told(NamedTuple):
    """A parameter of an estimator that reaches its rules in another way.

    Parameters
    ----------
    default : object
    doc : str
        Its entry in the docstring.
    """

    default: Any
    doc: str


TOLD = {
    "rounds": Told(
        "task",
        """rounds : {"task", "example"}
    What a round is. "task": an example of each task; it is over when all tasks have come, or when
    a task comes again. "example": every example is a round of its own.""",
    ),
    "n_rounds": Told(
        None,
        """n_rounds : int, optional
    Number of rounds to come, where it is known. `fit` counts them where it is not given.""",
    ),
    "n_examples": Told(
        None,
        """n_examples : mapping of task to int, optional
    Number of examples to come of each task, where it is known. `fit` counts them where it is not
    given.""",
    ),
    "network": Told(
        "full",
        """network : str, mapping or ndarray of shape (n_nodes, n_nodes)
    Who combines with whom: "full", "ring" or "grid", with one node per task; options of
    `omtl.data.networks.mixing_matrix`; or the combination weights.""",
    ),
    "random_state": Told(
        0,
        """random_state : int, RandomState instance or None
    Seed of what the learner draws.""",
    ),
}
"""Parameters of estimators in addition to the hyper-parameters."""


class Entry(NamedTuple):
    """What an estimator adds to the rules of its learner.

    Parameters
    ----------
    module : str
        The module of `omtl.learners` with the rules, which have the estimator's name.
    defaults : mapping of str to float
        Values of the hyper-parameters without a default in the rules.
    values : mapping of str to Values
        Valid values of hyper-parameters.
    told : tuple of str
        The parameters of `TOLD` that it has.
    drawn : tuple of str
        Arrays of the state that scoring changes permanently and prediction restores.
    row_lists : tuple of str
        Arrays of the state that list rows for longer than the next round. They are kept empty, so
        the learner needs O(n_features) instead.
    linear : bool
        Whether the score of an example is a product w·x with weights that the example does not
        change.
    """

    module: str
    defaults: Mapping[str, float] = {}
    values: Mapping[str, Values] = {}
    told: tuple[str, ...] = ()
    drawn: tuple[str, ...] = ()
    row_lists: tuple[str, ...] = ()
    linear: bool = True


_ROM = {"alpha": NOT_NEGATIVE, "beta": NOT_NEGATIVE, "gamma": NOT_NEGATIVE}
_OSMTL = Entry(
    "osmtl",
    {"C": 1.0, "alpha": 0.5, "lam": 1.0},
    {"C": FINITE, "alpha": SHARE, "lam": POSITIVE},
    ("rounds", "n_rounds"),
)
_OMTL_TOLD = ("rounds", "n_rounds", "random_state")
_OMTL = {"epoch": SHARE, "rate": FINITE, "eta": NOT_NEGATIVE}
_NETWORK = ("network", "rounds")

TABLE = {
    "Perceptron": Entry("perceptron", {"eta": 1.0}, {"eta": FINITE}),
    "PassiveAggressive": Entry("passive_aggressive", {"C": 1.0}, {"C": POSITIVE}),
    "PassiveAggressiveII": Entry("passive_aggressive", {"C": 1.0}, {"C": FINITE}),
    "ALMA": Entry("alma", {"alpha": 0.9}, {"alpha": PART}),
    "SCW": Entry("soft_confidence", {"C": 1.0, "eta": 0.9}, {"C": FINITE, "eta": CONFIDENCE}),
    "SecondOrderPerceptron": Entry("second_order", {"a": 1.0}, {"a": FINITE}, linear=False),
    "GradientDescent": Entry("gradient", {"eta": 1.0}, {"eta": FINITE}),
    "AdaGrad": Entry("adagrad", {"eta": 0.1}, {"eta": FINITE}),
    "AROW": Entry("arow", {"r": 1.0}, {"r": FINITE}),
    "Majority": Entry("majority", linear=False),
    "MultiTaskAROW": Entry("multitask_arow", {"r": 1.0, "c": 0.5}, {"r": FINITE, "c": SHARE}),
    "HedgedMultiTask": Entry("hedge", {"eta": 1.0}, {"eta": FINITE, "n_experts": MANY}),
    "MultiPerceptron": Entry("cavallanti", {"b": 1.0}, {"b": RELATION, "eta": FINITE}),
    "SelectivePerceptron": Entry(
        "selective", {"a": 1.0}, {"a": POSITIVE, "b": RELATION}, ("random_state",)
    ),
    "ParameterFree": Entry("parameter_free", {}, {"lipschitz": FINITE, "wealth": FINITE}),
    "OnlineWithinOnline": Entry(
        "within_online", {"lam": 1.0, "eta": 0.1}, {"lam": FINITE, "eta": NOT_NEGATIVE}
    ),
    "ROMCO": Entry(
        "romco",
        {"eta": 0.1, "lam1": 0.1, "lam2": 0.1},
        {"eta": FINITE, "lam1": NOT_NEGATIVE, "lam2": NOT_NEGATIVE},
        ("rounds",),
    ),
    "LazyParameterFree": Entry("parameter_free_lazy", {}, {"lipschitz": FINITE, "wealth": FINITE}),
    "Peer": Entry(
        "peers",
        {"b1": 1.0, "b2": 1.0},
        {"b1": FINITE, "b2": FINITE, "lam": NOT_NEGATIVE, "budget": RELATION},
        ("random_state",),
    ),
    "Humble": Entry(
        "peers",
        {"b": 1.0, "C": 3.4011973816621555},
        {"b": FINITE, "C": NOT_NEGATIVE, "budget": RELATION},
        ("random_state",),
    ),
    "COML": Entry("coml", {"C": 1.0, "mu": 0.5}, {"C": POSITIVE, "mu": BELOW_ONE}),
    "OMTLCovariance": Entry("omtl", {"epoch": 0.0}, _OMTL, _OMTL_TOLD),
    "OMTLBatchOpt": Entry("omtl", {"epoch": 0.0}, _OMTL, _OMTL_TOLD),
    "OMTLLogDet": Entry("omtl", {"eta": 0.01, "epoch": 0.0}, _OMTL, _OMTL_TOLD),
    "OMTLVonNeumann": Entry("omtl", {"eta": 0.01, "epoch": 0.0}, _OMTL, _OMTL_TOLD),
    "OSGL": Entry("osgl", {"C": 0.1}, {"C": FINITE, "r": AT_LEAST_ONE}, ("rounds",)),
    "OSGLImplicit": Entry("osgl", {"C": 0.1}, {"C": FINITE}, ("rounds",)),
    "OSMTLExponential": _OSMTL,
    "OSMTLThreshold": _OSMTL,
    "ROMPGD": Entry(
        "rom",
        {"eta": 0.1, "alpha": 0.01, "beta": 0.1, "gamma": 0.1},
        {"eta": FINITE, **_ROM},
        ("rounds",),
        row_lists=("q/rows",),
    ),
    "ROMRDA": Entry(
        "rom",
        {"kappa": 1.0, "alpha": 0.01, "beta": 0.1, "gamma": 0.1},
        {"kappa": FINITE, **_ROM},
        ("rounds",),
    ),
    "NS": Entry("dom", {"eta": 0.1}, {"eta": FINITE, "strength": PART}, _NETWORK),
    "NeighbourhoodMT": Entry(
        "neighbours", {"eta": 0.1, "b": 4.0}, {"eta": FINITE, "b": NOT_NEGATIVE}, _NETWORK
    ),
    "DST": Entry("dom", {"eta": 0.1}, {"eta": FINITE}, _NETWORK),
    "DOM1": Entry("dom", {"eta": 0.1, "b": 4.0}, {"eta": FINITE, "b": NOT_NEGATIVE}, _NETWORK),
    "DOM2": Entry("dom", {"eta": 0.1, "alpha": 0.4}, {"eta": FINITE, "alpha": SHARE}, _NETWORK),
    "DA": Entry("dom", {"eta": 0.1, "b": 4.0}, {"eta": FINITE, "b": NOT_NEGATIVE}, _NETWORK),
    "OGD": Entry("lifelong", {"lam": 1.0}, {"lam": FINITE, "shift": NOT_NEGATIVE}),
    "AKLO": Entry(
        "lifelong",
        {"lam": 1.0},
        {"lam": FINITE, "shift": NOT_NEGATIVE, "epsilon_factor": NOT_NEGATIVE, "alpha_last": SHARE},
        ("n_examples", "random_state"),
        drawn=("alpha_sum", "column", "n_begun", "random"),
        linear=False,
    ),
}
"""The estimators by name. Defaults are values from the papers' grids."""
