"""Values of a run that its parts would not read, or would take for others: they are refused."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import fields
from numbers import Real
from typing import Any

import numpy as np

from omtl.experiment.schema import check_names
from omtl.experiment.specs import (
    IN_ROUNDS,
    AlgorithmSpec,
    NetworkSpec,
    ProtocolSpec,
    SelectionSpec,
    known_settings,
)
from omtl.util.code import syntax_tree
from omtl.util.errors import UserError
from omtl.util.providers import module_file

STREAMS = {"checkpoints": ("rounds", "given_order"), "run_out": ("rounds",)}
"""The settings of some streams only, of those of `IN_ROUNDS`."""

RULES = {
    "oracle": ("least", "most", "target", "tasks"),
    "prefix": ("fraction", "least", "target", "tasks"),
    "progressive": ("least", "target", "tasks"),
    "fixed": ("point",),
    "cross_validation": ("chosen_for",),
}
"""What each rule of a selection reads."""

CHANGED: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "bool": (lambda it: not isinstance(it, int | np.bool_) or it not in (0, 1), "true or false"),
    "int": (
        lambda it: _is_truth(it) or (isinstance(it, Real) and not float(it).is_integer()),
        "a whole number",
    ),
    "float": (lambda it: _is_truth(it), "a number"),
}
"""Which values of a hyper-parameter its type would change, and what it should be."""


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool | np.bool_)


def refuse_settings(protocol: ProtocolSpec) -> None:
    """Refuse settings that a protocol, or its stream, does not read.

    Those that an option of ``conf/protocol`` has are left to it.

    Raises
    ------
    UserError
        With the closest setting, or the streams that read it.
    """
    name, settings, stream = protocol.name, protocol.settings, protocol.stream
    known = sorted(known_settings(protocol.module))
    check_names(f"protocol {name}", ("setting", settings, known))
    if protocol.module not in IN_ROUNDS:
        return
    if "join" in settings and stream not in (None, "given_order"):
        raise UserError(
            f"protocol {name}: join is for tasks in given order, and stream={stream} is not; "
            "choose protocol=given_order, or leave one of them out"
        )
    stream = "given_order" if "join" in settings else stream
    for setting in _changed(settings, ProtocolSpec.named(name).settings).intersection(STREAMS):
        if stream not in STREAMS[setting]:
            raise UserError(
                f"protocol {name}: {setting} is for stream={' or '.join(STREAMS[setting])}, and "
                f"this one is {stream}; leave it out"
            )


def refuse_selection(rule: SelectionSpec) -> None:
    """Refuse what a rule of selection does not read; raise UserError."""
    usual = SelectionSpec.named(rule.name)
    one, other = ({each.name: getattr(x, each.name) for each in fields(x)} for x in (rule, usual))
    read = ("most", "tasks") if rule.most and rule.rule == "oracle" else RULES[rule.rule]
    if unread := sorted(_changed(one, other).difference(read, ("rule",))):
        raise UserError(
            f"selection {rule.name}: its rule, {rule.rule}, does not read {unread[0]}; it reads "
            f"{', '.join(read)}"
        )


def refuse_changed(algorithm: AlgorithmSpec) -> None:
    """Refuse hyper-parameters that their types would change, such as 2.7 of a whole number.

    The types are those that stand in the class; it is not imported.

    Raises
    ------
    UserError
        If there is one.
    """
    kinds = {} if algorithm.is_foreign else _types_in(algorithm.learner)
    for name, values in {**{k: [v] for k, v in algorithm.fixed.items()}, **algorithm.grid}.items():
        is_changed, words = CHANGED.get(kinds.get(name, ""), (lambda _: False, ""))
        for value in values if isinstance(values, list) else [values]:
            if is_changed(value):
                raise UserError(f"algorithm {algorithm.name}: {name}={value!r} must be {words}")


def _types_in(learner: str) -> dict[str, str]:
    """Return the simple types of a class's fields; nothing if its file cannot be read."""
    module, _, name = learner.rpartition(".")
    file = module_file(module)
    try:
        body = [] if file is None else syntax_tree(file.read_text(encoding="utf-8")).body
    except (OSError, SyntaxError, ValueError):  # who plays it reports it
        return {}
    return {
        field.target.id: field.annotation.id
        for each in body
        if isinstance(each, ast.ClassDef) and each.name == name
        for field in each.body
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(field.annotation, ast.Name)
    }


def _changed(one: Mapping[str, Any], other: Mapping[str, Any]) -> set[str]:
    return {name for name, value in one.items() if value != other.get(name)}


def refuse_topology(network: NetworkSpec) -> None:
    """Refuse another topology under the name of a network, as results are called; UserError."""
    if network.topology != NetworkSpec.named(network.name).topology:
        raise UserError(
            f"network {network.name} has another topology than {network.topology}; choose a "
            "network by network=NAME, or give network.edges"
        )
