"""Compare every finished unit with its hash, or replay a sample of those that were pulled.

Examples
--------
omtl store verify
omtl store verify --replay 10
"""

from __future__ import annotations

from omtl.commands._options import natural, option, positive, refuse_ignored

OPTIONS = (option("--replay", type=positive, metavar="N"), option("--seed", type=natural))


def run(replay: int | None, seed: int | None) -> bool:
    """Print what is damaged or differs; fail if anything is.

    Parameters
    ----------
    replay
        play N pulled units again instead
    seed
        of the draw; default: one nobody knows
    """
    from omtl.compute.store import Store
    from omtl.reproduction.replay import DIFFERENT, NOT_COMPARABLE, replay_pulled

    store = Store.default()
    if replay is not None:
        results = []
        for one in replay_pulled(store, replay, seed):
            print(one, flush=True)
            results.append(one.result)
        return DIFFERENT in results or set(results) == {NOT_COMPARABLE}
    refuse_ignored(OPTIONS, {"seed": seed}, "without --replay, all units are compared")
    damaged = store.damaged()
    for key, why in damaged.items():
        print(f"damaged: unit {key}: {why}")
    print(f"{len(store.keys()) - len(damaged)} units intact, {len(damaged)} damaged")
    return bool(damaged)
