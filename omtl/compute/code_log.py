"""Which code changed since a unit was stored.

A unit's key depends on the code that makes its result, so units of changed code are not found and
are computed again, and no others. The store keeps a line for each unit that is saved: what was
asked, and by which code it was answered. So a run can say which code it was that changed.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from omtl.experiment.unit import Unit

NAME = "code.log"
"""The file in the store's folder."""

PARTS = ("learner", "data", "protocol", "harness", "packages")
"""The parts of the code that a unit's identity has."""


def question(unit: Unit) -> str:
    """Return a hash of all that a unit asks, whatever the code that answers."""
    asked = {name: value for name, value in unit.identity.items() if name != "code"}
    text = json.dumps(asked, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def line_of(unit: Unit) -> str:
    """Return the line that a saved unit leaves."""
    code = unit.identity["code"]
    return " ".join([question(unit), *(code[part][:16] for part in PARTS)]) + "\n"


def note(folder: Path, unit: Unit) -> None:
    """Add the line of a saved unit; one that cannot be written is left out, as it only informs."""
    try:
        with (folder / NAME).open("a", encoding="ascii") as log:
            log.write(line_of(unit))
    except OSError:
        pass


def changed(folder: Path, missing: Sequence[Unit]) -> list[str]:
    """Return which code changed since missing units were last stored, a sentence for each.

    Parameters
    ----------
    folder : Path
        The store's.
    missing : sequence of Unit
        Units that the store lacks.
    """
    try:
        lines = (folder / NAME).read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []
    last = {words[0]: words[1:] for words in map(str.split, lines) if len(words) == 1 + len(PARTS)}
    found = Counter(
        name
        for unit in missing
        if (earlier := last.get(question(unit))) is not None
        for name in _differing(unit, earlier)
    )
    return [
        f"the code of {name} changed: {count} stored {'unit is' if count == 1 else 'units are'} "
        "computed again"
        for name, count in sorted(found.items())
    ]


def _differing(unit: Unit, earlier: Sequence[str]) -> Iterable[str]:
    """Yield what to call each part of the code that was another one."""
    called = {
        "learner": f"learner {unit.algorithm['learner']}",
        "data": f"data set {unit.dataset['name']}",
        "protocol": f"protocol {unit.protocol['module']}",
        "harness": "the harness",
        "packages": "installed packages",
    }
    for part, before in zip(PARTS, earlier, strict=True):
        if not unit.identity["code"][part].startswith(before):
            yield called[part]
