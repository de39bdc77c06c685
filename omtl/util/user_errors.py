"""Reporting errors in a user's code: the exception, the line, and the traceback."""

from __future__ import annotations

import os
import traceback
from pathlib import Path

from omtl.util.providers import OURS, providers

VARIABLE = "OMTL_DEBUG"
"""The environment variable that turns on tracebacks; worker processes inherit it."""


def is_debugging() -> bool:
    """Whether tracebacks are on, by ``--debug`` or by the environment."""
    return os.environ.get(VARIABLE, "") not in ("", "0")


def debug() -> None:
    """Turn on tracebacks, in this process and those that it starts."""
    os.environ[VARIABLE] = "1"


def place_in_own(fault: BaseException) -> str:
    """Return the innermost line in added code that led to an error, or nothing.

    Added code is that of the user's own folder and of extensions.
    """
    folders = [each.conf.resolve() for each in providers() if each != OURS]
    for frame in reversed(traceback.extract_tb(fault.__traceback__)):
        path = Path(frame.filename).resolve()
        for folder in folders:
            if path.is_file() and path.is_relative_to(folder):
                return f"{path.relative_to(folder)}, line {frame.lineno}: {frame.line}"
    return ""


def describe_fault(fault: BaseException) -> str:
    """Return the exception as text, with its line in the user's own folder.

    If tracebacks are on, the whole traceback follows.
    """
    text = f"{type(fault).__name__}: {' '.join(str(fault).split())}"
    if place := place_in_own(fault):
        text = f"{text} ({place})"
    if is_debugging():
        text = f"{text}\n{''.join(traceback.format_exception(fault))}"
    return text
