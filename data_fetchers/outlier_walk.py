"""Similar tasks and an outlier: a random walk whose last step has another size (ROM, IV.B).

Nothing is downloaded. Task 1's weights have 60 % of their components 1 and the rest −1.5; each
later task's are those of the previous task plus Gaussian steps, and the last step has another size.
Examples are uniform in a cube and labels have no noise; this paper does not say so, but the DOM
paper does for the same construction (its section 4.1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from data_fetchers.fetch import RemoteFile
from data_fetchers.random_walk import labelled, step_std, walk
from omtl.data.streams import Tasks
from omtl.util.errors import UserError

NAME = "outlier_walk"
FILES: tuple[RemoteFile, ...] = ()
CITATION = ""
LICENCE = "none needed: drawn here"
SYNTHETIC = True


@dataclass(frozen=True)
class Options:
    """The options of the data set.

    Parameters
    ----------
    n_tasks, n_examples, n_features : int
        Numbers of tasks, of examples per task, and of features.
    increment, outlier : float
        Size of the steps to tasks 2, 3, …, and of the step to the last task.
    increment_is, outlier_is : {"variance", "std"}
        The meaning of `increment` and `outlier`.
    flipped : float in [0, 0.5]
        Probability that a label is wrong.
    """

    n_tasks: int = 5
    n_examples: int = 2000
    n_features: int = 100
    increment: float = 0.09
    increment_is: str = "variance"
    outlier: float = 1.0
    outlier_is: str = "variance"
    flipped: float = 0.0


def load(options: Options, *, rng: np.random.Generator) -> Tasks:
    """Draw the tasks and their examples.

    Parameters
    ----------
    options : Options
    rng : numpy.random.Generator
        Decides the draw.

    Raises
    ------
    UserError
        If a size is neither a variance nor a standard deviation, or `flipped` is out of range.
    """
    if not 0.0 <= options.flipped <= 0.5:
        raise UserError(f"{NAME}: flipped={options.flipped!r} must be from 0 to 0.5")
    stds = np.full(options.n_tasks, step_std(options.increment, options.increment_is))
    stds[0] = 0.0
    stds[-1] = step_std(options.outlier, options.outlier_is)
    weights = walk(rng, options.n_tasks, options.n_features, stds[:, None])
    tasks = labelled(rng, weights, options.n_examples)
    wrong = rng.random(tasks.y.size) < options.flipped
    return replace(tasks, y=np.where(wrong, -tasks.y, tasks.y))
