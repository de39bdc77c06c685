"""Random generators as functions of named axes.

What varies with an axis has it in its name, and nothing else does: the shuffle of a repeat depends
on the data set and the repeat, never on the learner or its grid, so all learners see the same
repeats.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np


def generator(seed: int, **axes: int | str) -> np.random.Generator:
    """Return the generator of a seed and a point on named axes.

    Parameters
    ----------
    seed : int
        The run's seed; 0 is as good as any.
    **axes
        Such as ``of="shuffle", dataset="mhc", repeat=3``.
    """
    name = json.dumps({"seed": seed, **axes}, sort_keys=True)
    return np.random.default_rng(int.from_bytes(hashlib.sha256(name.encode()).digest()[:16]))
