"""Data sets that are drawn here: nothing is downloaded, and their configs name a function.

`random_walk`, `outlier_walk` and `changing_walk` have similar tasks, whose true weights are a
random walk over the tasks; `opposed_tasks` has two tasks that are each other's negative;
`lifelong_gaussians` has tasks of two kinds; `biased_tasks` is regression.

Licence: none needed, drawn here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from data_fetchers._shared import checked_choices, in_tasks
from data_fetchers.fetch import RemoteFile
from omtl.data.streams import RealTasks, Tasks
from omtl.util.errors import UserError

BOUND = 3.0
"""Examples of walks are uniform in [−BOUND, BOUND]^d."""

POWERS = {"variance": 0.5, "std": 1.0}
"""The power of a size that gives a standard deviation, by the kind of size."""

KINDS = ("shifted", "opposite")


def step_std(where: str, size: float, size_is: str) -> float:
    """Return the standard deviation of a step whose variance or deviation is given.

    Raises
    ------
    UserError
        If `size_is` is neither ``variance`` nor ``std``.
    """
    checked_choices(where, "kind of size", [size_is], POWERS)
    return size ** POWERS[size_is]


def labels(X: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the labels of examples, each by its own true weights; there is no noise."""
    return np.where(np.einsum("ij,ij->i", X, weights) > 0.0, 1.0, -1.0)


def task_names(n_tasks: int) -> tuple[str, ...]:
    """Return the names of the tasks, numbered from 1."""
    return tuple(f"task {k + 1}" for k in range(n_tasks))


def walk(
    rng: np.random.Generator, n_tasks: int, n_features: int, std: float | np.ndarray
) -> np.ndarray:
    """Draw weights, the steps having a standard deviation of `std`, shape (n_tasks, n_features)."""
    steps = std * rng.standard_normal((n_tasks, n_features))
    start = np.where(np.arange(n_features) < round(0.6 * n_features), 1.0, -1.5)
    return start + np.cumsum(steps, axis=0)


def labelled(rng: np.random.Generator, weights: np.ndarray, n_examples: int) -> Tasks:
    """Draw examples uniform in the cube, `n_examples` per row of true weights, and label them."""
    n_tasks, n_features = weights.shape
    X = rng.uniform(-BOUND, BOUND, (n_tasks * n_examples, n_features))
    task = np.repeat(np.arange(n_tasks), n_examples)
    return Tasks(X, labels(X, weights[task]), task, task_names(n_tasks))


def random_walk(
    *,
    rng: np.random.Generator,
    n_tasks: int = 9,
    n_examples: int = 2000,
    n_features: int = 100,
    increment: float = 0.1,
    increment_is: str = "variance",
) -> Tasks:
    """Similar tasks whose true weights are a random walk (DOM paper, section 4.1; after COML's).

    w⁰ has 60% of its components 1 and the rest −1.5, task k's weights are those of task k − 1 plus
    Gaussian increments, examples are uniform in a cube, and labels have no noise.

    Parameters
    ----------
    rng : numpy.random.Generator
        Decides the draw.
    n_tasks, n_examples, n_features : int
        Numbers of tasks, of examples per task, and of features.
    increment : float
        Size of the random walk's steps.
    increment_is : {"variance", "std"}
        The meaning of `increment`.

    Raises
    ------
    UserError
        If `increment_is` is neither of the two.
    """
    weights = random_walk_weights(rng, n_tasks, n_features, increment, increment_is)
    return labelled(rng, weights, n_examples)


def random_walk_weights(
    rng: np.random.Generator, n_tasks: int, n_features: int, increment: float, increment_is: str
) -> np.ndarray:
    """Draw the true weights of `random_walk`, shape (n_tasks, n_features)."""
    std = step_std("random_walk: increment_is", increment, increment_is)
    return walk(rng, n_tasks, n_features, std)


def outlier_walk(
    *,
    rng: np.random.Generator,
    n_tasks: int = 5,
    n_examples: int = 2000,
    n_features: int = 100,
    increment: float = 0.09,
    increment_is: str = "variance",
    outlier: float = 1.0,
    outlier_is: str = "variance",
    flipped: float = 0.0,
) -> Tasks:
    """Similar tasks and an outlier: a random walk whose last step has another size (ROM, IV.B).

    Task 1's weights have 60% of their components 1 and the rest −1.5; each later task's are those
    of the previous task plus Gaussian steps, and the last step has another size. Examples are
    uniform in a cube and labels have no noise; this paper does not say so, but the DOM paper does
    for the same construction (its section 4.1).

    Parameters
    ----------
    rng : numpy.random.Generator
        Decides the draw.
    n_tasks, n_examples, n_features : int
        Numbers of tasks, of examples per task, and of features.
    increment, outlier : float
        Size of the steps to tasks 2, 3, …, and of the step to the last task.
    increment_is, outlier_is : {"variance", "std"}
        The meaning of `increment` and `outlier`.
    flipped : float in [0, 0.5]
        Probability that a label is wrong.

    Raises
    ------
    UserError
        If a size is neither a variance nor a standard deviation, or `flipped` is out of range.
    """
    if not 0.0 <= flipped <= 0.5:
        raise UserError(f"outlier_walk: flipped={flipped!r} must be between 0 and 0.5")
    stds = np.full(n_tasks, step_std("outlier_walk: increment_is", increment, increment_is))
    stds[0] = 0.0
    stds[-1] = step_std("outlier_walk: outlier_is", outlier, outlier_is)
    tasks = labelled(rng, walk(rng, n_tasks, n_features, stds[:, None]), n_examples)
    wrong = rng.random(tasks.y.size) < flipped
    return replace(tasks, y=np.where(wrong, -tasks.y, tasks.y))


def changing_walk(
    *,
    rng: np.random.Generator,
    n_tasks: int = 8,
    n_examples: int = 500,
    n_features: int = 50,
    increment: float = 0.1,
    drift: float = 0.0,
    swap_at: float = 1.0,
    run: int = 1,
    fewest: float = 1.0,
) -> Tasks:
    """Similar tasks that change during learning: streams designed to break methods.

    The tasks' weights start as a random walk over the tasks (`random_walk`), where sharing between
    tasks helps. Then they drift, change sides at half time, have long runs of one label, or begin
    one after the other. The examples of a task are in temporal order: use the protocol
    ``given_order``, because others shuffle them.

    Parameters
    ----------
    rng : numpy.random.Generator
        Decides the draw.
    n_tasks, n_examples, n_features : int
        Numbers of tasks, of examples per task, and of features.
    increment : float
        Variance of the steps from one task's weights to the next one's.
    drift : float
        Variance of each weight's step from one example of a task to the next.
    swap_at : float in (0, 1]
        Share of the examples after which every second task's weights change sign, so that a task
        that was similar to the others becomes their opposite. 1 for never.
    run : int
        Number of examples of one label before those of the other, in opposite phase in neighbouring
        tasks; 1 for labels as drawn.
    fewest : float in (0, 1]
        Share of the examples that the last task has; the first has all of them, and those in
        between have decreasing numbers. With the protocol's ``join: late`` tasks then begin one
        after the other.

    Raises
    ------
    UserError
        If a size is out of range.
    """
    if drift < 0.0 or run < 1:
        raise UserError(
            f"changing_walk: drift={drift!r} must be at least 0 and run={run!r} at least 1"
        )
    if not (0.0 < swap_at <= 1.0 and 0.0 < fewest <= 1.0):
        raise UserError(
            f"changing_walk: swap_at={swap_at!r} and fewest={fewest!r} must be in (0, 1]"
        )
    w = walk(rng, n_tasks, n_features, increment**0.5)
    parts, signs = [], []
    for k, share in enumerate(np.linspace(1.0, fewest, n_tasks).tolist()):
        n = max(1, round(share * n_examples))
        X = rng.uniform(-BOUND, BOUND, (n, n_features))
        steps = drift**0.5 * rng.standard_normal((n, n_features))
        weights = w[k] + np.cumsum(steps, axis=0)
        if k % 2:
            weights[round(swap_at * n) :] *= -1.0
        y = labels(X, weights)
        if run > 1:  # an example and its mirror image have opposite labels
            wanted = np.where((np.arange(n) // run + k) % 2, -1.0, 1.0)
            X, y = X * (y * wanted)[:, None], wanted
        parts.append(X)
        signs.append(y)
    y, task = in_tasks(signs)
    return Tasks(np.concatenate(parts), y, task, task_names(n_tasks))


def opposed_tasks(
    *, rng: np.random.Generator, n_examples: int = 100, n_features: int = 10
) -> Tasks:
    """Three tasks, two of which are each other's negative (OMTL paper, section 5.1, "Synthetic").

    w_1 = -w_2, w_3 is uncorrelated with both, and labels are the signs of w_k·x. The paper does not
    say how weights and examples are drawn: here both are standard normal, and w_3 is made
    uncorrelated with w_1.

    Parameters
    ----------
    rng : numpy.random.Generator
        Decides the draw.
    n_examples, n_features : int
        Numbers of examples per task, and of features, of which there are two at least.

    Raises
    ------
    UserError
        If there is a single feature, in which no weights are uncorrelated.
    """
    if n_features < 2:
        raise UserError(f"opposed_tasks: n_features={n_features} must be at least 2")
    weights = opposed_weights(rng, n_features)
    X = rng.standard_normal((3 * n_examples, n_features))
    task = np.repeat(np.arange(3), n_examples)
    return Tasks(X, labels(X, weights[task]), task, task_names(3))


def opposed_weights(rng: np.random.Generator, n_features: int) -> np.ndarray:
    """Draw the true weights of `opposed_tasks`, shape (3, n_features)."""
    w, other = rng.standard_normal((2, n_features))
    centred = w - w.mean()
    third = other - (other @ centred) / (centred @ centred) * centred
    return np.array([w, -w, third])


def lifelong_gaussians(
    *,
    rng: np.random.Generator,
    kinds: str = "shifted",
    n_tasks: int = 50,
    n_examples: int = 100,
    means: Sequence[Sequence[float]] = ((10.0, 10.0), (20.0, 5.0)),
    boundaries: Sequence[Sequence[float]] = ((-1.0, 1.0), (-0.25, 1.0)),
    spread: float = 1e-3,
    spread_is: str = "variance",
) -> Tasks:
    """Tasks of two kinds with Gaussian examples in the plane: the AKLO paper's syn1 and syn2.

    Half of the tasks are of each kind (25 and 25 in the paper). Task T has the boundary
    a_T = a + ε_T (1, 1) through the origin, with one ε_T for both components, and y = sign(a_T·x).
    In syn1 the kinds differ in the mean of their examples and in a: [10, 10] and [−1, 1], [20, 5]
    and [−¼, 1], so that a goes through the middle of the examples. In syn2 the examples of all
    tasks lie in one place, and the second kind has the opposite labels.

    The paper does not give the mean of syn2's examples; [10, 10], as in syn1's first kind, is our
    choice.

    Parameters
    ----------
    rng : numpy.random.Generator
        Decides the draw.
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

    Returns
    -------
    Tasks
        X : ndarray of shape (n_tasks · n_examples, 2).

    Raises
    ------
    UserError
        If an option is invalid.
    """
    checked_choices("lifelong_gaussians", "kinds", [kinds], KINDS)
    for name, pairs in (("means", means), ("boundaries", boundaries)):
        if [*map(len, pairs)] != [2, 2]:
            raise UserError(f"lifelong_gaussians: {name}={pairs} must be two pairs of numbers")
    std = step_std("lifelong_gaussians: spread_is", spread, spread_is)
    second = np.arange(n_tasks) >= (n_tasks + 1) // 2
    place = (second & (kinds == "shifted")).astype(int)
    side = np.where(second & (kinds == "opposite"), -1.0, 1.0)
    epsilon = std * rng.standard_normal(n_tasks)
    a = side[:, None] * (np.asarray(boundaries, dtype=float)[place] + epsilon[:, None])
    task = np.repeat(np.arange(n_tasks), n_examples)
    X = np.asarray(means, dtype=float)[place][task]
    X = X + rng.standard_normal((n_tasks * n_examples, 2))
    names = tuple(f"task {k + 1} (kind {1 + int(second[k])})" for k in range(n_tasks))
    return Tasks(X, labels(X, a[task]), task, names)


def biased_tasks(
    *,
    rng: np.random.Generator,
    n_tasks: int = 400,
    n_examples: int = 50,
    n_features: int = 10,
    component: float = 4.0,
) -> RealTasks:
    """Regression tasks whose weights deviate little from a common vector (Denevi et al., UAI 2020).

    w_k = θ + N(0, I) with all components of θ equal, inputs are uniform on the unit sphere, and
    y = ⟨x, w_k⟩ + noise with a signal-to-noise ratio of 1 (section 8). As in the authors' program,
    the ratio is exact in each task: the noise is scaled to the variance of its signal.

    Parameters
    ----------
    rng : numpy.random.Generator
        Decides the draw.
    n_tasks, n_examples, n_features : int
        Numbers of tasks, of examples per task, and of features.
    component : float
        All components of θ.
    """
    X = rng.standard_normal((n_tasks, n_examples, n_features))
    X /= np.linalg.norm(X, axis=2, keepdims=True)
    W = component + rng.standard_normal((n_tasks, n_features))
    signal = np.einsum("tnd,td->tn", X, W)
    noise = rng.standard_normal((n_tasks, n_examples))
    noise *= signal.std(axis=1, keepdims=True) / noise.std(axis=1, keepdims=True)
    task = np.repeat(np.arange(n_tasks), n_examples)
    y = (signal + noise).ravel()
    return RealTasks(X.reshape(-1, n_features), y, task, task_names(n_tasks))


class SyntheticSource:
    """A data set that a function of this module draws, with the interface of a data set's module.

    Parameters
    ----------
    load : callable
        The function.
    true_weights : callable, optional
        The function that draws the tasks' true weights only, given the options that it takes.
    """

    FILES: tuple[RemoteFile, ...] = ()
    CITATION = ""
    LICENCE = "none needed: drawn here"
    SYNTHETIC = True

    def __init__(
        self,
        load: Callable[..., Tasks],
        true_weights: Callable[..., np.ndarray] | None = None,
    ) -> None:
        self.NAME = load.__name__
        self.load = load
        if true_weights is not None:
            self.true_weights = true_weights
        self.__doc__ = inspect.cleandoc(load.__doc__ or "").partition("\n\nParameters\n")[0]
        self.__name__ = load.__module__


DATA_SETS = {
    one.NAME: one
    for one in (
        SyntheticSource(random_walk, random_walk_weights),
        SyntheticSource(outlier_walk),
        SyntheticSource(changing_walk),
        SyntheticSource(opposed_tasks, opposed_weights),
        SyntheticSource(lifelong_gaussians),
        SyntheticSource(biased_tasks),
    )
}
"""The data sets by name."""
