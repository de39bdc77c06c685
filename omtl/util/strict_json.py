"""Strict JSON: infinity and NaN become ``"inf"`` and null."""

from __future__ import annotations

import json
import math
from typing import Any


def strict(content: Any, indent: int | None = 1) -> str:
    """Return a value as JSON."""
    return json.dumps(_finite(content), indent=indent, ensure_ascii=False, default=str)


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {str(key): _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    if isinstance(content, float) and not math.isfinite(content):
        return None if math.isnan(content) else str(content)
    return content
