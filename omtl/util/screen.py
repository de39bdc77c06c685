"""Text for the screen: counts with their nouns, sentences wrapped to its width."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap


def width() -> int | None:
    """Return the terminal's width, or None if the output is piped and may be wider.

    The environment variable ``COLUMNS`` overrides both.
    """
    if os.environ.get("COLUMNS", "").isdecimal():
        return int(os.environ["COLUMNS"])
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def say(text: str) -> None:
    """Print a sentence, wrapped between words at the terminal's width."""
    columns = width()
    print(text if columns is None else textwrap.fill(text, columns, break_on_hyphens=False))


def plural(n: int, what: str) -> str:
    """Return a count with its noun: ``1 repeat``, ``2 repeats``."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
