"""The option ``--json``, for output that scripts read."""

from __future__ import annotations

import argparse
from typing import Any


def add_json_option(command: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    command.add_argument("--json", action="store_true", help="print JSON, for scripts")


def print_json(content: Any) -> None:
    """Print JSON, with infinity as ``"inf"`` and NaN as null."""
    from omtl.util.strict_json import strict

    print(strict(content))
