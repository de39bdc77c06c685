"""A transformer that scales features by the examples seen so far."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from omtl.data.scaling import SCALES, new_scale
from omtl.sklearn.arguments import given_rows


class OnlineScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Scale each example by the statistics of the earlier ones and of itself, as it arrives.

    ``StandardScaler().fit_transform(X)`` of scikit-learn scales the first example by the last one.
    This one does not look ahead: ``fit_transform`` and `partial_fit_transform` scale rows one after
    the other, whatever their tasks, and remember them; `transform` scales each row as if it came
    next. So ``fit(X).transform(X)`` differs from ``fit_transform(X)``. The scaled values are those
    of ``dataset.normalise`` in experiments, bit for bit.

    Parameters
    ----------
    kind : {"standard", "minmax"}
        By mean and standard deviation, or by the range. A feature that has had one value only
        becomes 0: add a constant feature behind the scaler, not before it.

    Attributes
    ----------
    scale_ : RunningScale
        The statistics (`omtl.data.scaling`).
    n_features_in_ : int

    Examples
    --------
    >>> OnlineScaler().fit_transform([[20.0], [80.0], [50.0]]).ravel().tolist()
    [0.0, 1.0, 0.0]
    """

    def __init__(self, kind: str = "standard") -> None:
        self.kind = kind

    def fit(self, X: Any, y: Any = None) -> Self:
        """Remember rows, of shape (n_examples, n_features), forgetting all earlier ones."""
        self.fit_transform(X, y)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Remember more rows, of shape (n_examples, n_features)."""
        self.partial_fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None, **_: Any) -> np.ndarray:  # noqa: ARG002
        """Remember rows, forgetting all earlier ones; return them, each scaled as it came."""
        return self._followed(X, reset=True)

    def partial_fit_transform(self, X: Any, y: Any = None) -> np.ndarray:  # noqa: ARG002
        """Remember more rows; return them, each scaled as it came."""
        return self._followed(X, reset=not hasattr(self, "scale_"))

    def transform(self, X: Any) -> np.ndarray:
        """Return rows, each scaled as if it came next; none is remembered."""
        check_is_fitted(self)
        X = np.asarray(validate_data(self, given_rows(X), dtype=np.float64, reset=False))
        return self.scale_.next_one(X)

    def _followed(self, X: Any, reset: bool) -> np.ndarray:
        if self.kind not in [*SCALES]:
            raise ValueError(f"kind={self.kind!r} is not known; choose from {', '.join(SCALES)}")
        X = validate_data(self, given_rows(X), dtype=np.float64, reset=reset)
        if reset:
            self.scale_ = new_scale(self.kind)
        elif type(self.scale_) is not SCALES[self.kind]:
            raise ValueError(f"kind={self.kind!r} is not the kind of the rows before; fit anew")
        return self.scale_.follow(X)
