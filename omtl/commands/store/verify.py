"""``omtl store verify``: compare finished units with their hashes, and replay pulled ones."""

from __future__ import annotations

import argparse

from omtl.commands._options import natural, positive
from omtl.util.status import DONE, FAILED

GROUP = "manage"
HELP = "compare every finished unit with its hash, or replay a sample of those that were pulled"
EXAMPLES = ("store verify", "store verify --replay 10")


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the number of pulled units to replay, and the seed of their draw."""
    command.add_argument(
        "--replay", type=positive, metavar="N", help="play N pulled units again instead"
    )
    command.add_argument("--seed", type=natural, help="of the draw; default: one nobody knows")


def run(options: argparse.Namespace) -> int:
    """Print what is damaged or differs; fail if anything is."""
    from omtl.compute.store import Store
    from omtl.reproduction.replay import DIFFERENT, NOT_COMPARABLE, replay_pulled

    store = Store.default()
    if options.replay is not None:
        results = []
        for replay in replay_pulled(store, options.replay, options.seed):
            print(replay, flush=True)
            results.append(replay.result)
        return FAILED if DIFFERENT in results or set(results) == {NOT_COMPARABLE} else DONE
    damaged = store.damaged()
    for key, why in damaged.items():
        print(f"damaged: unit {key}: {why}")
    print(f"{len(store.keys()) - len(damaged)} units intact, {len(damaged)} damaged")
    return FAILED if damaged else DONE
