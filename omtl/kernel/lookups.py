"""Labels, tasks and column indices of a block, converted and checked in one pass."""

from __future__ import annotations

from omtl.data.validation import WIDEST
from omtl.util.compile_cache import kept


@kept()
def signs(y, classes, out):
    """Write -1 or +1 for each label; return whether all are among the two classes."""
    negative, positive = classes[0], classes[1]
    strange = False
    for i in range(y.size):
        strange |= (y[i] != positive) & (y[i] != negative)
        out[i] = 1.0 if y[i] == positive else -1.0
    return not strange


@kept()
def narrow(indices, out):
    """Write indices as 32-bit numbers; return whether all fit."""
    strange = False
    for k in range(indices.size):
        strange |= (indices[k] < 0) | (indices[k] >= WIDEST)
        out[k] = indices[k]
    return not strange


@kept()
def look_up(task, first, table, out):
    """Write ``table[k - first]`` for each task k; return whether none is outside or negative."""
    for i in range(task.size):
        place = task[i] - first
        if place < 0 or place >= table.size or table[place] < 0:
            return False
        out[i] = table[place]
    return True


@kept()
def mark(task, first, met):
    """Set ``met[k - first]`` for each task k."""
    for i in range(task.size):
        met[task[i] - first] = True
