"""The reproduction harness for online multi-task learning."""

import os
from typing import TYPE_CHECKING, Any

from omtl.util import user_folder
from omtl.util.compile_cache import use_compile_cache

# Units run in parallel; threads of the linear algebra would only wait for each other's cores.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
user_folder.find()
use_compile_cache()

if TYPE_CHECKING:
    from omtl.reproduction.frames import compare, run, table

__all__ = ["compare", "run", "table"]


def __getattr__(name: str) -> Any:
    """Import what the harness offers here only where it is used: the learners do without it."""
    if name not in __all__:
        raise AttributeError(f"module 'omtl' has no attribute {name!r}")
    from omtl.reproduction import frames

    return getattr(frames, name)
