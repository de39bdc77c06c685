"""Typed descriptions from YAML: a file's mappings as dataclasses, and their JSON Schema.

A type is a dataclass, ``Literal``, ``tuple[X, ...]``, ``Mapping[str, X]``, a union, ``str``,
``int``, ``float``, ``bool`` or ``Any``. Fields without a default are needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from omtl.experiment.config import choose, did_you_mean
from omtl.util.errors import UserError

PLAIN: Mapping[Any, tuple[tuple[type, ...], str, str]] = {
    str: ((str,), "string", "a text"),
    int: ((int,), "integer", "a whole number"),
    float: ((int, float), "number", "a number"),
    bool: ((bool,), "boolean", "true or false"),
    tuple: ((list,), "array", "a list"),
    Mapping: ((dict,), "object", "a mapping of names to values"),
}
"""What a type is in YAML, in JSON Schema, and in words."""


def called(kind: Any) -> str:
    """Return what a mapping of a kind is called: ``table``, ``row``."""
    return kind.__name__.removesuffix("Description").lower()


def _plain(kind: Any) -> tuple[tuple[type, ...], str, str]:
    return PLAIN[Mapping if is_dataclass(kind) else get_origin(kind) or kind]


def json_schema(kind: Any) -> dict[str, Any]:
    """Return the JSON Schema of a type, by which editors complete and check a file."""
    more = get_args(kind)
    if kind is Any:
        return {}
    if isinstance(kind, UnionType):
        return {"anyOf": [json_schema(one) for one in more]}
    if get_origin(kind) is Literal:
        return {"enum": list(more)}
    schema: dict[str, Any] = {"type": _plain(kind)[1]}
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        schema["required"] = list(_needed(kind))
        schema["properties"] = {name: json_schema(of) for name, of in hints.items()}
        schema["additionalProperties"] = False
    elif get_origin(kind) is tuple:
        schema["items"] = json_schema(more[0])
    elif more:
        schema["additionalProperties"] = json_schema(more[1])
    return schema


def _needed(kind: Any) -> Iterator[str]:
    for field in fields(kind):
        if field.default is MISSING and field.default_factory is MISSING:
            yield field.name


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
            return choose(key, str(value), list(get_args(kind)))
        except UserError as fault:
            raise UserError(f"{where}: {fault}") from fault
    parts = get_args(kind) if isinstance(kind, UnionType) else (kind,)
    fitting = [one for one in parts if type(value) in _plain(one)[0]]
    if not fitting:
        words = " or ".join(_plain(one)[2] for one in parts)
        raise UserError(f"{where}: {key}{'=' * bool(key)}{value!r} must be {words}")
    [kind, *_], more = fitting, get_args(fitting[0])
    if is_dataclass(kind):
        return _described(kind, value, where)
    if get_origin(kind) is tuple:
        return tuple(
            typed(more[0], one, *_place(more[0], one, number, where, key))
            for number, one in enumerate(value, start=1)
        )
    if isinstance(value, dict):
        return {
            name: typed(more[1], one, *_place(more[1], one, name, where, f"{key}.{name}"))
            for name, one in value.items()
        }
    return value


def _place(kind: Any, value: Any, name: Any, where: str, key: str) -> tuple[str, str]:
    """Return the place and the key of an entry; a mapping is a place, called as it says itself."""
    if not is_dataclass(kind):
        return where, key
    own = value if isinstance(value, dict) else {}
    return f"{where}, {called(kind)} {own.get('id', own.get('label', name))}", ""


def _described(kind: Any, content: Mapping[str, Any], where: str) -> Any:
    """Return a mapping as a dataclass."""
    hints = get_type_hints(kind)
    for key in content:
        if key not in hints:
            hint = did_you_mean(str(key), hints)
            raise UserError(
                f"{where}: nothing reads {key!r}{hint}; a {called(kind)} has {', '.join(hints)}"
            )
    lacking = [name for name in _needed(kind) if name not in content]
    if lacking:
        raise UserError(f"{where}: it lacks {', '.join(lacking)}")
    values = {key: typed(hints[key], value, where, key) for key, value in content.items()}
    try:
        return kind(**values)
    except UserError as fault:
        raise UserError(f"{where}: {fault}") from fault


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
