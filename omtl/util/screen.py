"""The width of the screen, and wrapping sentences to it."""

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
