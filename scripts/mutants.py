"""Mutants: small changes of the code that keeps results right, which quick tests must notice.

Mutants are derived from the code as it is: of each module some places are drawn, and one operator
of the code is changed there (a comparison, a sign, a constant, a condition, a statement left out).
Each mutant is tried in a copy of the checkout by the tests named here. One that all of them pass
has survived; `scripts/mutants.yaml` says of each survivor that is known why it may.

``python -m scripts.mutants`` tries all; ``--module omtl/util/files.py`` those of one.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shlex
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

from omtl.util.paths import ROOT
from scripts.records import record

TARGETS = {
    "data_fetchers/_download.py": "test_fetch.py test_fetch_servers.py",
    "data_fetchers/fetch.py": "test_fetch.py test_fetch_servers.py test_survivors.py",
    "omtl/util/archives.py": "test_archives.py",
    "omtl/util/files.py": "test_survivors.py test_faults.py -k 'survivors or file or lock or left'",
    "omtl/util/code.py": "test_keys.py test_harness.py test_code_versions.py -k 'not loads'",
    "omtl/compute/engine.py": "test_store.py test_engines.py test_code_versions.py -m 'not slow'",
    "omtl/compute/exchange.py": "test_exchange.py",
    "omtl/experiment/selection.py": "test_harness.py test_hindsight_gap.py "
    "-k 'selection or oracle or targets or honest or validation or diverged'",
    "omtl/evidence/paired_tests.py": "test_statistics.py",
    "omtl/compute/store.py": "test_store.py test_exchange.py -k 'not killed'",
    "omtl/experiment/unit.py": "test_keys.py test_store.py test_survivors.py test_code_versions.py "
    "-k 'not loads and not killed'",
    "omtl/tables/verdict.py": "test_verdict.py",
    "omtl/data/validation.py": "test_validation.py",
}
"""Modules, each with its quick tests."""

EACH = 6
"""Mutants of each module."""

TIMES = 5
"""How many times as long as without a change tests may take, or a mutant counts as noticed."""

OUTCOMES = ("noticed", "explained", "survived")
COLUMNS = ("module", "mutants", "noticed", "survived, explained", "survived, unexplained")

LOADED = (
    "pytest",
    "hypothesis",
    "numba",
    "pandas",
    "scipy.stats",
    "sklearn.base",
    "joblib",
    "tqdm",
)

COPIED = ("omtl", "data_fetchers", "tests", "conf", "experiments", "scripts", "examples", "results")

PAIRS = (
    *((ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Eq, ast.NotEq), (ast.In, ast.NotIn)),
    *((ast.Is, ast.IsNot), (ast.And, ast.Or), (ast.Add, ast.Sub), (ast.Mult, ast.Div)),
)
OTHER = {one: other for pair in PAIRS for one, other in (pair, pair[::-1])}
"""Operators, each with the one that stands in its place in a mutant."""


@dataclass(frozen=True)
class Mutant:
    """A module with one change.

    Parameters
    ----------
    module : str
        Its path.
    place : str
        The function that is changed, and how: what a survivor is known by, whatever its line.
    source : str
        The module's code with the change.
    """

    module: str
    place: str
    source: str

    @property
    def name(self) -> str:
        """What to call it."""
        return f"{self.module}: {self.place}"


def changed(node: Any) -> ast.AST | None:
    """Return what a node of the code is changed to, if it can be."""
    match node:
        case ast.Compare(left, [first, *more], right) if type(first) in OTHER:
            return ast.Compare(left, [OTHER[type(first)](), *more], right)
        case ast.BinOp(left, sign, right) if type(sign) in OTHER:
            return ast.BinOp(left, OTHER[type(sign)](), right)
        case ast.BoolOp(operator, values):
            return ast.BoolOp(OTHER[type(operator)](), values)
        case ast.Constant(bool(value)):
            return ast.Constant(not value)
        case ast.Constant(int(value) | float(value)):
            return ast.Constant(value + 1)
        case ast.UnaryOp(ast.Not() | ast.USub(), operand):
            return operand
        case ast.Expr(ast.Call()):
            return ast.Pass()
        case ast.If(test, body, orelse):
            return ast.If(ast.UnaryOp(ast.Not(), test), body, orelse)
    return None


def mutants(module: str) -> list[Mutant]:
    """Return all mutants of a module, in the order of its code."""
    tree = ast.parse((ROOT / module).read_text(encoding="utf-8"))
    names: dict[ast.AST, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            names |= dict.fromkeys(ast.walk(node), node.name)
    found = []
    for parent in filter(names.get, ast.walk(tree)):
        for field, value in ast.iter_fields(parent):
            places = value if isinstance(value, list) else [value]
            for number, node in enumerate(places):
                if change := changed(node):
                    others = [*places[:number], change, *places[number + 1 :]]
                    setattr(parent, field, others if places is value else change)
                    source = ast.unparse(tree)
                    setattr(parent, field, value)
                    before, after = (" ".join(ast.unparse(each).split()) for each in (node, change))
                    place = f"{names[parent]}: {before[:80]} → {after[:80]}"
                    found.append(Mutant(module, place, source))
    return found


def drawn(module: str, each: int, seed: int) -> list[Mutant]:
    """Return some mutants of a module."""
    every = mutants(module)
    return random.Random(f"{seed} {module}").sample(every, min(each, len(every)))


def survives(mutant: Mutant, place: Path, seconds: float | None = None) -> bool:
    """Whether all tests of its module pass in time with a mutant in a copy of the checkout."""
    path = place / mutant.module
    good = path.read_text(encoding="utf-8")
    words = shlex.split(TARGETS[mutant.module])
    tests = [str(one) for word in words for one in [*place.glob(f"tests/*/{word}")] or [word]]
    path.write_text(mutant.source, encoding="utf-8")
    try:
        return _status_of(["-x", "-p", "no:cacheprovider", *tests], place, seconds) == 0
    finally:
        path.write_text(good, encoding="utf-8")


def _status_of(words: list[str], place: Path, seconds: float | None) -> int:
    """Run pytest in a fork, which has the packages of others loaded; return its status."""
    child = os.fork()
    if not child:
        os.setsid()
        os.chdir(place)
        for number in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)
        for name in [name for name in sys.modules if name.partition(".")[0] in COPIED]:
            del sys.modules[name]
        sys.path[:] = [str(place), *(path for path in sys.path if Path(path).resolve() != ROOT)]
        import pytest

        os._exit(pytest.main(words))
    until = None if seconds is None else time.monotonic() + seconds
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        time.sleep(0.05)
        if until is not None and time.monotonic() > until:
            os.killpg(child, signal.SIGKILL)
            until = None
    return os.waitstatus_to_exitcode(ended[1])


def _load(place: Path) -> None:
    """Load what tests need of others' packages, once; the project's is loaded by each fork.

    None of the modules is compiled; the harness would compile all anew for each mutant.
    """
    os.environ |= {
        "PYTHONPATH": str(place),
        "OMTL_HOME": str(place / ".omtl"),
        "NUMBA_CACHE_DIR": str(place / ".omtl" / "compiled"),
        "OPENBLAS_NUM_THREADS": "1",
    }
    for name in LOADED:
        import_module(name)


def main() -> int:
    """Try mutants; fail where one survives of which nothing is said."""
    command = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    command.add_argument("--module", choices=TARGETS, action="append")
    command.add_argument("--each", type=int, default=EACH)
    command.add_argument("--seed", type=int, default=0)
    options = command.parse_args()
    known = yaml.safe_load((ROOT / "scripts" / "mutants.yaml").read_text(encoding="utf-8"))
    unexplained: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        for name in COPIED:
            shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "Makefile", "README.md"):
            shutil.copy(ROOT / name, place / name)
        _load(place)
        for module in options.module or TARGETS:
            good = (ROOT / module).read_text(encoding="utf-8")
            began = time.monotonic()
            if not survives(Mutant(module, "unchanged", good), place):
                raise SystemExit(
                    f"{module}: its tests fail as it is: no mutant would tell anything"
                )
            seconds = TIMES * (time.monotonic() - began)
            print(f"{module}: tests took {seconds / TIMES:.0f} s", flush=True)
            counts = dict.fromkeys(OUTCOMES, 0)
            for mutant in drawn(module, options.each, options.seed):
                outcome = "explained" if mutant.name in known else "survived"
                if not survives(mutant, place, seconds):
                    outcome = "noticed"
                counts[outcome] += 1
                unexplained += [mutant.name] if outcome == "survived" else []
                print(f"{outcome:10}{mutant.name}", flush=True)
            if (options.each, options.seed) == (EACH, 0):
                row = [module, *map(str, (sum(counts.values()), *counts.values()))]
                record("mutants", COLUMNS, row, TARGETS)
    print(f"{len(unexplained)} survived of which nothing is said")
    print("\n".join(unexplained))
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
