"""Checks that every learner must pass: the package's in its tests, a user's own by `omtl check`."""

from __future__ import annotations

import copy
import pickle
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from importlib.util import module_from_spec
from typing import Any

import numpy as np

from omtl.data.rows import examples_of
from omtl.kernel.grids import play_points
from omtl.kernel.not_compiled import REFUSALS, why
from omtl.kernel.play import Trace, play
from omtl.kernel.rules import findings, is_compiled
from omtl.kernel.sharing import can_share
from omtl.reference.problems import points_around, problem, problem_of, recorded, traced
from omtl.reference.transcriptions import rounds_of, transcription_of
from omtl.util.errors import UserError
from omtl.util.user_errors import describe_fault

PASS, FAIL, WARNING = "pass", "fail", "warning"

TOLERANCE = 1e-9
"""Tolerance of scores from two ways of playing, relative to the largest score."""

RULES = ("new_state", "score", "update")
"""The methods that a learner must have."""

SOURCED = r"\b(paper|section|et al|own|made up|baseline)\b|\b(19|20)\d\d\b"
"""Phrases in a learner's docstring that state the source of the algorithm."""

HUGE = 1e200
"""A feature of this size overflows once it is squared."""


class BrokenRule(Exception):  # noqa: N818 - it reads as what is the matter
    """A learner breaks a rule; the text says how."""


def _demand(kept: bool, otherwise: str) -> None:
    if not kept:
        raise BrokenRule(otherwise)


def _equal(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return where scores are equal; NaN equals NaN."""
    return (one == other) | (np.isnan(one) & np.isnan(other))


def _same_scores(one: np.ndarray, other: np.ndarray, otherwise: str) -> None:
    """Require that scores agree up to rounding; scores that are not finite must be identical."""
    finite = np.where(np.isfinite(one), np.abs(one), 1.0)
    size = np.maximum.accumulate(np.maximum(1.0, finite))
    apart = ~(_equal(one, other) | (np.abs(one - other) <= TOLERANCE * size))
    if apart.any():
        e = int(np.argmax(apart))
        raise BrokenRule(f"{otherwise}: example {e + 1} scores {one[e]:.6g} and {other[e]:.6g}")


SIZES = (7, 5, 6)
"""Number of examples per task in most checks."""


def has_the_rules(learner: Any) -> None:
    """It has new_state, score and update, which return what they must."""
    lacking = [rule for rule in RULES if not callable(getattr(learner, rule, None))]
    _demand(not lacking, f"it has no {' and no '.join(lacking)}")
    case = problem((1,))
    recorded(learner, case, compiled=False)


PLAIN = "it is a plain class, played as plain Python"


def compiles(learner: Any) -> str:
    """Where it is to be compiled it can be, and allocates nothing in the loop."""
    if not is_compiled(learner):
        return PLAIN
    case = problem(SIZES)
    recorded(learner, case)
    recorded(learner, case.sparse)
    return ""


def pickles(learner: Any) -> None:
    """Its hyper-parameters can be pickled, so that worker processes can have them."""
    try:
        again = pickle.loads(pickle.dumps(learner))
    except Exception as fault:
        raise BrokenRule(f"it cannot be pickled: {fault}") from fault
    _same_values(
        _values(again), _values(learner), "a pickled copy has other hyper-parameters than it has"
    )


def score_does_not_see_the_label(learner: Any) -> None:
    """Turning this label and all later ones leaves this score as it is, to the bit."""
    case = problem(SIZES)
    before = recorded(learner, case).scores
    for e in range(before.size):
        y = case.tasks.y.copy()
        y[case.stream.example[e:]] *= -1.0
        after = recorded(learner, case.with_labels(y)).scores
        seen = ~_equal(after[: e + 1], before[: e + 1])
        _demand(
            not seen.any(),
            f"turning the labels from example {e + 1} on changes the score of example "
            f"{int(np.argmax(seen)) + 1}: it is scored after a label that is not yet due",
        )


def learns_from_labels(learner: Any) -> None:
    """Labels matter to what comes later."""
    case = problem((12, 12, 12))
    before = recorded(learner, case).scores
    after = recorded(learner, case.with_labels(-case.tasks.y)).scores
    _demand(not _equal(before, after).all(), "turning all labels changes no score")


def is_deterministic(learner: Any) -> None:
    """A second play gives the same trace, to the bit, and none changes what it is given."""
    case = problem(SIZES)
    given = [case.tasks.X, case.tasks.y, case.tasks.task, *case.stream, case.mixing]
    copies = [array.copy() for array in given]
    first, second = traced(learner, case), traced(learner, case)
    for name, one, other in zip(Trace._fields, first, second, strict=True):
        _demand(
            np.array_equal(one, other, equal_nan=True),
            f"{name} differs in a second play of the same stream",
        )
    for array, kept in zip(given, copies, strict=True):
        _demand(np.array_equal(array, kept), "a play changes the examples that it is given")


def repeats_share_nothing(learner: Any) -> None:
    """A play of another stream in between changes nothing."""
    case, other = problem(SIZES), problem((9, 4), seed=5)
    values = copy.deepcopy(_values(learner))
    before = recorded(learner, case).scores
    recorded(learner, other)
    after = recorded(learner, case).scores
    _demand(
        np.array_equal(before, after, equal_nan=True),
        "a play of another stream changes the scores of the next play: keep what is learnt in the "
        "state that new_state returns",
    )
    _same_values(_values(learner), values, "a play changes its hyper-parameters")


def plain_is_compiled(learner: Any) -> str:
    """The plain loop and the compiled one agree."""
    if not is_compiled(learner):
        return PLAIN
    case = problem(SIZES)
    fast, slow = recorded(learner, case), recorded(learner, case, compiled=False)
    _same_scores(slow.scores, fast.scores, "plain Python and compiled code differ")
    _demand(np.array_equal(slow.fired, fast.fired), "plain and compiled code take other steps")
    return ""


def is_its_reference(learner: Any) -> str:
    """Where it has a plain transcription (`reference`), both give the same scores."""
    transcription = transcription_of(learner)
    if transcription is None:
        return "it names no reference"
    case = problem(SIZES)
    got, given = recorded(learner, case), rounds_of(case.tasks, case.stream)
    for e, step in enumerate(transcription(learner, given, case.shape)):
        score, size = got.scores[e], max(1.0, abs(step.score))
        _demand(
            abs(score - step.score) <= TOLERANCE * size,
            f"its reference differs: example {e + 1} scores {score:.6g} and {step.score:.6g}",
        )
        same = got.fired[e] == step.fired
        if step.gap <= TOLERANCE * size and not (same and score == step.score):
            return f"up to example {e + 1}, whose decision rounding may turn"
        _demand(same, f"its reference learns other examples, first {e + 1}")
    return ""


def dense_is_sparse(learner: Any) -> None:
    """Dense and sparse rows give the same scores."""
    case = problem(SIZES)
    dense, compressed = (recorded(learner, one) for one in (case, case.sparse))
    _same_scores(dense.scores, compressed.scores, "dense and sparse rows differ")


def empty_rows_are_harmless(learner: Any) -> None:
    """A row without features gets a finite score and is not learnt from."""
    case = problem(SIZES)
    X = case.tasks.X.copy()
    X[case.stream.example[2:4]] = 0.0
    got = recorded(learner, case.with_rows(X))
    _demand(
        bool(np.isfinite(got.scores).all()), "after a row without features scores are not finite"
    )
    trace = traced(learner, case.with_rows(X))
    _demand(int(trace.updates.sum()) == int(got.fired.sum()), "a row without features is a step")


def few_examples_are_enough(learner: Any) -> None:
    """A task without any example, one example, and none at all are played."""
    for sizes in ((4, 0, 3), (1,), (0, 0)):
        case = problem_of(sizes)
        trace = traced(learner, case)
        n = int(case.stream.example.size)
        _demand(
            0 <= int(trace.mistakes.sum()) <= n and int(trace.updates.sum()) <= n,
            f"{n} examples of {len(sizes)} tasks leave {int(trace.mistakes.sum())} mistakes and "
            f"{int(trace.updates.sum())} steps",
        )


def a_grid_plays_as_its_points(learner: Any) -> str:
    """A grid plays as its points do, to the bit: points share only what is equal."""
    points = points_around(learner)
    if len(points) == 1:
        return "it has no hyper-parameter to vary"
    case = problem((12, 12, 12))
    sharing = [point for point in points if can_share(point)]
    cases = [case, case.sparse]
    for one in cases if sharing else cases[:1]:
        given = examples_of(one.tasks), one.stream, one.shape
        for grid in points, sharing:
            for point, (trace, found) in zip(grid, play_points(grid, *given), strict=True):
                alone, state = play(anew := _anew(point), *given)
                expected = alone._asdict() | findings(anew, state)
                for name, value in (trace._asdict() | found).items():
                    _demand(
                        np.array_equal(value, expected[name], equal_nan=True),
                        f"{name} of {point} differs when it is played in a grid: a step function "
                        "must take every hyper-parameter on which its step depends, and the module "
                        "keep nothing that depends on one",
                    )
    return ""


def _anew(learner: Any) -> Any:
    """Return a plain learner as if its module had played nothing before; a compiled one as it is.

    So is one that is no name in a module's file.
    """
    kind, module = type(learner), sys.modules[type(learner).__module__]
    spec: Any = module.__spec__
    if is_compiled(learner) or vars(module).get(kind.__name__) is not kind or spec is None:
        return learner
    fresh, again = module_from_spec(spec), copy.copy(learner)
    spec.loader.exec_module(fresh)
    object.__setattr__(again, "__class__", getattr(fresh, kind.__name__))
    return again


def ties_are_mistakes(learner: Any) -> None:
    """What is counted is what the scores say; a score of 0 is a mistake."""
    case = problem(SIZES)
    got, trace = recorded(learner, case), traced(learner, case)
    i = case.stream.example
    wrong = ~(case.tasks.y[i] * got.scores > 0.0)
    counted = np.bincount(case.tasks.task[i][wrong], minlength=len(SIZES))
    _demand(
        np.array_equal(trace.mistakes, counted),
        f"the trace has {trace.mistakes.tolist()} mistakes where the scores have "
        f"{counted.tolist()}",
    )


def scores_are_finite(learner: Any) -> None:
    """On examples of ordinary size no score overflows."""
    got = recorded(learner, problem((12, 12, 12)))
    _demand(bool(np.isfinite(got.scores).all()), "scores are not finite on examples of size 1")


def divergence_is_reported(learner: Any) -> None:
    """Numbers that overflow are counted as diverged: they neither raise nor pass for numbers."""
    case = problem((12, 12, 12))
    huge = case.with_rows(HUGE * case.tasks.X)
    with np.errstate(all="ignore"):
        try:
            got, trace = recorded(learner, huge), traced(learner, huge)
        except Exception as fault:
            raise BrokenRule(
                f"numbers that overflow raise {type(fault).__name__}: {fault}"
            ) from fault
    lost = int(np.sum(~np.isfinite(got.scores)))
    _demand(
        int(trace.diverged[0]) == lost,
        f"{lost} scores are not finite, {int(trace.diverged[0])} are counted as diverged",
    )


def says_cost_and_source(learner: Any) -> None:
    """Its docstring says what an example costs, and where the algorithm is from."""
    text = type(learner).__doc__ or ""  # its own, not that of a base class
    _demand(bool(text), "it has no docstring")
    _demand("cost per example" in text.lower(), "its docstring does not say its cost per example")
    _demand(
        re.search(SOURCED, text, re.I) is not None,
        "its docstring does not say where the algorithm is from: a paper, or that it is your own",
    )


@dataclass(frozen=True)
class Check:
    """A check: its demand, the function that checks it, and whether it only warns.

    The function raises `BrokenRule`, or returns a comment on a pass.
    """

    demands: str
    look: Callable[[Any], str | None]
    warns: bool = False


CHECKS = tuple(
    Check(" ".join((look.__doc__ or "").split()).removesuffix("."), look, warns)
    for look, warns in (
        (has_the_rules, False),
        (pickles, False),
        (compiles, False),
        (plain_is_compiled, False),
        (is_its_reference, False),
        (dense_is_sparse, False),
        (score_does_not_see_the_label, False),
        (learns_from_labels, True),
        (is_deterministic, False),
        (repeats_share_nothing, False),
        (a_grid_plays_as_its_points, False),
        (ties_are_mistakes, False),
        (empty_rows_are_harmless, False),
        (few_examples_are_enough, False),
        (scores_are_finite, True),
        (divergence_is_reported, False),
        (says_cost_and_source, True),
    )
)
"""All checks, in order."""

NEEDED_FIRST = 3
"""Number of checks that must pass before the others can run."""


@dataclass(frozen=True)
class Finding:
    """The result of a check: ``pass``, ``fail`` or ``warning``, and why."""

    check: Check
    result: str
    why: str = ""


def look_at(learner: Any) -> Iterator[Finding]:
    """Run all checks on a learner and yield their results.

    If it lacks what later checks need, they are skipped.

    Parameters
    ----------
    learner
        An instance with its hyper-parameters.
    """
    for number, check in enumerate(CHECKS):
        finding = _looked(check, learner)
        yield finding
        if finding.result == FAIL and number < NEEDED_FIRST:
            return


def _looked(check: Check, learner: Any) -> Finding:
    broken = WARNING if check.warns else FAIL
    try:
        with np.errstate(all="ignore"):  # the checks cover the causes of NumPy's warnings
            note = check.look(learner)
    except (BrokenRule, UserError) as fault:
        return Finding(check, broken, str(fault))
    except REFUSALS as fault:
        return Finding(check, FAIL, f"it cannot be compiled: {why(fault)}")
    except (Exception, SystemExit) as fault:  # any error in the learner's own code
        return Finding(check, FAIL, describe_fault(fault))
    return Finding(check, PASS, note or "")


def _values(learner: Any) -> Any:
    """Return a learner's hyper-parameters."""
    if is_compiled(learner):
        return tuple(learner)
    names = [field.name for field in fields(learner)] if is_dataclass(learner) else []
    return {name: getattr(learner, name) for name in names} | getattr(learner, "__dict__", {})


def _same_values(one: Any, other: Any, otherwise: str) -> None:
    """Require equal hyper-parameters, including arrays and NaN."""
    try:
        np.testing.assert_equal(one, other)
    except AssertionError as fault:
        raise BrokenRule(otherwise) from fault
