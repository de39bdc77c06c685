"""The width of the screen, and wrapping sentences to it."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap


def width() -> int | None:
    """Return the columns of the terminal, or None where the output is piped and may be wider.

    The environment variable ``COLUMNS`` says so for both.
    """
    if os.environ.get("COLUMNS", "").isdecimal():
        return int(os.environ["COLUMNS"])
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def say(text: str) -> None:
    """Print a sentence, broken between words where the terminal ends."""
    columns = width()
    print(text if columns is None else textwrap.fill(text, columns, break_on_hyphens=False))
