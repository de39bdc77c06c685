"""The reproduction harness for online multi-task learning."""

from importlib import import_module
from typing import Any

FRAMES = ("compare", "run", "table")
"""What the harness offers here (`omtl.reproduction.frames`); the learners do without it."""


def __getattr__(name: str) -> Any:
    """Import the harness only where it is used."""
    if name not in FRAMES:
        raise AttributeError(f"module 'omtl' has no attribute {name!r}")
    return getattr(import_module("omtl.reproduction.frames"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *FRAMES])
