"""The estimators: a class for each learner, with the name of its rules."""

from __future__ import annotations

import textwrap
from dataclasses import field, make_dataclass
from importlib import import_module
from typing import Any, get_type_hints

from omtl.sklearn.base import MultiTaskClassifier
from omtl.sklearn.parameters import EXTRAS, Entry, declared_entries, doc_of_extra, sections_of
from omtl.util.bibliography import references

PLACE = "omtl.sklearn"
"""The module that contains the classes, also for pickle."""

USAGE = """\
Two tasks with the same two features, learnt from in the order of the examples:

>>> import numpy as np
>>> from omtl import {name}
>>> X = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9], [1.0, 0.2], [0.2, 1.0]] * 5)
>>> y = np.array(["spam", "spam", "ham", "ham", "spam", "ham"] * 5)
>>> task = np.array(["ann", "ann", "bob", "bob", "ann", "bob"] * 5)
>>> model = {name}().fit(X, y, task=task)
>>> model.predict([[1.0, 0.0], [0.0, 1.0]], task=["ann", "bob"])
array(['spam', 'ham'], dtype='<U4')"""

ATTRIBUTES = sections_of(MultiTaskClassifier.__doc__)["Attributes"]


def documentation(name: str, entry: Entry, doc: str | None) -> str:
    """Return an estimator's docstring: its learner's, with what all estimators have."""
    of_learner = sections_of(doc)
    parameters = [of_learner.get("Parameters", ""), *map(doc_of_extra, entry.takes)]
    cited = [
        textwrap.fill(
            f".. [{number}] {text}",
            width=100,
            subsequent_indent="   ",
            break_long_words=False,
            break_on_hyphens=False,
        )
        for number, text in enumerate(references(entry.cites), 1)
    ]
    sections = {
        "Parameters": "\n".join(filter(None, parameters)),
        "Attributes": ATTRIBUTES if entry.linear else ATTRIBUTES.partition("\ncoef_")[0],
        "References": "\n".join(cited),
        "Examples": USAGE.format(name=name),
    }
    written = [f"{title}\n{'-' * len(title)}\n{text}" for title, text in sections.items() if text]
    return "\n\n".join([of_learner[""], *written])


def estimator_class(name: str, entry: Entry) -> type[MultiTaskClassifier]:
    """Return the estimator of a learner; its ``__init__`` stores its parameters."""
    rules = getattr(import_module(f"omtl.learners.{entry.module}"), name)
    kinds, defaults = get_type_hints(rules), {**rules._field_defaults, **entry.defaults}
    parameters = [(one, kinds[one], field(default=defaults[one])) for one in rules._fields]
    parameters += [(one, Any, field(default=EXTRAS[one])) for one in entry.takes]
    about = {
        "__doc__": documentation(name, entry, rules.__doc__),
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
