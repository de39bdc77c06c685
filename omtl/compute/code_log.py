"""Reports of code that has changed since units were stored.

A unit's key depends on the code that makes its result, so exactly the units of changed code are not
found and are recomputed. For each unit the store records the question and the code that answered
it, so a run can say which code has changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from omtl.compute.store import Store
from omtl.experiment.unit import PARTS, Unit


def changed(store: Store, missing: Sequence[Unit]) -> list[str]:
    """Return which code has changed since missing units were last stored, one sentence for each.

    Parameters
    ----------
    store : Store
    missing : sequence of Unit
        Units that the store lacks.
    """
    last = {record.question: record.code for record in store.records()}
    found = Counter(
        name
        for unit in missing
        if last and (earlier := last.get(unit.question)) is not None
        for name in _differing(unit, earlier)
    )
    return [
        f"the code of {name} changed: {count} stored {'unit is' if count == 1 else 'units are'} "
        "recomputed"
        for name, count in sorted(found.items())
    ]


def _differing(unit: Unit, earlier: bytes) -> Iterable[str]:
    """Yield the name of each part of the code that has changed."""
    called = {
        "learner": f"learner {unit.algorithm['learner']}",
        "data": f"data set {unit.dataset['name']}",
        "protocol": f"protocol {unit.protocol['module']}",
        "harness": "the harness",
        "packages": "installed packages",
    }
    size = len(earlier) // len(PARTS)
    for number, part in enumerate(PARTS):
        place = slice(size * number, size * (number + 1))
        if unit.code[place] != earlier[place]:
            yield called[part]
