"""A unit: one learner with its whole grid on one repeat of a stream, the smallest piece of work.

A unit is identified by everything that determines its result, so it can be computed anywhere, at
any time, in any order.
"""

from __future__ import annotations

import ast
import hashlib
import json
import time
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, get_type_hints

import numpy as np

import data_fetchers
from omtl import streams
from omtl.config import grid_points
from omtl.errors import UserError
from omtl.networks import mixing_matrix
from omtl.ops import SparseRows
from omtl.paths import ROOT
from omtl.play import play
from omtl.preparation import Fed, fed, in_order, prepare
from omtl.rules import Shape
from omtl.seeds import generator
from omtl.streams import Stream, Tasks

FORMAT = 1
"""Version of what a unit's result holds; part of its key."""


@dataclass(frozen=True)
class Unit:
    """One learner, its grid, a data set as it is read, a network, and a repeat.

    Parameters
    ----------
    algorithm, dataset, protocol : dict
        Resolved configs of these groups.
    network : dict or None
        Resolved config of the network; None for a centralised learner.
    seed, repeat, draw : int
        The run's seed, the repeat's number, and which draw of synthetic data it is played on.
    """

    algorithm: dict[str, Any]
    dataset: dict[str, Any]
    protocol: dict[str, Any]
    network: dict[str, Any] | None
    seed: int
    repeat: int
    draw: int = 0

    @property
    def name(self) -> str:
        """What to call the unit when it is shown."""
        network = f" ({self.network['name']})" if self.network else ""
        return f"{self.algorithm['name']}{network} on {self.dataset['name']}, repeat {self.repeat}"

    @cached_property
    def identity(self) -> dict[str, Any]:
        """All that determines the result, without the labels that only people read."""
        algorithm = {k: self.algorithm[k] for k in ("learner", "fixed", "grid")}
        dataset = {k: v for k, v in self.dataset.items() if k != "label"}
        network = self.network and {k: v for k, v in self.network.items() if k != "name"}
        return asdict(self) | {
            "algorithm": algorithm,
            "dataset": dataset,
            "network": network,
            "files": {file.path: file.sha256 for file in module_of(self.dataset).FILES},
            "code": {
                "learner": code_version(self.algorithm["learner"].rpartition(".")[0]),
                "data": code_version(module_of(self.dataset).__name__),
                "play": code_version("omtl.play"),
                "preparation": code_version("omtl.preparation"),
            },
            "format": FORMAT,
        }

    @cached_property
    def key(self) -> str:
        """Hash of the identity."""
        text = json.dumps(self.identity, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Result:
    """What a unit leaves: arrays by name, and facts about the run.

    Arrays (P points of the grid, K tasks, C checkpoints): ``mistakes`` and ``updates`` (P, K),
    ``checkpoint_mistakes`` and ``checkpoint_loss`` (P, C), ``diverged`` (P,), ``examples`` (K,),
    ``seen`` (C,): the number of examples up to each checkpoint.
    """

    arrays: dict[str, np.ndarray]
    facts: dict[str, Any]


def module_of(dataset: dict[str, Any]) -> Any:
    """Return the module of a data set: of its own name, or the one that it names."""
    return data_fetchers.data_set(dataset.get("module", dataset["name"]))


@lru_cache
def code_version(module: str) -> str:
    """Return a hash of a module's code and of the project's code that it imports.

    Comments, docstrings and layout do not count: a unit stays valid when only they change.
    """
    digest = hashlib.sha256()
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = _source_of(name)
        if name in seen or path is None:
            continue
        seen.add(name)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        waiting += _imports_of(tree)
        digest.update(ast.dump(_without_docstrings(tree)).encode())
    return digest.hexdigest()


def _source_of(module: str) -> Path | None:
    """Return the file of one of the project's modules whose code makes results."""
    if module in ("omtl.errors", "omtl.paths", "data_fetchers.fetch"):
        return None  # they decide what is said and where files are, never a number
    place = ROOT / Path(*module.split("."))
    path = place.with_suffix(".py")
    return path if path.exists() and module.split(".")[0] in ("omtl", "data_fetchers") else None


def _imports_of(tree: ast.Module) -> list[str]:
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
    return sorted(found)


def _without_docstrings(tree: ast.Module) -> ast.Module:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, documented) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return tree


def learner_class(path: str) -> type:
    """Return the learner of a dotted path.

    Raises
    ------
    UserError
        If there is none.
    """
    module, _, name = path.rpartition(".")
    try:
        return getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as fault:
        raise UserError(f"algorithm.learner: {path!r} cannot be imported: {fault}") from fault


def new_learner(algorithm: dict[str, Any], point: dict[str, Any]) -> Any:
    """Return the learner with the hyper-parameters of a point of its grid.

    Raises
    ------
    UserError
        If a name or a value is not one that the learner takes.
    """
    learner = learner_class(algorithm["learner"])
    kinds = get_type_hints(learner)
    wrong = [name for name in point if name not in kinds]
    if wrong:
        raise UserError(
            f"algorithm {algorithm['name']}: {', '.join(wrong)} is no hyper-parameter; "
            f"there are {', '.join(kinds)}"
        )
    try:
        return learner(**{name: kinds[name](value) for name, value in point.items()})
    except (TypeError, ValueError) as fault:
        raise UserError(f"algorithm {algorithm['name']}: {point} does not fit: {fault}") from fault


_LOADED: dict[str, Fed | UserError] = {}
_LOADING = Lock()

DATA_SETS_IN_MEMORY = 4


def load_fed(dataset: dict[str, Any], seed: int, draw: int) -> Fed:
    """Return a data set as learners are fed it; the last few stay in memory.

    Raises
    ------
    UserError
        If its files cannot be had, or an option is wrong.
    """
    module = module_of(dataset)
    options = dict(dataset["options"])
    synthetic = getattr(module, "SYNTHETIC", False)
    if synthetic:
        options["rng"] = generator(seed, of="draw", dataset=dataset["name"], draw=draw)
    name = json.dumps([dataset, *([seed, draw] if synthetic else [])], sort_keys=True)
    with _LOADING:
        if name not in _LOADED:
            while len(_LOADED) >= DATA_SETS_IN_MEMORY:
                _LOADED.pop(next(iter(_LOADED)))
            _LOADED[name] = _load(module, options, dataset)
        loaded = _LOADED[name]
    if isinstance(loaded, UserError):
        raise loaded
    return loaded


def _load(module: Any, options: dict[str, Any], dataset: dict[str, Any]) -> Fed | UserError:
    """Load and prepare; return a fault, so that it is met once and not in each unit."""
    try:
        return fed(prepare(module.load(**options), dataset["normalise"], dataset["bias"]))
    except UserError as fault:
        return fault
    except TypeError as fault:
        return UserError(f"dataset {dataset['name']}: {fault}")


def is_synthetic(dataset: dict[str, Any]) -> bool:
    """Whether the data set is drawn by us, so that the authors' draw is another one."""
    return getattr(module_of(dataset), "SYNTHETIC", False)


def n_nodes_of(unit: Unit, tasks: Tasks) -> int:
    """Return the number of nodes: what the network says, or one a task."""
    asked = (unit.network or {}).get("n_nodes")
    return len(tasks.names) if asked is None else asked


def mixing_of(unit: Unit, tasks: Tasks) -> np.ndarray:
    """Return the combination weights of a unit's network."""
    network = {k: v for k, v in (unit.network or {}).items() if k not in ("name", "n_nodes")}
    return mixing_matrix(n_nodes_of(unit, tasks), **network)


def stream_of(unit: Unit, tasks: Tasks) -> Stream:
    """Return the stream of a unit's repeat, the same for every learner."""
    n_nodes = n_nodes_of(unit, tasks)
    axes = {"dataset": unit.dataset["name"], "repeat": unit.repeat, "draw": unit.draw}
    makers = {"rounds": streams.rounds}
    kind = unit.protocol.get("stream", unit.protocol["name"])
    if kind not in makers:
        raise UserError(f"protocol: no stream {kind!r}; choose from {', '.join(makers)}")
    return makers[kind](
        tasks,
        shuffle=generator(unit.seed, of="shuffle", **axes),
        deal=generator(unit.seed, of="deal", n_nodes=n_nodes, **axes),
        n_nodes=n_nodes,
        n_checkpoints=unit.protocol["checkpoints"],
    )


def compute(unit: Unit) -> Result:
    """Play the whole grid of a unit."""
    started = time.perf_counter()
    source = load_fed(unit.dataset, unit.seed, unit.draw)
    tasks = source.tasks
    stream = stream_of(unit, tasks)
    examples, ordered = in_order(source, stream)
    shape = Shape(
        n_tasks=len(tasks.names),
        n_features=tasks.X.shape[1],
        mixing=mixing_of(unit, tasks),
        sparse=isinstance(examples.rows, SparseRows),
    )
    traces = [
        play(new_learner(unit.algorithm, point), examples, ordered, shape)
        for point in grid_points(unit.algorithm)
    ]
    arrays = {
        name: np.stack([getattr(trace, name) for trace in traces])
        for name in ("mistakes", "updates", "checkpoint_mistakes", "checkpoint_loss")
    }
    arrays["diverged"] = np.array([trace.diverged[0] for trace in traces])
    arrays["examples"] = np.bincount(tasks.task, minlength=len(tasks.names))
    arrays["seen"] = stream.start[stream.checkpoint]
    facts = {
        "unit": unit.identity,
        "data_sha256": source.sha256,
        "task_names": tasks.names,
        "seconds": time.perf_counter() - started,
    }
    return Result(arrays, facts)
