"""What each learner declares for its estimator: defaults, ranges and information about the stream.

The declarations are in the learners' docstrings, so that a learner is an estimator by its own file:
the type of a hyper-parameter may end with its valid values, as in ``float in (0, inf)``, and a
section ``Estimator`` has one line for each other field of `Entry`, all of which are optional::

    Estimator
    ---------
    defaults : eta = 0.1, b = 4.0
    takes : network, rounds
    cites : zhang2018distributed

They are read from the source, without importing the learners.
"""

from __future__ import annotations

import ast
import inspect
import operator
import re
from ast import literal_eval
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from math import inf
from numbers import Integral, Real
from types import UnionType
from typing import Any, NamedTuple

import numpy as np

from omtl.util.code import syntax_tree
from omtl.util.errors import UserError
from omtl.util.paths import PACKAGE

Values = tuple[str, Callable[[float], bool]]
"""The valid values of a hyper-parameter, in words and as a test."""

ANY: Values = ("a number", lambda value: True)  # noqa: ARG005

NUMBERS: dict[type, tuple[str, type | UnionType]] = {
    float: ("a number", Real),
    int: ("a whole number", Integral),
    bool: ("True or False", bool | np.bool_),
}
"""The types of hyper-parameters, in words and as types."""


def checked(name: str, value: Any, kind: type, allowed: Mapping[str, Values]) -> Any:
    """Return a hyper-parameter as its type, which must not change it; raise ValueError otherwise.

    Those with `allowed` values by name must have one of these.
    """
    if kind is np.ndarray:
        return np.array(value)  # np.ndarray(value) would be one of such a shape
    if kind not in NUMBERS:
        return kind(value)
    words, numbers = NUMBERS[kind]
    is_number = isinstance(value, numbers)
    if is_number and kind is not bool:
        is_number = not isinstance(value, bool) and value == value  # no NaN
    if is_number:
        words, fits = allowed.get(name, ANY)
        with suppress(OverflowError):  # a whole number beyond all of type float
            if fits(float(value)):
                return kind(value)
    raise ValueError(f"{name}={value!r} must be {words}")


class Extras(NamedTuple):
    """Parameters of estimators in addition to the hyper-parameters, which some learners take.

    rounds : {"task", "example"}
        What a round is. "task": one example per task; the round ends when all tasks have appeared,
        or when a task appears again. "example": every example is a round of its own.
    n_rounds : int, optional
        Number of rounds to come, if known. `fit` counts them if it is not given.
    n_examples : mapping of task to int, optional
        Number of examples to come of each task, if known. `fit` counts them if it is not given.
    network : str, mapping or ndarray of shape (n_nodes, n_nodes)
        Which nodes combine their weights: "full", "ring" or "grid", with one node per task; options
        of `omtl.data.networks.mixing_matrix`; or the combination weights.
    random_state : int, RandomState instance or None
        Seed of the learner's random numbers.
    """

    rounds: Any = "task"
    n_rounds: Any = None
    n_examples: Any = None
    network: Any = "full"
    random_state: Any = 0


ROUNDS = {True: "task", False: "example"}
"""The kinds of rounds: whether they have an example of each task."""

EXTRAS = Extras._field_defaults
"""The defaults of `Extras`, by name."""


def doc_of_extra(name: str) -> str:
    """Return the entry of a parameter of `Extras` for a docstring."""
    found = re.search(rf"^{name} : .*(?:\n    .*)*", inspect.getdoc(Extras) or "", re.MULTILINE)
    assert found is not None
    return found[0]


class Entry(NamedTuple):
    """What a learner declares for its estimator, which has its name.

    Parameters
    ----------
    module : str
        The module of `omtl.learners` with the learner.
    defaults : mapping of str to float
        Values of the hyper-parameters without a default in the rules.
    values : mapping of str to Values
        Valid values of hyper-parameters.
    takes : tuple of str
        The parameters of `EXTRAS` that it has.
    drawn : tuple of str
        Arrays of the state that scoring changes permanently and prediction restores.
    linear : bool
        Whether the score of an example is a product w·x with weights that the example does not
        change.
    cites : tuple of str
        Keys of its papers in ``omtl/reproduction/references.bib``.
    """

    module: str
    defaults: Mapping[str, float] = {}
    values: Mapping[str, Values] = {}
    takes: tuple[str, ...] = ()
    drawn: tuple[str, ...] = ()
    linear: bool = True
    cites: tuple[str, ...] = ()


def names_in(text: str) -> tuple[str, ...]:
    """Return the names of a list with commas."""
    return tuple(text.split(", "))


def defaults_in(text: str) -> dict[str, float]:
    """Return the numbers of a list such as ``eta = 0.1, b = 4.0``."""
    return {name: literal_eval(value) for name, value in re.findall(r"(\w+) = ([^,]+)", text)}


LINES: dict[str, Callable[[str], Any]] = {
    "defaults": defaults_in,
    "takes": names_in,
    "drawn": names_in,
    "linear": {"yes": True, "no": False}.__getitem__,
    "cites": names_in,
}
"""How the lines of a docstring's section ``Estimator`` are read."""

HEADING = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
RANGE = re.compile(r"^(\w+(?:, \w+)*) : (?:float|int) in ([\[(].*?[\])])", re.MULTILINE)
END = r"(-?(?:inf|\d+(?:\.\d+)?))"
INTERVAL = re.compile(rf"([\[(]){END}, {END}([\])])")


def sections_of(doc: str | None) -> dict[str, str]:
    """Return the sections of a numpydoc docstring by heading; "" is the text before them."""
    first, *others = HEADING.split(inspect.cleandoc(doc or ""))
    found = {"": first, **dict(zip(others[::2], others[1::2], strict=True))}
    return {heading: text.strip("\n") for heading, text in found.items()}


def values_in(text: str) -> Values:
    """Return the numbers of an interval, such as ``[0, inf)``; raise UserError if it is none."""
    found = INTERVAL.fullmatch(text)
    if found is None:
        raise UserError(f"{text!r} is not an interval such as [0, inf) or (0, 1]")
    low, high = float(found[2]), float(found[3])
    above, words = (operator.ge, "at least") if found[1] == "[" else (operator.gt, "above")
    below, limit = (operator.le, "at most") if found[4] == "]" else (operator.lt, "below")
    words = "positive" if text.startswith("(0,") else f"{words} {found[2]}"
    if high < inf:
        words += f" and {limit} {found[3]}"
    elif below is operator.lt:
        words += " and finite"
    return words, lambda value: above(value, low) and below(value, high)


@cache
def declared_values(name: str, doc: str | None) -> Mapping[str, Values]:
    """Return the valid values of hyper-parameters by name, as a learner's docstring has them.

    Raises
    ------
    UserError
        If an interval is not one of numbers.
    """
    found = RANGE.findall(inspect.cleandoc(doc or ""))
    try:
        return {one: values_in(text) for names, text in found for one in names_in(names)}
    except UserError as fault:
        raise UserError(f"the docstring of {name}: {fault}") from fault


def declared_entry(module: str, name: str, doc: str) -> Entry:
    """Return what a learner's docstring declares.

    Raises
    ------
    ValueError
        If it does so in words that are not known.
    """
    declared = sections_of(doc).get("Estimator", "")
    lines = [line.partition(" : ") for line in declared.splitlines()]
    unknown = [name for name, _, _ in lines if name not in LINES]
    if unknown:
        raise ValueError(f"a section Estimator has no line {unknown[0]!r}; known: {[*LINES]}")
    found = {line: LINES[line](text) for line, _, text in lines}
    return Entry(module, values=declared_values(name, doc), **found)


RULES = ("score", "update", "close_round")
"""What only a learner of rounds defines."""


@cache
def declared_entries() -> dict[str, Entry]:
    """Return what each estimator's learner declares, by name, in the order of their modules.

    The learners are all tuples with such rules in the modules of `omtl.learners`.
    """
    found = {}
    for path in sorted((PACKAGE / "learners").glob("*.py")):
        for each in syntax_tree(path.read_text(encoding="utf-8")).body:
            if isinstance(each, ast.ClassDef) and _is_learner(each):
                doc = ast.get_docstring(each) or ""
                found[each.name] = declared_entry(path.stem, each.name, doc)
    return found


def _is_learner(each: ast.ClassDef) -> bool:
    """Whether a class is a tuple that has such rules, or that is given those of another."""
    rules = {part.name for part in each.body if isinstance(part, ast.FunctionDef)}
    bases = {base.id for base in each.bases if isinstance(base, ast.Name)}
    called = {one.func for one in each.decorator_list if isinstance(one, ast.Call)}
    is_twin = "rules_of" in {one.id for one in called if isinstance(one, ast.Name)}
    return "NamedTuple" in bases and (is_twin or not rules.isdisjoint(RULES))
