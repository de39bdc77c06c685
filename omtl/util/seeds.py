"""Random generators as functions of named axes.

A generator depends exactly on the axes in its name: the shuffle of a repeat depends on the data set
and the repeat, never on the learner or its grid, so all learners see the same repeats.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np


def generator(seed: int, **axes: int | str) -> np.random.Generator:
    """Return the generator for a seed and values of named axes.

    Parameters
    ----------
    seed : int
        The run's seed.
    **axes
        Such as ``of="shuffle", dataset="mhc", repeat=3``.
    """
    name = json.dumps({"seed": seed, **axes}, sort_keys=True)
    return np.random.default_rng(int.from_bytes(hashlib.sha256(name.encode()).digest()[:16]))
