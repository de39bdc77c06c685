"""The papers' equations in plain NumPy, as the tests have them, and one loop that is tuned."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from omtl.data.triplets import Triplets
from omtl.learners.similarity import OMTRSL, SimilarityLearner
from omtl.reference import Given, baselines, interaction, network, similarity
from omtl.reference.transcriptions import steps_of, transcriptions
from scripts.bench.measure import Go
from scripts.bench.ours import ETA, Play, rows_of

MULTIPLIED_OUT = (interaction.__name__, network.__name__)
"""Modules whose transcriptions multiply out Kronecker products, of (n_tasks · n_features)²."""

FULL_MATRICES = (baselines.adagrad, baselines.arow)
"""Transcriptions that hold an (n_features)² matrix a task, as their papers write them."""

LARGEST_PRODUCT = 4000
"""Most n_tasks · n_features that such a product is affordable with."""


def affordable(ready: Play) -> bool:
    """Whether there is a transcription, and fits into memory and time."""
    form = transcriptions().get(type(ready.learner))
    if form is None:
        return False
    out = form.__module__ in MULTIPLIED_OUT or form in FULL_MATRICES
    return not out or ready.shape.n_tasks * ready.shape.n_features <= LARGEST_PRODUCT


def given(ready: Play) -> list[list[Given]]:
    """Return the rounds of a play as a transcription reads them, rows written out."""
    (X, y), stream = rows_of(ready), ready.stream
    written_out = X if isinstance(X, np.ndarray) else X.toarray()
    examples = zip(written_out, y, ready.examples.task[stream.example], stream.node, strict=True)
    events = [Given(x, float(label), int(task), int(node)) for x, label, task, node in examples]
    return [events[a:b] for a, b in zip(stream.start[:-1], stream.start[1:], strict=True)]


def transcription(ready: Play) -> Callable[[], Go]:
    """Return what starts the transcription of a play."""
    rounds, shape = given(ready), ready.shape
    labels = [event.y for events in rounds for event in events]

    def go() -> int:
        steps = steps_of(ready.learner, rounds, shape)
        return sum(not y * step.score > 0.0 for y, step in zip(labels, steps, strict=True))

    return lambda: go


def tuned_pa(X: np.ndarray, y: np.ndarray) -> int:
    """Learn passive-aggressively with as few NumPy calls as there can be."""
    w = np.zeros(X.shape[1])
    wrong = 0
    for x, label in zip(X, y.tolist(), strict=True):
        score = w @ x
        wrong += not label * score > 0.0
        loss = 1.0 - label * score
        if loss > 0.0:
            w += (label * loss / (x @ x)) * x
    return wrong


def tuned_ogd(X: np.ndarray, y: np.ndarray) -> int:
    """Descend the hinge loss's gradient with as few NumPy calls as there can be."""
    w = np.zeros(X.shape[1])
    wrong = 0
    for x, label in zip(X, y.tolist(), strict=True):
        score = w @ x
        wrong += not label * score > 0.0
        if label * score <= 1.0:
            w += (ETA * label) * x
    return wrong


TUNED = {"PA": tuned_pa, "OGD": tuned_ogd}


def similarities(learner: SimilarityLearner, X: np.ndarray, triplets: Triplets, n_tasks: int) -> Go:
    """Return algorithm 1 as printed: a matrix a task, one triplet after the other."""
    rows = [(X[q], X[a], X[b], float(y), int(k)) for q, a, b, y, k in zip(*triplets, strict=True)]
    # OASIS is OMTRSL without a relation.
    like = learner if isinstance(learner, OMTRSL) else OMTRSL(learner.C, 0.0)  # type: ignore[attr-defined]

    def go() -> int:
        found, _ = similarity.omtrsl(like, rows, [0.0] * len(rows), n_tasks, X.shape[1])
        return sum(not y * one.p > 0.0 for one, y in zip(found, triplets.y, strict=True))

    return go
