"""The reproduction harness for online multi-task learning."""

from importlib import import_module
from typing import Any

FRAMES = ("compare", "run", "table")
"""Functions of the harness (`omtl.reproduction.frames`); the learners do not need them."""


def __getattr__(name: str) -> Any:
    """Import the harness only on use."""
    if name not in FRAMES:
        raise AttributeError(f"module 'omtl' has no attribute {name!r}")
    return getattr(import_module("omtl.reproduction.frames"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *FRAMES])
