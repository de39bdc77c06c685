"""The option ``--json`` of commands whose output scripts read."""

from __future__ import annotations

import argparse
import json
import math
from typing import Any


def add_json_option(command: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    command.add_argument("--json", action="store_true", help="print it as JSON, for scripts")


def print_json(content: Any) -> None:
    """Print something as JSON, which lacks infinity and NaN: they become ``"inf"`` and null."""
    print(json.dumps(_finite(content), indent=1, ensure_ascii=False, default=str))


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {str(key): _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    if isinstance(content, float) and not math.isfinite(content):
        return None if math.isnan(content) else str(content)
    return content
