"""Values of a run that its protocol or its rule of selection does not read: they are refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from omtl.experiment.schema import check_names
from omtl.experiment.specs import (
    IN_ROUNDS,
    NetworkSpec,
    ProtocolSpec,
    SelectionSpec,
    known_settings,
)
from omtl.util.errors import UserError

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
    read = ("most", "tasks") if rule.most and rule.rule == "oracle" else RULES[rule.rule]
    if unread := sorted(_changed(asdict(rule), asdict(usual)).difference(read, ("rule",))):
        raise UserError(
            f"selection {rule.name}: its rule, {rule.rule}, does not read {unread[0]}; it reads "
            f"{', '.join(read)}"
        )


def refuse_topology(network: NetworkSpec) -> None:
    """Refuse another topology under the name of a network, as results are called; UserError."""
    if network.topology != NetworkSpec.named(network.name).topology:
        raise UserError(
            f"network {network.name} has another topology than {network.topology}; choose a "
            "network by network=NAME, or give network.edges"
        )


def _changed(one: Mapping[str, Any], other: Mapping[str, Any]) -> set[str]:
    return {name for name, value in one.items() if value != other.get(name)}
