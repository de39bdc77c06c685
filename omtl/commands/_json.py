"""The option ``--json`` of commands whose output scripts read."""

from __future__ import annotations

import argparse
from typing import Any


def add_json_option(command: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    command.add_argument("--json", action="store_true", help="print it as JSON, for scripts")


def print_json(content: Any) -> None:
    """Print something as JSON, in which infinity is ``"inf"`` and NaN is null."""
    from omtl.util.strict_json import strict

    print(strict(content))
