"""Tasks of two kinds with Gaussian examples in the plane: the AKLO paper's syn1 and syn2.

Nothing is downloaded. Half of the tasks are of each kind (25 and 25 in the paper). Task T has the
boundary a_T = a + ε_T (1, 1) through the origin, with one ε_T for both components, and
y = sign(a_T·x). In syn1 the kinds differ in the mean of their examples and in a: [10, 10] and
[−1, 1], [20, 5] and [−¼, 1], so that a goes through the middle of the examples. In syn2 the
examples of all tasks lie in one place, and the second kind has the opposite labels.

The paper does not give the mean of syn2's examples; [10, 10], as in syn1's first kind, is our
choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from data_fetchers._checks import chosen
from data_fetchers.fetch import RemoteFile
from omtl.data.streams import Tasks

NAME = "lifelong_gaussians"
FILES: tuple[RemoteFile, ...] = ()
CITATION = ""
LICENCE = "none needed: drawn here"
SYNTHETIC = True

SCALES = {"variance": 0.5, "std": 1.0}
"""The power of a size that gives a standard deviation, by the kind of size."""

KINDS = ("shifted", "opposite")


@dataclass(frozen=True)
class Options:
    """The options of the data set.

    Parameters
    ----------
    kinds : {"shifted", "opposite"}
        Whether the second kind has its own place and boundary (syn1), or the first kind's with the
        opposite labels (syn2).
    n_tasks, n_examples : int
        Numbers of tasks, the first half of them of the first kind, and of examples of each task.
    means : sequence of two pairs of float
        The mean of each kind's examples; their covariance is I.
    boundaries : sequence of two pairs of float
        a of each kind.
    spread : float
        Size of ε_T.
    spread_is : {"variance", "std"}
        The meaning of `spread`.
    """

    kinds: str = "shifted"
    n_tasks: int = 50
    n_examples: int = 100
    means: Sequence[Sequence[float]] = ((10.0, 10.0), (20.0, 5.0))
    boundaries: Sequence[Sequence[float]] = ((-1.0, 1.0), (-0.25, 1.0))
    spread: float = 1e-3
    spread_is: str = "variance"


def load(options: Options, *, rng: np.random.Generator) -> Tasks:
    """Draw the tasks and their examples.

    Parameters
    ----------
    options : Options
    rng : numpy.random.Generator
        Decides the draw.

    Returns
    -------
    Tasks
        X : ndarray of shape (n_tasks · n_examples, 2).

    Raises
    ------
    UserError
        If an option is invalid.
    """
    chosen(NAME, "kinds", [options.kinds], KINDS)
    chosen(NAME, "spread_is", [options.spread_is], SCALES)
    n_tasks, n_examples = options.n_tasks, options.n_examples
    second = np.arange(n_tasks) >= (n_tasks + 1) // 2
    place = (second & (options.kinds == "shifted")).astype(int)
    side = np.where(second & (options.kinds == "opposite"), -1.0, 1.0)
    epsilon = options.spread ** SCALES[options.spread_is] * rng.standard_normal(n_tasks)
    a = side[:, None] * (np.asarray(options.boundaries, dtype=float)[place] + epsilon[:, None])
    task = np.repeat(np.arange(n_tasks), n_examples)
    X = np.asarray(options.means, dtype=float)[place][task]
    X = X + rng.standard_normal((n_tasks * n_examples, 2))
    y = np.where(np.einsum("ij,ij->i", X, a[task]) > 0.0, 1.0, -1.0)
    names = tuple(f"task {k + 1} (kind {1 + int(second[k])})" for k in range(n_tasks))
    return Tasks(X, y, task, names)
