"""The schema of the files in ``experiments/``: keys of tables, figures, claims and the rest."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from omtl.experiment.config import choose, did_you_mean, load_option, options
from omtl.util.errors import UserError

NEEDED: Mapping[str, str] = {
    "table": "id paper title caption spread metric protocol selection repeats digits columns rows",
    "row": "",
    "column": "dataset published",
    "figure": "id paper title selection repeats panels",
    "panel": "kind label title dataset lines",
    "line": "algorithm",
    "claim": "id place all",
    "part": "than",
    "diagnosis": "table readings dataset algorithms text",
    "question": "asks says literal columns options",
}
"""Keys that a mapping of a kind must have."""

ALSO: Mapping[str, str] = {
    "table": "baselines print plays proposed too_slow searched_without chosen_by findings blocks "
    "same_row",
    "row": "group algorithm published ours network selection",
    "column": "patch kind search protocol",
    "figure": "caption protocol columns legend_columns panel_size published chosen_in",
    "panel": "ridges published rank ratios scales delta stand_in repeat protocol protocols groups "
    "tasks horizons metric patch",
    "line": "network title published parameter symbol scale theory marks varies by by_symbol "
    "warning label dataset",
    "claim": "says quote taken_as table figure metric either",
    "part": "dataset panel parts at lower higher ratio by at_least at_most tasks metric",
    "diagnosis": "metrics",
    "question": "support found",
}
"""Keys that it may have besides."""

VALUES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("table", "spread"): ("std", "standard_error", "unstated"),
    ("table", "blocks"): ("dataset",),
    ("table", "baselines"): ("none",),
    ("column", "kind"): ("value", "substitute"),
}
"""What values must be one of."""


LISTS: Mapping[str, Mapping[str, str]] = {
    "table": {"rows": "row", "columns": "column"},
    "figure": {"panels": "panel"},
    "panel": {"lines": "line"},
    "claim": {"all": "part"},
}
"""Keys that hold lists of mappings, each with the kind of these."""

FILES: Mapping[str, str] = {
    "table": "table",
    "figure": "figure",
    "claims": "claim",
    "diagnoses": "diagnosis",
    "readings": "question",
}
"""What the files of a paper hold."""


def json_schema(file: str) -> dict[str, Any]:
    """Return the JSON Schema of a file of a paper, by which editors complete and check it.

    Parameters
    ----------
    file : str
        A key of `FILES`.
    """
    kind = FILES[file]
    content = _object(kind)
    if file in ("claims", "diagnoses"):
        content = {"type": "array", "items": content}
    elif file == "readings":
        each = {"type": "object", "additionalProperties": content}
        content = {"type": "object", "required": ["questions"], "properties": {"questions": each}}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": f"omtl {file}"}
    return head | content


def _object(kind: str) -> dict[str, Any]:
    """Return the schema of a mapping of a kind."""
    properties: dict[str, Any] = {}
    for key in (*NEEDED[kind].split(), *ALSO.get(kind, "").split()):
        if key in LISTS.get(kind, {}):
            properties[key] = {"type": "array", "items": _object(LISTS[kind][key])}
        elif (kind, key) in VALUES:
            properties[key] = {"enum": list(VALUES[kind, key])}
        else:
            properties[key] = {}
    return {
        "type": "object",
        "required": NEEDED[kind].split(),
        "properties": properties,
        "additionalProperties": False,
    }


def check(kind: str, content: Any, where: str) -> None:
    """Refuse a mapping that lacks a key, or has one that nothing reads.

    Parameters
    ----------
    kind : str
        A key of `NEEDED`.
    content : object
    where : str
        What to call its place.

    Raises
    ------
    UserError
        With the closest known key.
    """
    if not isinstance(content, Mapping):
        raise UserError(f"{where}: must be a mapping of names to values")
    needed = NEEDED[kind].split()
    known = [*needed, *ALSO[kind].split()]
    for key in content:
        if key not in known:
            hint = did_you_mean(str(key), known)
            raise UserError(
                f"{where}: nothing reads {key!r}{hint}; a {kind} has {', '.join(known)}"
            )
    lacking = [key for key in needed if key not in content]
    if lacking:
        raise UserError(f"{where}: it lacks {', '.join(lacking)}")
    for (of, key), values in VALUES.items():
        if of == kind and key in content:
            try:
                choose(key, str(content[key]), list(values))
            except UserError as fault:
                raise UserError(f"{where}: {fault}") from fault


def check_all(kind: str, contents: Any, where: str) -> None:
    """Refuse a list in which a mapping is wrong.

    Raises
    ------
    UserError
        With the number of the mapping in the list, from 1.
    """
    if not isinstance(contents, Sequence) or isinstance(contents, str):
        raise UserError(f"{where}: must be a list")
    for number, one in enumerate(contents, start=1):
        check(kind, one, f"{where}, {kind} {number}")


def check_description(kind: str, content: Any, path: Path) -> None:
    """Refuse a wrong description of a table or figure.

    Raises
    ------
    UserError
        With its place.
    """
    check(kind, content, str(path))
    if kind == "table":
        check_all("row", content["rows"], str(path))
        check_all("column", content["columns"], str(path))
        return
    check_all("panel", content["panels"], str(path))
    for panel in content["panels"]:
        check_all("line", panel["lines"], f"{path}, panel {panel['label']}")


def check_claims(claims: Any, path: Path) -> None:
    """Refuse wrong claims.

    Raises
    ------
    UserError
        With the claim's place.
    """
    check_all("claim", claims, str(path))
    for claim in claims:
        if ("says" in claim) == ("quote" in claim):
            raise UserError(
                f"{path}, {claim['id']}: a claim has the paper's words (quote) or ours (says)"
            )
        check_all("part", claim["all"], f"{path}, {claim['id']}")


def check_questions(asked: Mapping[str, Any], columns: Iterable[str], where: str) -> None:
    """Refuse questions of a paper with a wrong key, column or place of a config value.

    Parameters
    ----------
    asked : mapping
        The questions by name.
    columns : iterable of str
        What the columns and panels of the paper are called.
    where : str
        What to call their place.

    Raises
    ------
    UserError
        With the closest known name.
    """
    known = list(columns)
    for name, question in asked.items():
        here = f"{where}, question {name}"
        check("question", question, here)
        try:
            for column in question["columns"]:
                choose("column", column, known)
            for patch in question["options"].values():
                for key in patch:
                    _check_place(*key.split("."))
        except UserError as fault:
            raise UserError(f"{here}: {fault}") from fault


def _check_place(group: str, name: str = "", *path: str) -> None:
    """Refuse a place ``group.name.key`` that no config has; a name may be ``*``."""
    choose("group", group, list(READ_TOO))
    names = options(group)
    if name != "*":
        names = [choose(group, name, names)]
    keys = {key for option in names for key in load_option(group, option)} | READ_TOO[group]
    choose(f"value of {group} {name}", path[0] if path else "", sorted(keys))


READ_TOO: Mapping[str, set[str]] = {
    "algorithm": {"only"},
    "dataset": set(),
    "protocol": {"share", "timed", "checkpoints"},
    "network": set(),
    "selection": {"target", "tasks", "most", "least", "fraction", "for"},
}
"""The groups that an answer may set values of, with keys that are read and not all configs have."""
