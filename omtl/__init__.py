"""The reproduction harness for online multi-task learning."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omtl.reproduction.frames import compare, run, table

__all__ = ["compare", "run", "table"]


def __getattr__(name: str) -> Any:
    """Import what the harness offers here only where it is used: the learners do without it."""
    if name not in __all__:
        raise AttributeError(f"module 'omtl' has no attribute {name!r}")
    from omtl.reproduction import frames

    return getattr(frames, name)
