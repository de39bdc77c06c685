"""The board: all learners on all data sets under one rule without hindsight, ranked."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

import joblib
import numpy as np
import pandas as pd
from scipy import sparse

from omtl.compute.engine import Outcome, run_units, why_lacking
from omtl.compute.progress import Progress
from omtl.compute.store import Store
from omtl.evidence.compared_learners import baselines, curves_of, learner_label, seen_by_all, tuned
from omtl.experiment.composition import ComposedRun, composed
from omtl.experiment.config import load_option, options
from omtl.experiment.loading import load_prepared
from omtl.experiment.playing import learner_class, new_learner, setting_of
from omtl.experiment.schema import POSITIVE, SHARE
from omtl.experiment.selection import as_played, costs, costs_on_the_way, plays_a_path, select
from omtl.experiment.specs import AlgorithmSpec, NetworkSpec, ParallelSpec, SelectionSpec, Spec
from omtl.experiment.unit import Experiment, Result, Unit
from omtl.measures.metrics import METRICS
from omtl.sklearn.parameters import ANY, declared_values
from omtl.tables.scoring import numbers_at
from omtl.tables.verdict import std_of
from omtl.theory.comparators import least_losses
from omtl.util.errors import UserError, choose

DIGITS = 10
"""Significant digits of the numbers in ``results/board``."""

POINTS = 20
"""Of a kept learning curve."""


@dataclass(frozen=True, kw_only=True)
class BoardCell:
    """A row of ``results/board/cells.csv``, and of a submission.

    `values` are the numbers of the repeats, `chosen` the points of the grid with which they ended.
    `edge` and `ties` are shares of all choices (`audit_choices`). `stream` is a hash of what was
    played (`stream_of`), `learner` one of the learner's options and code (`code_of_learner`).
    `curve` has the mean cumulative error rates at the examples that ``seen`` of ``data.csv``
    counts. The file has the ``bytes`` of a state besides.
    """

    dataset: str
    algorithm: str
    label: str
    points: int
    mean: float | None
    std: float | None
    values: str
    chosen: str
    edge: float | None
    ties: float | None
    stream: str
    learner: str
    why: str
    curve: str


CELLS = tuple(BoardCell.__annotations__)
"""Columns of ``results/board/cells.csv`` (`BoardCell`)."""

SECONDS = "seconds"
"""The column that is kept apart, in ``times.csv``."""

SENT = "sent"
"""The column of numbers sent in a round, on a board that says what learners send."""

LOSS, LEAST_LOSS = "hinge_loss", "least_loss"
"""Columns of a board that gives regret: the hinge loss per hundred examples of a cell, and that of
the best fixed weights of each task on its data set; the regret is what lies between."""

TEXTS = tuple(name for name, kind in BoardCell.__annotations__.items() if kind == "str")
"""Columns that are empty where there is nothing to say."""


@dataclass(frozen=True, kw_only=True)
class BoardDataSet:
    """What a board plays of a data set: its kind, the share of its rounds, and other overrides."""

    kind: str = "own"
    share: Annotated[float, SHARE] | None = None
    repeats: Annotated[int, POSITIVE] | None = None
    play: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class BoardSpec(Spec):
    """A board; what it leaves out is that of the board that it is `like`.

    Entrants are all learners that have what is needed, but for `no_entrant`, if none are named.
    `sends` are formulas of what learners send, `own` the project's own learners, and `families`
    those that differ in what they share.
    """

    group: ClassVar[str] = "board"
    like: str = ""
    metric: str
    beside: tuple[str, ...] = ()
    regret: bool = False
    sends: Mapping[str, str | int] = field(default_factory=dict)
    selection: str
    repeats: Annotated[int, POSITIVE]
    play: tuple[str, ...] = ()
    network: str | tuple[str, ...] = "full"
    data: Mapping[str, BoardDataSet]
    no_data: Mapping[str, str] = field(default_factory=dict)
    entrants: tuple[str, ...] = ()
    no_entrant: Mapping[str, str] = field(default_factory=dict)
    grids: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    families: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    own: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a metric that there is not."""
        for metric in (self.metric, *self.beside):
            choose("metric", metric, METRICS)


@dataclass(frozen=True)
class BoardPlan:
    """A board that is asked for, and its experiments.

    Parameters
    ----------
    board : str
        A name in ``conf/board``.
    learners, data : sequence of str
        The competing learners and their data sets; empty means all.
    repeats : int or None
        For None the board's own number: a data set's, or else that of all.
    seed : int
    """

    board: str = "default"
    learners: Sequence[str] = ()
    data: Sequence[str] = ()
    repeats: int | None = None
    seed: int = 0
    _composed: dict[str, ComposedRun] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def written(self) -> Mapping[str, Any]:
        """The config of the group ``board``, with what it leaves to the one that it is `like`."""
        own = load_option("board", self.board)
        return {**BoardPlan(own["like"]).written, **own} if "like" in own else own

    @cached_property
    def config(self) -> BoardSpec:
        """What it says."""
        return BoardSpec.read(self.written)

    @property
    def more(self) -> list[str]:
        """What cells have besides: other metrics, how much is sent on networks, the loss."""
        own = {SENT: bool(self.config.sends), LOSS: self.config.regret}
        return [*self.config.beside, *(name for name, has in own.items() if has)]

    def about(self, dataset: str) -> BoardDataSet:
        """Return what is played of a data set; all of one that is not the board's."""
        return self.config.data.get(dataset, BoardDataSet())

    @property
    def folder(self) -> str:
        """Where its results are, within the folder of results."""
        return "board" if self.board == "default" else f"board/{self.board}"

    def n_repeats(self, dataset: str) -> int:
        """Return the number of repeats of each cell of a data set."""
        return self.repeats or self.about(dataset).repeats or self.config.repeats

    @cached_property
    def datasets(self) -> list[str]:
        """The data sets: the board's, or those of them that are asked for, and others by name."""
        return list(dict.fromkeys(self.data or self.config.data))

    @cached_property
    def entrants(self) -> list[str]:
        """The learners: the board's, or those that it leaves in and that have what is needed.

        Where it has several networks, a learner on a network enters on each: ``dom1@ring``.
        """
        named = list(dict.fromkeys(self.learners or self.config.entrants))
        if not named:
            named = sorted({*options("algorithm")} - {*self.config.no_entrant})
            for dataset in {self.about(name).play: name for name in self.datasets}.values():
                named = baselines(self.composed(dataset).protocol, named)
        return [entrant for name in named for entrant in self._on_networks(name)]

    def _on_networks(self, name: str) -> list[str]:
        if len(self.networks) < 2 or not AlgorithmSpec.named(name).networked:
            return [name]
        return [f"{name}@{network}" for network in self.networks]

    @property
    def only_entrant(self) -> str:
        """The one learner of a submission; UserError if it enters on several networks."""
        first, *others = self.entrants
        if others:
            raise UserError(
                f"board {self.board} plays this learner on several networks, for which there are "
                "no submissions; choose a board with one network"
            )
        return first

    @property
    def networks(self) -> list[str]:
        """The networks on which learners play, one or several."""
        asked = self.config.network
        return [asked] if isinstance(asked, str) else list(asked)

    def overrides(self, dataset: str) -> list[str]:
        """Return how a data set is played, as words of ``omtl run``."""
        about = self.about(dataset)
        words = [f"dataset={dataset}", *about.play, *self.config.play]
        words += [f"+protocol.share={about.share}"] if about.share else []
        words += [f"network={self.networks[0]}", f"selection={self.config.selection}"]
        return [*words, f"repeats={self.n_repeats(dataset)}", f"seed={self.seed}"]

    def composed(self, dataset: str) -> ComposedRun:
        """Return what is composed for a data set, with some learner."""
        if dataset not in self._composed:
            self._composed[dataset] = composed(self.overrides(dataset))
        return self._composed[dataset]

    def experiment(self, dataset: str, entrant: str) -> Experiment:
        """Return a cell's experiment."""
        name, _, network = entrant.partition("@")
        played = replace(self.composed(dataset), algorithm=tuned(name, self.config.grids))
        if network:
            played = replace(played, network=NetworkSpec.named(network))
        return played.experiment

    def grid_words(self, entrant: str) -> list[str]:
        """Return the board's grid of a learner, as words of ``omtl run``."""
        grid = self.config.grids.get(entrant.partition("@")[0], {})
        return [f"'algorithm.{name}=[{','.join(map(str, grid[name]))}]'" for name in grid]

    @cached_property
    def units(self) -> dict[tuple[str, str], list[Unit]]:
        """The units of each cell, by data set and learner."""
        return {
            (dataset, name): self.experiment(dataset, name).repeats(
                self.seed, self.n_repeats(dataset)
            )
            for dataset in self.datasets
            for name in self.entrants
        }

    def play(self, store: Store, parallel: ParallelSpec) -> Outcome:
        """Compute missing units."""
        return run_units([unit for units in self.units.values() for unit in units], store, parallel)


def stream_of(unit: Unit, data: str, rule: SelectionSpec) -> str:
    """Return a hash of how learners are played: the options, the seed, the rows, the rule.

    Numbers of different learners are comparable where it is the same. No code is in it, for code
    may change and play the same stream: whether it does, a replay finds.

    Parameters
    ----------
    unit : Unit
        The first repeat's.
    data : str
        The hash of its rows (`PreparedData.sha256`).
    rule : SelectionSpec
        The rule that chooses hyper-parameters.
    """
    options = ("dataset", "protocol", "seed", "repeat", "draw")
    played = {name: unit.identity[name] for name in options}
    return _hash({**played, "data": data, "selection": rule.as_written()})


def code_of_learner(unit: Unit) -> str:
    """Return a hash of a learner's options and code, with the code that it imports."""
    identity = unit.identity
    options = {name: identity[name] for name in ("algorithm", "order", "network")}
    return _hash(options | {"learner": identity["code"]["learner"]})


def _hash(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def of_values(values: np.ndarray) -> dict[str, float]:
    """Return the columns of `CELLS` that follow from the numbers of a cell's repeats."""
    return {"mean": values.mean(), "std": std_of(values)}


def of_results(
    board: BoardPlan, dataset: str, experiment: Experiment, results: Sequence[Result]
) -> dict[str, Any]:
    """Return the columns that follow from the results of repeats of a cell."""
    rule = board.composed(dataset).selection
    chosen = select(results, experiment.points, rule)
    values = numbers_at(results, chosen, board.config.metric, rule)
    curves = curves_of(results, chosen, rule)
    return {
        "label": learner_label(experiment),
        "points": len(experiment.points),
        **of_values(values),
        "values": " ".join(f"{value:.10g}" for value in values),
        "chosen": " ".join(map(str, chosen.tolist())),
        **audit_choices(results, experiment, rule),
        **{name: numbers_at(results, chosen, name, rule).mean() for name in board.config.beside},
        **({LOSS: hinge_loss(results, chosen, rule)} if board.config.regret else {}),
        "curve": " ".join(f"{rate:.4g}" for rate in thinned(curves.mean(axis=0))),
    }


def at_edge(experiment: Experiment) -> np.ndarray:
    """Return which points of a grid lie at an edge.

    Their value of a hyper-parameter is the least or largest of at least three numbers, and the
    learner would accept one beyond it.
    """
    algorithm = experiment.algorithm
    learner = learner_class(algorithm.learner)
    declared = declared_values(learner.__name__, learner.__doc__)
    names = [name for name, values in algorithm.grid.items() if len(values) > 2]

    def is_end(values: pd.Series) -> pd.Series:
        fits = declared.get(str(values.name), ANY)[1]
        ends = ((values.min(), -np.inf), (values.max(), np.inf))
        return values.isin([end for end, way in ends if fits(float(np.nextafter(end, way)))])

    numbers = pd.DataFrame(experiment.points, columns=names).select_dtypes("number")
    return numbers.astype(float).apply(is_end).any(axis=1).to_numpy()


def audit_choices(
    results: Sequence[Result], experiment: Experiment, rule: SelectionSpec
) -> dict[str, float]:
    """Return the shares of choices of which every best point is at an edge, and of tied ones.

    A choice is made at each checkpoint, or by cross-validation once in each repeat. Nothing for
    other rules.
    """
    if plays_a_path(rule):
        tried = np.concatenate([costs_on_the_way(result, rule) for result in results])
    elif rule.rule == "cross_validation":
        tried = np.array([costs([result], rule) for result in results])
    else:
        return {}
    best = tried == tried.min(axis=1, keepdims=True)
    inside = best & ~at_edge(experiment)
    return {"edge": 1.0 - inside.any(axis=1).mean(), "ties": (best.sum(axis=1) > 1).mean()}


def thinned(values: np.ndarray) -> np.ndarray:
    """Return values at `POINTS` checkpoints, the first and the last among them."""
    if not values.size:
        return values
    return values[np.unique(np.linspace(0, len(values) - 1, POINTS).round().astype(int))]


def board_cells(board: BoardPlan, store: Store, outcome: Outcome) -> pd.DataFrame:
    """Return a row for each learner on each data set (`CELLS`), from the store.

    A repeat in which the chosen point diverged has the metric's worst number. The last columns
    have the seconds of the whole grid in the fastest repeat, the ``bytes`` of a state, and what the
    board shows besides (`BoardPlan.more`).
    """
    rows = []
    for (dataset, algorithm), units in board.units.items():
        experiment = board.experiment(dataset, algorithm)
        results = store.stored(units)
        row: dict[str, Any] = {
            "dataset": dataset,
            "algorithm": algorithm,
            "label": learner_label(experiment),
            "points": len(experiment.points),
            "learner": code_of_learner(units[0]),
        }
        if len(results) < len(units):
            row["why"] = why_lacking(units, len(results), outcome.failed)
        else:
            rule = board.composed(dataset).selection
            row |= of_results(board, dataset, experiment, results)
            row |= {SENT: numbers_sent(board, units[0])} if board.config.sends else {}
            row |= {
                "stream": stream_of(units[0], results[0].facts["data_sha256"], rule),
                SECONDS: min(result.facts["seconds"] for result in results),
                "bytes": state_bytes(units[0]),
            }
        rows.append(row)
    return as_cells(rows, SECONDS, "bytes", *board.more).astype({"bytes": "Int64"})


def as_cells(rows: Sequence[Mapping[str, Any]], *more: str) -> pd.DataFrame:
    """Return rows of cells and more columns, with nothing where a text is lacking."""
    texts = dict.fromkeys(TEXTS, "")
    return pd.DataFrame([texts | dict(row) for row in rows], columns=[*CELLS, *more])


def numbers_sent(board: BoardPlan, unit: Unit) -> float:
    """Return how many numbers are sent in a round, by what the board says of a learner.

    On a network it is said of each link in each direction, otherwise of each task's node.
    """
    setting, sends = setting_of(unit), board.config.sends
    n_tasks, n_features = len(setting.tasks.names), setting.tasks.X.shape[1]
    others = setting.mixing - np.diag(np.diag(setting.mixing))
    links = np.count_nonzero(others) if unit.network else n_tasks
    formula = str(sends.get(unit.algorithm.name, sends["others"]))
    sizes = {"tasks": n_tasks, "features": n_features}
    each: Any = pd.eval(formula, local_dict=sizes, global_dict={})
    return float(links * each)


def hinge_loss(results: Sequence[Result], chosen: np.ndarray, rule: SelectionSpec) -> float:
    """Return the mean over repeats of the hinge loss per hundred examples, as a rule played."""
    each = [
        as_played(result, point, rule).arrays["checkpoint_loss"][point, -1]
        / result.arrays["seen"][-1]
        for result, point in zip(results, chosen, strict=True)
    ]
    return 100.0 * float(np.mean(each))


def least_loss(units: Sequence[Unit]) -> float:
    """Return the mean over repeats of the hinge loss of the best fixed weights of each task.

    It is per hundred examples played. Repeats that shuffle the same examples share one solution.
    """
    solved: dict[tuple[str, bytes], float] = {}
    each = []
    for unit in units:
        setting = setting_of(unit)
        which = np.sort(setting.stream.example)
        key = setting.source.sha256, which.tobytes()
        if key not in solved:
            solved[key] = float(least_losses(setting.tasks.taken(which)).mean())
        each.append(solved[key])
    return 100.0 * float(np.mean(each))


def state_bytes(unit: Unit) -> int:
    """Return the size in bytes of the state of the first point of a unit's grid."""
    setting = setting_of(unit)
    protocol = {"stream": "rounds", "checkpoints": 1, **setting.protocol}
    if protocol["stream"] == "pooled":  # which only a split of the examples has
        protocol["stream"] = "rounds"
    shape = replace(setting, protocol=protocol).played()[2]
    learner = new_learner(unit.algorithm, unit.algorithm.points[0])
    make = getattr(learner, "in_common", None)
    return bytes_of(learner.new_state(shape, *(() if make is None else (make(shape),))))


def bytes_of(state: Any) -> int:
    """Return the size in bytes of all arrays of a state."""
    if isinstance(state, np.ndarray):
        return state.nbytes
    if isinstance(state, Mapping):
        return sum(map(bytes_of, state.values()))
    if isinstance(state, list | tuple):
        return sum(map(bytes_of, state))
    return sum(map(bytes_of, vars(state).values())) if hasattr(state, "__dict__") else 0


def data_facts(board: BoardPlan, store: Store, jobs: int = 1) -> pd.DataFrame:
    """Return what the data sets are like as they were played, a row for each that was.

    Parameters
    ----------
    board : BoardPlan
    store : Store
    jobs : int
        Number of processes that find the best fixed weights, if the board gives regret.
    """
    rows, played = [], dict[str, list[Unit]]()
    for (dataset, _), units in board.units.items():
        if dataset not in played and len(results := store.stored(units)) == len(units):
            rows.append(_facts_of(board, dataset, results))
            played[dataset] = units
    least = {LEAST_LOSS: least_losses_of([*played.values()], jobs)} if board.config.regret else {}
    return pd.DataFrame(rows).assign(**least)


def least_losses_of(played: Sequence[Sequence[Unit]], jobs: int) -> list[float]:
    """Return `least_loss` of the units of each data set, three digits."""
    starting = "the best fixed weights of each task are found"
    found = []
    with Progress(len(played), each="data set", starting=starting) as bar:
        parallel = joblib.Parallel(max(1, min(jobs, len(played))), return_as="generator")
        for loss in parallel(joblib.delayed(least_loss)(units) for units in played):
            bar.done(starting)
            found.append(round(loss, 3))
    return found


def _facts_of(board: BoardPlan, dataset: str, results: Sequence[Result]) -> dict[str, Any]:
    composed, about = board.composed(dataset), board.about(dataset)
    tasks = load_prepared(composed.dataset, board.seed, draw=0).tasks
    return {
        "dataset": dataset,
        "label": composed.dataset.label,
        "kind": about.kind,
        "tasks": len(tasks.names),
        "examples": int(results[0].arrays["examples"].sum()),
        "share": about.share or 1.0,
        "repeats": len(results),
        "features": tasks.X.shape[1],
        "rows": "sparse" if sparse.issparse(tasks.X) else "dense",
        "positives": round(float(np.mean(tasks.y > 0.0)), 3),
        "protocol": composed.protocol.name,
        "seen": " ".join(map(str, thinned(seen_by_all(results)).tolist())),
    }


def read_cells(path: Path) -> pd.DataFrame:
    """Return the cells of a file."""
    return pd.read_csv(path, dtype=dict.fromkeys(TEXTS, str)).fillna(dict.fromkeys(TEXTS, ""))
