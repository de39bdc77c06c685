"""A hash of what each estimator has learnt and predicts: printed, to be compared elsewhere.

``python tests/helpers/bits.py ["VARIANT LAYOUT" ...]`` prints one line for each case, or for those
that are named.
It needs only the packages that estimators need.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

from estimator_cases import NAMES, VARIANTS, data, estimator  # noqa: E402

from omtl.sklearn.stream import arrays_of  # noqa: E402

EVERY = [f"{variant} {layout}" for variant in VARIANTS for layout in ("dense", "sparse")]


def lines(cases: Iterable[str] = EVERY) -> Iterator[str]:
    """Yield the variant, the layout and the hash of each case."""
    for case in cases:
        variant, layout = case.split()
        tasks = data(layout)
        task = [NAMES[k] for k in tasks.task]
        model = estimator(variant).partial_fit(tasks.X[:20], tasks.y[:20], task[:20], tasks=NAMES)
        model.partial_fit(tasks.X[20:], tasks.y[20:], task[20:])
        digest = hashlib.sha256(model.decision_function(tasks.X, task).tobytes())
        for path, array in sorted(arrays_of(model._stream.feed.state).items()):
            digest.update(f"{path} {array.dtype.str} {array.shape}".encode() + array.tobytes())
        yield f"{case} {digest.hexdigest()}"


if __name__ == "__main__":
    for line in lines(sys.argv[1:] or EVERY):
        print(line, flush=True)
