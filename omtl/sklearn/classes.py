"""The estimators: a class for each learner, with the name of its rules."""

from __future__ import annotations

import inspect
from dataclasses import field, make_dataclass
from importlib import import_module
from typing import Any, get_type_hints

from omtl.sklearn.base import MultiTaskClassifier
from omtl.sklearn.parameters import EXTRAS, SECTION, Entry, declared_entries, doc_of_extra

PLACE = "omtl.sklearn"
"""The module that contains the classes, also for pickle."""


def estimator_class(name: str, entry: Entry) -> type[MultiTaskClassifier]:
    """Return the estimator of a learner; its ``__init__`` stores its parameters."""
    rules = getattr(import_module(f"omtl.learners.{entry.module}"), name)
    kinds, defaults = get_type_hints(rules), {**rules._field_defaults, **entry.defaults}
    parameters = [(one, kinds[one], field(default=defaults[one])) for one in rules._fields]
    parameters += [(one, Any, field(default=EXTRAS[one])) for one in entry.takes]
    own = SECTION.sub("", inspect.cleandoc(rules.__doc__))
    about = {
        "__doc__": "\n".join([own, *map(doc_of_extra, entry.takes)]),
        "__module__": PLACE,
        "rules": rules,
        "entry": entry,
    }
    return make_dataclass(
        name,
        parameters,
        bases=(MultiTaskClassifier,),
        namespace=about,
        repr=False,
        eq=False,
        kw_only=True,
    )


ESTIMATORS = {name: estimator_class(name, entry) for name, entry in declared_entries().items()}
"""The estimators by name."""
