"""Archives of finished units, and pruning of the store.

An archive is a file of the store: records with hashes of their contents. Units are found only by
key, so units made by other code, which an archive may contain, are never mistaken for ours.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from omtl.compute.segments import SUFFIX, Record, packed, rewrite, scan
from omtl.compute.store import OLD_LOG, Store
from omtl.experiment.unit import Unit, code_of_parts, key_of, question_of
from omtl.util.errors import UserError
from omtl.util.files import write_whole


class Pulled(NamedTuple):
    """The number of units in an archive, of the installed code, and of new ones."""

    units: int
    ours: int
    new: int


def push(units: Iterable[Unit] | None, store: Store, path: Path) -> int:
    """Write stored units to an archive; return their number.

    Parameters
    ----------
    units : iterable of Unit, or None
        The units; None for all that belong to the installed code.
    store : Store
    path : Path
        The file.

    Raises
    ------
    UserError
        If none of them is stored, or the file cannot be written.
    """
    is_current = Current()
    wanted = None if units is None else {bytes.fromhex(unit.key) for unit in units}
    found = [
        packed(record.key, record.question, record.code, payload)
        for record in sorted(store.records(), key=lambda record: record.key)
        if (is_current(record) if wanted is None else record.key in wanted)
        and (payload := record.payload()) is not None
    ]
    if not found:
        raise UserError(f"{store.folder} has none of these units; compute them first")
    write_whole(path, b"".join(found))
    return len(found)


@contextmanager
def fetched(place: str) -> Iterator[Path]:
    """Provide the file at a path or an address; a downloaded file is removed at the end.

    Raises
    ------
    UserError
        If there is no answer.
    """
    if "://" not in place:
        yield Path(place)
        return
    import requests

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "units"
        try:
            with requests.get(place, stream=True, timeout=60) as answer, path.open("wb") as file:
                answer.raise_for_status()
                for part in answer.iter_content(2**20):
                    file.write(part)
        except (requests.RequestException, OSError) as fault:
            raise UserError(f"{place} cannot be downloaded ({fault})") from fault
        yield path


def pull(path: Path, store: Store) -> Pulled:
    """Import the units of an archive into the store.

    Parameters
    ----------
    path : Path
        The archive.
    store : Store

    Raises
    ------
    UserError
        If it is not an archive, damaged or unreadable; the store is then unchanged.
    """
    try:
        found = [_checked(record, path) for record in scan(path)]
        whole = bool(found) and found[-1].end == path.stat().st_size
    except OSError as fault:
        raise UserError(f"{path} cannot be read ({fault.strerror})") from fault
    if not whole:
        raise _damaged(path)
    is_current = Current()
    known = {record.key for record in store.records()}
    new = [record for record in found if record.key not in known]
    for record in new:
        payload = record.payload()
        if payload is None:
            raise _damaged(path)
        store.add(packed(record.key, record.question, record.code, payload))
    store.sync()
    return Pulled(len(found), sum(map(is_current, found)), len(new))


def _checked(record: object, path: Path) -> Record:
    """Return a record after checking that its content matches its key."""
    if not isinstance(record, Record):
        raise _damaged(path)
    try:
        identity = _identity(record)
        question = question_of(identity)
        held = (key_of(identity, question), question, code_of_parts(identity))
    except (AttributeError, KeyError, TypeError, ValueError) as fault:
        raise _damaged(path) from fault
    if held != (record.key.hex(), record.question, record.code):
        raise _damaged(path)
    return record


def _damaged(path: Path) -> UserError:
    return UserError(f"{path} is not an archive of units, or is damaged; nothing was imported")


def _identity(record: Record) -> dict[str, Any]:
    """Return the identity of a stored unit; empty if it is damaged."""
    payload = record.payload() or b""
    try:
        return json.loads(payload[: payload.index(b"\n")])["unit"]
    except (ValueError, KeyError, TypeError):
        return {}


class Current:
    """Whether stored units belong to the installed code."""

    def __init__(self) -> None:
        self._known: dict[bytes, bool] = {}

    def __call__(self, record: Record) -> bool:
        if record.code not in self._known:
            self._known[record.code] = self._is(record)
        return self._known[record.code]

    def _is(self, record: Record) -> bool:
        asked = _identity(record)
        made_of = ("algorithm", "dataset", "protocol", "network", "seed", "repeat", "draw")
        try:
            return Unit(**{name: asked[name] for name in made_of}).code == record.code
        except (UserError, KeyError, TypeError, AttributeError):
            return False  # its learner, data set or protocol is gone


def prune(store: Store, only_count: bool = False) -> tuple[int, int]:
    """Remove units whose code is gone, damaged files, and those of earlier formats.

    Parameters
    ----------
    store : Store
    only_count : bool
        Whether to only count, without removing anything.

    Returns
    -------
    tuple of int
        The numbers of removed and remaining units.
    """
    is_current = Current()
    records = list(store.records())
    gone = sum(not is_current(record) for record in records)
    if not only_count:
        for path in sorted(store.folder.glob(f"*{SUFFIX}")):
            rewrite(path, is_current)
        for path in [*store.folder.glob("*.damaged"), *store.folder.glob(OLD_LOG)]:
            path.unlink(missing_ok=True)
        for folder in store.folder.glob("[0-9a-f][0-9a-f]"):
            shutil.rmtree(folder, ignore_errors=True)
    return gone, len(records) - gone
