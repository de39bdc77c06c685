"""``omtl store verify``: compare every finished unit with its hash."""

from __future__ import annotations

import argparse

from omtl.util.status import DONE, FAILED

GROUP = "manage"
HELP = "compare every finished unit with its hash; damaged ones are computed again when needed"
EXAMPLES = ("store verify",)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add nothing: the whole store is read."""


def run(options: argparse.Namespace) -> int:  # noqa: ARG001
    """Print how many units are intact; fail if one is damaged."""
    from omtl.compute.exchange import damaged_units
    from omtl.compute.store import Store

    store = Store.default()
    damaged = damaged_units(store)
    for key, why in damaged.items():
        print(f"damaged: unit {key}: {why}")
    print(f"{len(store.keys()) - len(damaged)} units intact, {len(damaged)} damaged")
    return FAILED if damaged else DONE
