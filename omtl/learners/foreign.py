"""Classes of other packages as learners: scikit-learn, river, PyTorch, by ``_target_`` in a config.

`Foreign` plays an algorithm whose config says ``_target_: package.Class``. Its ``fixed`` and
``grid`` are arguments of that class; a value that is itself a mapping with a ``_target_`` is
instantiated first, as in Hydra.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from threading import Lock
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from omtl.data.rows import DenseRows
from omtl.kernel.rules import Example, Shape
from omtl.util.code import imported
from omtl.util.errors import UserError

TARGET = "_target_"
"""The key that names a class of another package, as in Hydra."""

OVERFLOW = re.compile("overflow|infinity|nan", re.IGNORECASE)
"""Phrases in packages' errors about numbers that are too large."""


class Model(Protocol):
    """One model of another package, one example at a time."""

    def score(self, x: Example) -> float:
        """Return a signed score, 0 if the model cannot predict yet."""

    def learn(self, x: Example, y: float) -> None:
        """Learn from the example and its label."""


class PartialFit:
    """A scikit-learn classifier: ``partial_fit`` on one example at a time."""

    def __init__(self, kind: Callable[..., Any], arguments: Mapping[str, Any], shape: Shape):
        self.model = _seeded(kind, arguments, shape, "random_state")
        self.n_features = shape.n_features
        self.is_new = True

    def score(self, x: Example) -> float:
        """Return the decision function, or the difference of the two probabilities."""
        if self.is_new:
            return 0.0
        row = self._row(x)
        if hasattr(self.model, "decision_function"):
            return float(np.ravel(self.model.decision_function(row))[0])
        if hasattr(self.model, "predict_proba"):
            negative, positive = np.ravel(self.model.predict_proba(row))
            return float(positive - negative)
        return float(self.model.predict(row)[0])

    def learn(self, x: Example, y: float) -> None:
        """Learn from one row; the first call also passes the classes."""
        classes = {"classes": np.array([-1.0, 1.0])} if self.is_new else {}
        self.is_new = False
        self.model.partial_fit(self._row(x), [y], **classes)

    def _row(self, x: Example) -> np.ndarray | sparse.csr_array:
        if isinstance(x.rows, DenseRows):
            return x.rows.X[x.i : x.i + 1]
        columns, values = _nonzeros(x)
        place = (values, columns, np.array([0, values.size], dtype=np.int32))
        return sparse.csr_array(place, shape=(1, self.n_features))


class LearnOne:
    """A river classifier: ``learn_one`` of a dict of nonzero features, and True or False."""

    def __init__(self, kind: Callable[..., Any], arguments: Mapping[str, Any], shape: Shape):
        self.model = _seeded(kind, arguments, shape, "seed")
        try:
            self.model.predict_proba_one({})
            self.has_probabilities = True
        except NotImplementedError:
            self.has_probabilities = False

    def score(self, x: Example) -> float:
        """Return the difference of the two probabilities, or the predicted label."""
        features = _features(x)
        if self.has_probabilities:
            proba = self.model.predict_proba_one(features)
            return float(proba.get(True, 0.0) - proba.get(False, 0.0))
        predicted = self.model.predict_one(features)
        return 0.0 if predicted is None else 2.0 * bool(predicted) - 1.0

    def learn(self, x: Example, y: float) -> None:
        """Learn from one dict."""
        self.model.learn_one(_features(x), y > 0.0)


_DRAWING = Lock()


class Module:
    """A PyTorch module with one output: a step of an optimiser on each example.

    ``optimizer`` and ``loss`` are mappings with a ``_target_``; the default is SGD with a rate of
    0.01 on the logistic loss. The loss sees labels −1 and 1. A module whose ``forward`` has an
    argument ``task`` gets the task's index.
    """

    def __init__(self, kind: Callable[..., Any], arguments: Mapping[str, Any], shape: Shape):
        self.torch = torch = import_module("torch")
        optimizer = arguments.get("optimizer", {TARGET: "torch.optim.SGD", "lr": 0.01})
        loss = arguments.get("loss", {TARGET: "torch.nn.SoftMarginLoss"})
        rest = {k: v for k, v in arguments.items() if k not in ("optimizer", "loss")}
        with _DRAWING, torch.random.fork_rng(devices=[]):  # PyTorch's generator is the process's
            torch.manual_seed(shape.seed)
            self.module = kind(**rest)
        self.loss = made(loss)
        self.optimizer = made(optimizer, self.module.parameters())
        self.dtype = next(self.module.parameters()).dtype
        self.n_features = shape.n_features
        self.takes_task = "task" in inspect.signature(self.module.forward).parameters

    def score(self, x: Example) -> float:
        """Return the module's output for the row, in evaluation mode."""
        self.module.eval()
        with self.torch.no_grad():
            return float(self._forward(x))

    def learn(self, x: Example, y: float) -> None:
        """Take one step of the optimiser."""
        self.module.train()
        self.optimizer.zero_grad()
        output = self._forward(x)
        self.loss(output, self.torch.full_like(output, y)).backward()
        self.optimizer.step()

    def _forward(self, x: Example) -> Any:
        row = np.zeros((1, self.n_features))
        columns, values = _nonzeros(x)
        row[0, columns] = values
        task = {"task": x.task} if self.takes_task else {}
        output = self.module(self.torch.as_tensor(row, dtype=self.dtype), **task)
        if output.numel() != 1:
            raise UserError(
                f"{type(self.module).__name__} has {output.numel()} outputs for an example; "
                "its score must be one number"
            )
        return output.reshape(1)


WAYS: Mapping[str, Callable[..., Model]] = {
    "partial_fit": PartialFit,
    "learn_one": LearnOne,
    "forward": Module,
}
"""The wrapper for each class, by the method that it has."""


@dataclass(frozen=True)
class Foreign:
    """A class of another package, played as it is: one model per task, or one for all (a baseline).

    Cost per example: that of the class. The model learns from each example that has features, and
    each of these counts as a step. Overflow in the package gives a score that is not finite.

    Parameters
    ----------
    target : str
        Dotted path of the class.
    arguments : mapping
        Its arguments. The strings ``n_features`` and ``n_tasks`` stand for these numbers.
    pooled : bool
        One model for all tasks instead of one per task.
    """

    target: str
    arguments: Mapping[str, Any]
    pooled: bool = False

    @classmethod
    def made_of(cls, point: Mapping[str, Any]) -> Foreign:
        """Return the learner of a point of a config's grid.

        Raises
        ------
        UserError
            If the class cannot be imported, fits none of `WAYS`, or lacks an argument.
        """
        rest = {name: value for name, value in point.items() if name not in (TARGET, "pooled")}
        learner = cls(point[TARGET], rest, bool(point.get("pooled", False)))
        known = cls.names_in(point)
        wrong = [name for name in rest if known and name not in known]
        if wrong:
            raise UserError(
                f"{', '.join(wrong)} is no argument of {learner.target}; there are "
                f"{', '.join(known)}"
            )
        return learner

    @staticmethod
    def names_in(point: Mapping[str, Any]) -> list[str]:
        """Return the names that a config may set; none if the class accepts any name."""
        kind = found(point[TARGET])
        parameters = inspect.signature(kind).parameters.values()
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            return []
        more = ["optimizer", "loss"] if _way(kind) is Module else []
        return [*(parameter.name for parameter in parameters), *more, "pooled"]

    def new_state(self, shape: Shape) -> list[Model]:
        """Return new models."""
        kind = found(self.target)
        sizes = {"n_features": shape.n_features, "n_tasks": shape.n_tasks}
        arguments = {
            name: sizes.get(value, value) if isinstance(value, str) else value
            for name, value in self.arguments.items()
        }
        shapes = [shape._replace(seed=shape.seed + k) for k in range(shape.n_tasks)]
        try:
            make = _way(kind)
            return [make(kind, arguments, one) for one in (shapes[:1] if self.pooled else shapes)]
        except (TypeError, ValueError) as fault:
            raise UserError(f"{self.target}: {arguments} does not fit: {fault}") from fault

    def score(self, state: list[Model], x: Example) -> float:
        """Return the score of the task's model."""
        try:
            return state[0 if self.pooled else x.task].score(x)
        except (ValueError, OverflowError) as fault:
            return _overflown(fault)

    def update(self, state: list[Model], x: Example, y: float, _score: float) -> bool:
        """Let the task's model learn from the example."""
        try:
            state[0 if self.pooled else x.task].learn(x, y)
        except (ValueError, OverflowError) as fault:
            _overflown(fault)
        return True


def found(path: str) -> Any:
    """Return the class or function of a dotted path.

    Raises
    ------
    UserError
        If it cannot be imported.
    """
    module, _, name = path.rpartition(".")
    try:
        return getattr(imported(module), name)
    except (ImportError, AttributeError, ValueError) as fault:
        raise UserError(f"{TARGET}: {path!r} cannot be imported: {fault}") from fault


def made(value: Any, *first: Any) -> Any:
    """Return the object that a mapping with a ``_target_`` describes; any other value unchanged."""
    if not isinstance(value, Mapping) or TARGET not in value:
        return value
    return found(value[TARGET])(*first, **{k: made(v) for k, v in value.items() if k != TARGET})


def _way(kind: Any) -> Callable[..., Model]:
    way: Any = next((WAYS[method] for method in WAYS if hasattr(kind, method)), None)
    if way is None:
        raise UserError(
            f"{TARGET}: {kind.__module__}.{kind.__qualname__} has no {', no '.join(WAYS)}: "
            "it is no online classifier of scikit-learn, of river or of PyTorch"
        )
    return way


def _seeded(kind: Callable[..., Any], arguments: Mapping[str, Any], shape: Shape, seed: str) -> Any:
    """Return a new model; it gets the learner's seed if it takes one and its config sets none."""
    given = {name: made(value) for name, value in arguments.items()}
    if seed in inspect.signature(kind).parameters:
        given.setdefault(seed, shape.seed)
    return kind(**given)


def _nonzeros(x: Example) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of a row and their values; all columns for a dense row."""
    if isinstance(x.rows, DenseRows):
        return np.arange(x.rows.X.shape[1]), x.rows.X[x.i]
    place = slice(x.rows.indptr[x.i], x.rows.indptr[x.i + 1])
    return x.rows.indices[place], x.rows.values[place]


def _features(x: Example) -> dict[int, float]:
    columns, values = _nonzeros(x)
    found = zip(columns.tolist(), values.tolist(), strict=True)
    return {column: value for column, value in found if value != 0.0}


def _overflown(fault: Exception) -> float:
    """Return NaN as the score if a package refuses numbers that are too large."""
    if not OVERFLOW.search(str(fault)):
        raise UserError(f"{' '.join(str(fault).split())}") from fault
    return float("nan")
