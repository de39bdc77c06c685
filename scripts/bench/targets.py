"""The targets, and what the stored runs say of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

Line = Mapping[str, str]
Results = Mapping[str, Sequence[Line]]
"""The lines of each result, by its name."""

PUBLIC = (
    "river",
    "scikit-learn",
    "Vowpal Wabbit, Python",
    "Vowpal Wabbit, Python, text",
    "Vowpal Wabbit, learning alone",
    "Vowpal Wabbit, native, core",
    "Vowpal Wabbit, native, elapsed",
)
"""Contenders that are public implementations."""


class Measured(NamedTuple):
    """One number that a target is about, with its spread over the turns."""

    subject: str
    median: float
    low: float
    high: float


class Target(NamedTuple):
    """A bound that numbers must keep.

    Parameters
    ----------
    name : str
    measured : callable
        From the results to the numbers.
    at_least, at_most : float
    unit : str
    """

    name: str
    measured: Callable[[Results], Iterator[Measured]]
    at_least: float = 0.0
    at_most: float = float("inf")
    unit: str = "×"

    @property
    def wanted(self) -> str:
        """The bound in words."""
        if self.at_least:
            return f"at least {self.at_least:,g} {self.unit}"
        return f"at most {self.at_most:,g} {self.unit}"


class TargetRow(NamedTuple):
    """What was measured of a target, and whether the median keeps it."""

    target: str
    wanted: str
    subject: str
    median: float
    low: float
    high: float
    met: str


def size_of(line: Line) -> str:
    """Return the size of a benchmark in words."""
    words = f"d = {int(line['n_features']):,}"
    if line["nonzeros"] != line["n_features"] and line["layout"] != "triplets":
        words = f"{int(line['nonzeros']):,} nonzeros of {int(line['n_features']):,}"
    if int(line["n_tasks"]) > 1:
        words += f", {int(line['n_tasks']):,} tasks"
    return words


def place_of(line: Line) -> tuple[str, ...]:
    """Return what tells a benchmark from others."""
    names = ("kernel", "layout", "n_tasks", "n_features", "nonzeros")
    return tuple(line[name] for name in names)


def slower(line: Line, subject: str, factor: float = 1.0, kind: str = "ratio") -> Measured:
    """Return how many times longer a contender takes than ours, times a factor; or other kinds."""
    parts = (line[f"{kind}_{part}"] for part in ("median", "min", "max"))
    return Measured(subject, *(factor * float(part) for part in parts))


def faster(line: Line, subject: str, factor: float = 1.0) -> Measured:
    """Return how many times longer ours takes than a contender, times a factor."""
    _, median, low, high = slower(line, subject)
    return Measured(subject, factor / median, factor / high, factor / low)


WIDE = 1000
"""Features from which on dense rows are held beside the limit."""


def ratios(
    result: str,
    measure: Callable[[Line, str], Measured],
    least_features: int = 0,
    **wanted: str,
) -> Callable[[Results], Iterator[Measured]]:
    """Return what is measured of the lines of a result that have the wanted values."""

    def measured(results: Results) -> Iterator[Measured]:
        for line in results[result]:
            wide = int(line["n_features"]) >= least_features
            if wide and all(line[name] == value for name, value in wanted.items()):
                yield measure(line, f"{line['kernel']}, {size_of(line)}")

    return measured


def beside(kernel: str, contender: str) -> Callable[[Results], Iterator[Measured]]:
    """Return the number of times that a contender takes longer than a kernel at its size."""
    return ratios("kernels", slower, kernel=kernel, contender=contender)


def beside_limit(layout: str, least_features: int = 0) -> Callable[[Results], Iterator[Measured]]:
    """Return how many times longer each learner takes than its limit."""
    return ratios("growth", faster, least_features, contender="limit", layout=layout)


def called(
    layout: str, contender: str, beside: str = ""
) -> Callable[[Results], Iterator[Measured]]:
    """Return how many times longer a contender takes than the first, or than another beside it."""

    def measured(results: Results) -> Iterator[Measured]:
        lines = [line for line in results["calls"] if line["layout"] == layout]
        other = {
            line["kernel"]: float(line["ratio_median"])
            for line in lines
            if line["contender"] == beside
        }
        for line in lines:
            if line["contender"] == contender:
                yield slower(line, line["kernel"], 1.0 / other.get(line["kernel"], 1.0))

    return measured


def above_single(results: Results) -> Iterator[Measured]:
    """Yield each learner's time a pass beside that of its single-task counterpart."""
    passes = {
        place_of(line): float(line["passes"])
        for line in results["growth"]
        if line["contender"] == "ours" and line["passes"]
    }
    for line in results["growth"]:
        if line["contender"] == "single-task" and line["layout"] != "tasks":
            factor = float(line["passes"]) / passes[place_of(line)]
            yield faster(line, f"{line['kernel']}, {line['layout']}, {size_of(line)}", factor)


def grids_together(results: Results) -> Iterator[Measured]:
    """Yield how many times longer a grid takes point by point than together."""
    for line in results["grids"]:
        if line["contender"] != "ours":
            yield slower(line, f"{line['kernel']}, {line['layout']}")


def public(results: Results) -> Iterator[Measured]:
    """Yield how many times longer each public implementation takes, wherever one was run."""
    for name in ("kernels", "growth", "table_streams"):
        for line in results[name]:
            if line["contender"] in PUBLIC:
                subject = f"{line['kernel']}, {line['layout']}, {size_of(line)}"
                yield slower(line, f"{subject}: {line['contender']}")


def started(*what: str) -> Callable[[Results], Iterator[Measured]]:
    """Return the seconds of starts."""
    return lambda results: (
        slower(line, line["kernel"] or line["what"], kind="seconds")
        for line in results["startup"]
        if line["what"] in what
    )


def loaded_by_threads(results: Results) -> Iterator[Measured]:
    """Yield how many times the data sets of a table are loaded by two threads, beside one."""
    once = {
        (line["table"], line["repeats"]): float(line["loads"])
        for line in results["tables"]
        if line["way"] == "1 job"
    }
    for line in results["tables"]:
        least = once[line["table"], line["repeats"]]
        if line["way"] == "2 jobs, threads" and least:
            ratio = float(line["loads"]) / least
            yield Measured(f"{line['table']}, repeats: {line['repeats']}", ratio, ratio, ratio)


IN_NUMPY = "Each learner beside its plain NumPy transcription"
OF_PARSED = "PA beside Vowpal Wabbit's Python path, of parsed examples"

TARGETS = (
    Target("PA beside river", beside("PA", "river"), at_least=500.0),
    Target("PA beside scikit-learn, one at a time", beside("PA", "scikit-learn"), at_least=3000.0),
    Target(
        "PA beside Vowpal Wabbit's Python path, from text",
        beside("PA", "Vowpal Wabbit, Python, text"),
        at_least=100.0,
    ),
    Target(OF_PARSED, beside("PA", "Vowpal Wabbit, Python"), at_least=100.0),
    Target(
        "PA beside Vowpal Wabbit's native path, a core",
        beside("PA", "Vowpal Wabbit, native, core"),
        at_least=1.0,
    ),
    Target(IN_NUMPY, ratios("kernels", slower, contender="NumPy", layout="dense"), at_least=100.0),
    Target(
        "Each learner beside the machine's limit, dense", beside_limit("dense", WIDE), at_most=2.0
    ),
    Target("Each learner beside the machine's limit, sparse", beside_limit("sparse"), at_most=2.0),
    Target("Learners of many tasks beside those of one, at equal work", above_single, at_most=3.0),
    Target("Similarities beside BLAS's rank-1 updates", beside_limit("triplets"), at_most=2.0),
    Target("Whole grids together beside point by point", grids_together, at_least=3.0),
    Target("Every public implementation that was run beside ours", public, at_least=1.0),
    Target("learn_one and predict_one beside river's PA", called("one by one", "river"), 25.0),
    Target(
        "learn_one and predict_one beside Vowpal Wabbit's Python path",
        called("one by one", "Vowpal Wabbit, Python"),
        at_least=1.0,
    ),
    Target(
        "The same through our river adapter, beside river's PA",
        called("one by one", "river", beside="our river adapter"),
        at_least=5.0,
    ),
    Target("fit of 100,000 examples beside the bare loop", called("arrays", "fit"), 0.0, 1.25),
    Target(
        "partial_fit of 100 examples beside the bare loop",
        called("arrays", "partial_fit, 100 at a time"),
        at_most=2.0,
    ),
    Target("Start of the command line", started("omtl --help", "omtl table --help"), 0.0, 0.5, "s"),
    Target("First call, nothing compiled before", started("first call, cold"), 0.0, 10.0, "s"),
    Target("First call, compiled before", started("first call, warm"), 0.0, 1.0, "s"),
    Target("Loads of the data by 2 threads beside 1", loaded_by_threads, at_most=1.0),
)


def judged(results: Results) -> list[TargetRow]:
    """Return what was measured of all targets."""
    return [
        TargetRow(
            target.name,
            target.wanted,
            *one,
            "yes" if target.at_least <= one.median <= target.at_most else "no",
        )
        for target in TARGETS
        for one in target.measured(results)
    ]
