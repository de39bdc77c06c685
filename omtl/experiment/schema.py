"""YAML files as typed objects: each is read once, and checked where it is read.

A type is a dataclass, ``Literal``, ``tuple[X, ...]``, ``Mapping[str, X]``, a union, ``str``,
``int``, ``float``, ``bool``, ``None`` or ``Any``; ``Annotated[X, range]`` has a range too. Fields
without a default are needed; a field whose metadata has `REST` takes all keys that are not fields.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import yaml

from omtl.util.errors import UserError, choose, did_you_mean, repeated
from omtl.util.files import State, file_state

REST = {"rest": True}
"""Metadata of the field that takes a mapping's other keys."""

PLAIN: Mapping[Any, tuple[tuple[type, ...], str]] = {
    str: ((str,), "a text"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
    bool: ((bool,), "true or false"),
    NoneType: ((NoneType,), "null"),
    **dict.fromkeys((tuple, Sequence, Collection), ((list, tuple), "a list")),
    Mapping: ((dict,), "a mapping of names to values"),
}
"""What a type is in YAML, and in words."""


UNIONS = (Union, UnionType)


class Range(NamedTuple):
    """The values that fit, and what they are called."""

    fits: Callable[[Any], bool]
    words: str


POSITIVE = Range(lambda n: type(n) is int and n > 0, "a positive whole number")
NOT_NEGATIVE = Range(lambda n: type(n) is int and n >= 0, "a whole number that is not negative")
YES_NO = Range(lambda answer: type(answer) is bool, "true or false")
SHARE = Range(lambda x: type(x) in (int, float) and 0 < x <= 1, "above 0 and at most 1")


def refuse_unfit(name: str, value: Any, within: Range) -> None:
    """Refuse a value outside a range; raise UserError."""
    if not within.fits(value):
        raise UserError(f"{name}={value!r} must be {within.words}")


def as_plain(value: Any) -> Any:
    """Return a copy of a value, with all mappings and lists in it as plain ones."""
    if isinstance(value, dict):
        return {key: as_plain(one) for key, one in value.items()}
    return [as_plain(one) for one in value] if isinstance(value, list | tuple) else value


def read_text(path: Path) -> str:
    """Return a file's text; raise UserError if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as fault:
        raise UserError(f"{path}: cannot be read ({fault.strerror})") from fault
    except UnicodeDecodeError as fault:
        raise UserError(
            f"{path}: byte {fault.start + 1} is not of UTF-8; save the file as UTF-8"
        ) from fault


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Refuses a duplicate key in a mapping; YAML would silently use the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return a mapping's keys and values."""
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen and key.tag != "tag:yaml.org,2002:merge":
                raise yaml.MarkedYAMLError(None, None, f"{key.value} twice", key.start_mark)
            if isinstance(key.value, str):
                seen.add(key.value)
        return super().construct_mapping(node, deep)


def check_names(where: str, *named: tuple[str, Iterable[str], Iterable[str]]) -> None:
    """Refuse names that are not known, each kind with what it is called and the known ones.

    Raises
    ------
    UserError
        With the place, `where`, and the closest known name.
    """
    try:
        for what, names, known in named:
            for name in names:
                choose(what, name, list(known))
    except UserError as fault:
        raise UserError(f"{where}: {fault}") from fault


def refuse_twice(where: str, names: Iterable[str]) -> None:
    """Refuse a name that stands twice; raise UserError."""
    if twice := repeated(names):
        raise UserError(f"{where}: {twice[0]!r} is there twice; leave one of them out")


def refuse_other_name(where: Path | str, key: str, name: Any, due: str) -> None:
    """Refuse another name than the one that follows from a file's path; raise UserError."""
    if name != due:
        raise UserError(f"{where}: {key}={name!r} must be {due!r}, as in the file's path")


def called(kind: Any) -> str:
    """Return what a mapping of a kind is called: ``table``, ``row``."""
    name = re.sub("^Composed|Description$|Spec$", "", kind.__name__)
    return re.sub("(?<=[a-z])(?=[A-Z])", " ", name).lower()


class Keys(NamedTuple):
    """The keys of a dataclass's mappings: their types, those that are needed, and the field that
    takes all others, if there is one."""

    kinds: Mapping[str, Any]
    needed: tuple[str, ...]
    rest: str


@cache
def keys_of(kind: Any) -> Keys:
    """Return the keys of a dataclass's mappings."""
    hints = get_type_hints(kind, include_extras=True)
    named = [each for each in fields(kind) if not each.metadata]
    return Keys(
        {each.name: hints[each.name] for each in named},
        tuple(e.name for e in named if e.default is MISSING and e.default_factory is MISSING),
        next((each.name for each in fields(kind) if each.metadata), ""),
    )


def _plain(kind: Any) -> tuple[tuple[type, ...], str]:
    if get_origin(kind) is Annotated:
        return _plain(get_args(kind)[0])
    return PLAIN[Mapping if is_dataclass(kind) else get_origin(kind) or kind]


def typed(kind: Any, value: Any, where: str, key: str = "") -> Any:
    """Return a value that was read from YAML as a type has it.

    Parameters
    ----------
    kind : type
    value : object
        As YAML gives it.
    where : str
        The name of its place, for the message.
    key : str
        Its own name there.

    Raises
    ------
    UserError
        If a value is of another type, or a mapping lacks a key or has one that nothing reads; with
        the closest known one.
    """
    if kind is Any:
        return value
    if get_origin(kind) is Literal:
        try:
            return choose(key, str(value), get_args(kind))
        except UserError as fault:
            raise UserError(f"{where}: {fault}") from fault
    parts = get_args(kind) if get_origin(kind) in UNIONS else (kind,)
    fitting = [one for one in parts if isinstance(value, _plain(one)[0])]
    if not fitting or (type(value) is bool and bool not in fitting):
        words = " or ".join(_plain(one)[1] for one in parts)
        raise UserError(f"{where}: {key}{'=' * bool(key)}{value!r} must be {words}")
    [kind, *_], more = fitting, get_args(fitting[0])
    if get_origin(kind) is Annotated:
        plain, within = more
        found = typed(plain, value, where, key)
        refuse_unfit(f"{where}: {key}", value, within)
        return found
    if is_dataclass(kind):
        return kind.read(value) if hasattr(kind, "read") else typed_mapping(kind, value, where)
    if get_origin(kind) is tuple:
        return tuple(
            typed(more[0], one, *_place(more[0], one, number, where, key))
            for number, one in enumerate(value, start=1)
        )
    if isinstance(value, dict):
        return {
            str(name) if more[0] is str else name: typed(
                more[1], one, *_place(more[1], one, name, where, f"{key}.{name}")
            )
            for name, one in value.items()
        }
    return value


def _place(kind: Any, value: Any, name: Any, where: str, key: str) -> tuple[str, str]:
    """Return the place and the key of an entry; a mapping is a place, called as it says itself."""
    if not is_dataclass(kind):
        return where, key
    own = value if isinstance(value, dict) else {}
    return f"{where}, {called(kind)} {own.get('id', own.get('label', name))}", ""


def typed_mapping(kind: Any, content: Mapping[str, Any], where: str) -> Any:
    """Return a mapping as a dataclass; `where` names its place, for the message."""
    known, needed, rest = keys_of(kind)
    more = {key: value for key, value in content.items() if key not in known}
    if more and not rest:
        key = next(iter(more))
        hint = did_you_mean(str(key), known)
        raise UserError(
            f"{where}: nothing reads {key!r}{hint}; a {called(kind)} has {', '.join(known)}"
        )
    lacking = [name for name in needed if name not in content]
    if lacking:
        raise UserError(f"{where}: it lacks {', '.join(lacking)}")
    values = {
        key: typed(known[key], value, where, key) for key, value in content.items() if key in known
    }
    if rest:
        values[rest] = more
    try:
        return kind(**values)
    except UserError as fault:
        raise UserError(f"{where}: {fault}") from fault


def read_file(kind: Any, path: Path, then: Callable[[Any, Path], Any] | None = None) -> Any:
    """Return a YAML file as a type has it; a file that did not change is read once.

    Parameters
    ----------
    kind : type
    path : Path
    then : callable, optional
        Takes what was read, and the path, once too: it refuses names which there are not, and
        returns what is to be remembered.

    Raises
    ------
    UserError
        If it cannot be read, or does not fit the type.
    """
    return _read(kind, path, then, file_state(path))


@cache
def _read(kind: Any, path: Path, then: Callable[[Any, Path], Any] | None, _: State) -> Any:
    try:
        content = yaml.load(read_text(path), _Loader)
    except yaml.YAMLError as fault:
        raise UserError(f"{path}: is not valid YAML: {' '.join(str(fault).split())}") from fault
    if not isinstance(content, _plain(kind)[0]):
        raise UserError(f"{path}: must be {_plain(kind)[1]}")
    read = typed(kind, content, str(path))
    return read if then is None else then(read, path)


def read_yaml(path: Path) -> Mapping[str, Any]:
    """Return a YAML file's mapping, which all share; raise UserError if it cannot be read."""
    return read_file(Mapping[str, Any], path)
