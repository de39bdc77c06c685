"""The estimators: a class for each learner, with the name of its rules."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Any

from omtl.sklearn.base import MultiTaskClassifier
from omtl.sklearn.parameters import EXTRAS, SECTION, TABLE, Entry

PLACE = "omtl.sklearn"
"""The module that contains the classes, also for pickle."""


def constructor(parameters: Iterable[inspect.Parameter]) -> Callable[..., None]:
    """Return an ``__init__`` that stores its parameters, as scikit-learn requires."""
    this = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.Signature([this, *parameters], return_annotation=None)

    def __init__(self: Any, *args: Any, **given: Any) -> None:  # noqa: N807
        bound = signature.bind(self, *args, **given)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            if name != "self":
                setattr(self, name, value)

    __init__.__signature__ = signature  # type: ignore[attr-defined]
    return __init__


def estimator_class(name: str, entry: Entry) -> type[MultiTaskClassifier]:
    """Return the estimator of a learner."""
    rules = getattr(import_module(f"omtl.learners.{entry.module}"), name)
    defaults = {**rules._field_defaults, **entry.defaults}
    values = {field: defaults[field] for field in rules._fields}
    values |= {name: EXTRAS[name].default for name in entry.takes}
    parameters = [
        inspect.Parameter(field, inspect.Parameter.KEYWORD_ONLY, default=value)
        for field, value in values.items()
    ]
    own = SECTION.sub("", inspect.cleandoc(rules.__doc__))
    doc = "\n".join([own, *(EXTRAS[name].doc for name in entry.takes)])
    return type(
        name,
        (MultiTaskClassifier,),
        {
            "__init__": constructor(parameters),
            "__doc__": doc,
            "__module__": PLACE,
            "rules": rules,
            "entry": entry,
        },
    )


ESTIMATORS = {name: estimator_class(name, entry) for name, entry in TABLE.items()}
"""The estimators by name."""
