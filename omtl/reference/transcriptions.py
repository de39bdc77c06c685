"""The transcription of each learner, and the form of a stream that it takes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from scipy import sparse

import omtl.reference
from omtl.data.streams import Stream, Tasks
from omtl.reference import WRITTEN, GivenExample, Rounds, Transcription


@cache
def transcriptions() -> Mapping[type, Transcription]:
    """Return the transcription of each learner of the package that has one."""
    for module in iter_modules(omtl.reference.__path__):
        import_module(f"omtl.reference.{module.name}")
    return WRITTEN


def transcription_of(learner: Any) -> Transcription | None:
    """Return a learner's plain transcription, named by its class or in this package, or None."""
    return getattr(type(learner), "reference", None) or transcriptions().get(type(learner))


def rounds_of(tasks: Tasks, stream: Stream) -> Rounds:
    """Return a stream in the form for transcriptions."""
    X = tasks.X.toarray() if isinstance(tasks.X, sparse.csr_array) else tasks.X
    events = [
        GivenExample(X[i], float(tasks.y[i]), int(tasks.task[i]), int(node))
        for i, node in zip(stream.example, stream.node, strict=True)
    ]
    return [events[a:b] for a, b in zip(stream.start[:-1], stream.start[1:], strict=True)]
