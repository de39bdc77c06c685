"""The benchmarks run, compare equal algorithms and say what their files say; no time is judged."""

from __future__ import annotations

import csv
import inspect
import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from omtl.data.rows import rows_of
from omtl.sklearn.parameters import TABLE
from omtl.util.paths import RESULTS, ROOT
from scripts.bench import grids, limits, ours, page, rivals, streams, table_streams, targets
from scripts.bench.__main__ import PARTS, conclude, main
from scripts.bench.effort import QUICK
from scripts.bench.kernels import benchmarks
from scripts.bench.measure import Benchmark, Contender, Row, agrees, in_words, measure
from scripts.bench.play_table import thinned
from scripts.records import read_csv

STORED = RESULTS / "bench"
MEASURED = ("limits", "kernels", "growth")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder that a quick run has written to."""
    target = tmp_path_factory.mktemp("bench")
    run = subprocess.run(
        [sys.executable, "-m", "scripts.bench", *MEASURED, "--quick", "--folder", str(target)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return target


@pytest.fixture(scope="module")
def lines(folder: Path) -> list[dict[str, str]]:
    """Return what the quick run measured of kernels."""
    return [line for name in MEASURED[1:3] for line in read_csv(folder / f"{name}.csv")]


def test_writes_what_was_measured_and_nothing_else(folder: Path) -> None:
    names = [f"{name}.csv" for name in (*MEASURED, "runs", "targets")]
    written = {str(path.relative_to(folder)) for path in folder.rglob("*.*")}
    assert written == {*names, *page.PAGES}
    for name in MEASURED:
        with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            assert next(csv.reader(file)) == list(PARTS[name].fields)
    assert [run["part"] for run in read_csv(folder / "runs.csv")] == list(MEASURED)
    assert all(float(run["load_before"]) >= 0.0 for run in read_csv(folder / "runs.csv"))


def test_equal_algorithms_made_equal_mistakes(lines: list[dict[str, str]]) -> None:
    compared = [line for line in lines if line["mistakes_of_ours"] and line["contender"] != "ours"]
    elsewhere = {"NumPy", "NumPy, tuned", "uncompiled", "river", "scikit-learn"}
    assert {line["contender"] for line in compared} == elsewhere | {"Vowpal Wabbit, Python"}
    for line in compared:
        apart = abs(int(line["mistakes"]) - int(line["mistakes_of_ours"]))
        assert apart <= 1, line  # the first prediction is a tie, which each library breaks itself
    of_many = [line for line in compared if int(line["n_tasks"]) > 1]
    assert {line["kernel"] for line in of_many} >= {"COML", "DOM-I, ring", "OMTRSL", "OSTRSL"}
    for line in of_many:
        assert line["mistakes"] == line["mistakes_of_ours"], line


def test_all_sizes_are_measured_beside_ours_and_the_limit(lines: list[dict[str, str]]) -> None:
    places = {
        (line["kernel"], line["layout"], line["n_tasks"], line["n_features"]) for line in lines
    }
    for contender in ("ours", "limit"):
        found = {
            (line["kernel"], line["layout"], line["n_tasks"], line["n_features"])
            for line in lines
            if line["contender"] == contender
        }
        assert found == places
    for line in lines:
        assert 0.0 < float(line["ratio_min"]) <= float(line["ratio_median"])
        assert float(line["ratio_median"]) <= float(line["ratio_max"])
        assert float(line["seconds_per_example"]) > 0.0


def test_page_of_a_run_names_every_benchmark(folder: Path, lines: list[dict[str, str]]) -> None:
    shown = "".join((folder / file).read_text(encoding="utf-8") for file in page.PAGES)
    assert "times mean nothing" in shown
    for line in lines:
        assert line["kernel"] in shown


def as_read(row: targets.TargetRow) -> dict[str, str]:
    """Return a row as it is read when it has been written."""
    return dict(zip(row._fields, in_words(row), strict=True))


def test_stored_page_is_of_the_stored_runs() -> None:
    for file, text in page.pages(STORED).items():
        assert (page.DOCS / file).read_text(encoding="utf-8") == text


def test_stored_targets_are_of_the_stored_runs() -> None:
    rows = targets.judged({name: read_csv(STORED / f"{name}.csv") for name in PARTS})
    assert read_csv(STORED / "targets.csv") == [as_read(row) for row in rows]


def test_stored_runs_are_whole() -> None:
    """Each at full effort, with its rows; the page says of a part that none is stored."""
    stored = [run["part"] for run in read_csv(STORED / "runs.csv")]
    assert stored == [part for part in PARTS if part in stored]
    assert stored == [part for part in PARTS if (STORED / f"{part}.csv").exists()]
    assert {run["effort"] for run in read_csv(STORED / "runs.csv")} == {"full"}
    for name in ("kernels", "growth", "table_streams"):
        for line in read_csv(STORED / f"{name}.csv"):
            kinds = dict(inspect.get_annotations(Row, eval_str=True))
            row = Row(
                *(
                    (float if "float" in str(kind) else int if "int" in str(kind) else str)(text)
                    if (text := line[field])
                    else None  # type: ignore[arg-type]
                    for field, kind in kinds.items()
                )
            )
            assert agrees(row), line


def test_every_learner_is_timed() -> None:
    """Those without a limit too, beside their transcriptions where there are some."""
    timed = [*ours.KERNELS.values(), *ours.others().values()]
    assert {type(kernel.learner).__name__ for kernel in timed} == set(TABLE)


def test_a_learner_that_no_kernel_names_is_timed(tmp_path: Path) -> None:
    """Beside its transcription and its rules in Python; one of them learns on a network."""
    names = ("ALMA", "Majority", "NeighbourhoodMT")
    effort = QUICK._replace(kernels=names)
    found = {each.kernel: list(measure(each, effort)) for each in benchmarks(effort, tmp_path)}
    plain = {name: {row.contender for row in rows} - {"ours"} for name, rows in found.items()}
    assert all(plain[name] == {"NumPy", "uncompiled"} for name in names)
    assert all(agrees(row) for rows in found.values() for row in rows)


# How contenders are compared


def test_each_turn_is_compared_with_ours_just_before_it() -> None:
    """A machine that becomes twice as slow all the time changes no ratio by more than that."""
    now, speed = 0.0, 1.0

    def clock() -> float:
        return now

    def spend(seconds: float) -> int:
        nonlocal now, speed
        now += seconds * speed
        speed *= 1.1
        return 7

    def contender(name: str, seconds: float) -> Contender:
        return Contender(name, 10, lambda: partial(spend, seconds), 7, clock=clock)

    first, other = contender("ours", 1.0), contender("other", 3.0)
    effort = QUICK._replace(turns=5)
    mine, its = measure(Benchmark("K", "dense", (first, other), 1, 2, 2), effort)
    assert (mine.ratio_median, mine.mistakes, mine.mistakes_of_ours) == (1.0, 7, 7)
    assert its.ratio_min == pytest.approx(3.3) == its.ratio_max
    assert agrees(its) and not agrees(its._replace(mistakes=9))


def test_what_is_not_to_be_counted_is_taken_off() -> None:
    now = iter(range(0, 1000, 5))
    contender = Contender(
        "other", 1, lambda: lambda: None, clock=lambda: float(next(now)), beside=lambda: 4.0
    )
    ready = Contender("ours", 1, lambda: lambda: None, clock=lambda: float(next(now)))
    _, its = measure(Benchmark("K", "dense", (ready, contender), 1, 2, 2), QUICK)
    assert its.ratio_median == pytest.approx(1.0 / 5.0)


def test_vowpal_wabbits_ties_count_as_ours(tmp_path: Path) -> None:
    """Both sides of the comparison answer a tie with −1: here each example is one."""
    X, y = sparse.csr_array(np.eye(6)), np.array([-1.0, -1.0, 1.0, -1.0, -1.0, 1.0])
    vw = rivals.VowpalWabbit(X, y, tmp_path)
    ready = ours.ready(ours.KERNELS["OGD"], X, y, 1)
    assert vw.parsed()() == vw.native_mistakes() == ours.mistakes_of_signs(ready) == 2


def played(name: str, n_tasks: int) -> tuple[ours.Kernel, ours.Play]:
    """Return a kernel and a small play of it."""
    X, y = streams.dense_data(30, 6)
    kernel = ours.KERNELS[name]
    return kernel, ours.ready(kernel, X, y, n_tasks)


@pytest.mark.parametrize(
    ("name", "by_example", "by_step"),
    [("PA", 1, 1), ("Multi-P", 2, 2), ("ROM-PGD", 3, 3), ("OMTL-LogDet", 1, 5), ("OSMTL-e", 3, 3)],
)
def test_passes_are_those_of_the_equations(name: str, by_example: int, by_step: int) -> None:
    kernel, ready = played(name, 3)
    trace = ours.trace_of(ready, compiled=False)
    expected = (by_example * ready.size + by_step * trace.updates.sum()) / ready.size
    assert trace.updates.sum() > 0
    assert ours.passes_of(ours.places_of(kernel, 3), trace, ready) == pytest.approx(expected)


def test_bare_loops_take_the_steps_that_they_count() -> None:
    """On dense and on sparse rows the same vectors change, by the same amounts."""
    kernel, ready = played("Multi-P", 3)
    places = ours.places_of(kernel, 3)
    order, fires = ready.stream.example, np.arange(ready.size) % 2 == 0
    bare = limits.Bare(order, ready.examples.task, ready.examples.y, fires, places)
    X = ready.examples.rows.X
    dense, compressed = np.zeros((2, 4, 6))
    limits.bare_dense(X, bare, dense)
    limits.bare_sparse(rows_of(sparse.csr_array(X)), bare, compressed)
    expected = np.zeros((4, 6))
    for e in np.flatnonzero(fires):
        step = limits.SMALL_STEP * ready.examples.y[order[e]] * X[order[e]]
        expected[[ready.examples.task[order[e]], 3]] += step
    np.testing.assert_allclose(dense, expected, rtol=1e-9)
    np.testing.assert_allclose(compressed, expected, rtol=1e-9)


def test_streams_of_tables_are_compared_too(tmp_path: Path) -> None:
    """The first algorithms of a synthetic column, and one vector for all tasks beside rivals."""
    cells = table_streams.columns_of("dom-table1")["Synthetic"]
    assert len({cell.experiment.algorithm["name"] for cell in cells}) == len(cells) > 5
    found = table_streams.of_column("dom-table1, Synthetic", cells[:1], QUICK, tmp_path)
    rows = [row for benchmark in found for row in measure(benchmark, QUICK)]
    assert {row.kernel for row in rows} == {table_streams.ONE_VECTOR, cells[0].algorithm}
    compared = {row.contender for row in rows if row.mistakes_of_ours is not None}
    others = {"river", "scikit-learn", "Vowpal Wabbit, Python"}
    assert compared == {"ours", "NumPy", "NumPy, tuned", *others}
    assert all(agrees(row) for row in rows)


def test_grids_together_make_the_mistakes_of_point_by_point() -> None:
    """Of the first grid that shares: its points, and some of them alone on the same stream."""
    cells = table_streams.columns_of("rom-table1")["Synthetic (delta2=1.00)"]
    cell = next(filter(grids.shares, cells))
    rows = list(measure(grids.benchmark(f"rom-table1, {cell.dataset}", cell, QUICK), QUICK))
    assert [row.contender for row in rows] == ["ours", grids.ALONE]
    assert all(row.mistakes == row.mistakes_of_ours for row in rows)
    assert rows[0].examples * QUICK.alone == rows[1].examples * (QUICK.grid or 0)


def test_a_miss_is_shown_beside_its_bare_loop() -> None:
    """50 times the transcription where the loop itself would be 80 times it."""
    of = {"kernels": [line("ours", 1.0), line("NumPy", 50.0), line("limit", 0.625)]}
    results = {name: of.get(name, []) for name in page.RESULTS}
    rows = targets.judged(results)
    results["targets"] = [as_read(row) for row in rows]
    [*_, limit] = next(row for row in page.missed(results) if row[0] == targets.IN_NUMPY)
    assert limit == "80"


def test_thinned_tables_have_all_cells() -> None:
    from omtl.experiment.config import named_reading
    from omtl.tables.plan import plan_table

    plan = plan_table("dom-table1", named_reading("dom", "as_published"))
    thin = thinned(plan, 2)
    assert len(thin.cells) == len(plan.cells)
    for whole, cell in zip(plan.cells, thin.cells, strict=True):
        assert len(cell.experiment.points) == min(2, len(whole.experiment.points))
        assert all(point in whole.experiment.points for point in cell.experiment.points)


# Targets


def line(contender: str, ratio: float, **more: Any) -> dict[str, str]:
    """Return a line of a result, of PA on dense rows if nothing else is said."""
    shape = {"kernel": "PA", "layout": "dense", "n_tasks": 1, "n_features": 100, "nonzeros": 100}
    numbers = {"ratio_median": ratio, "ratio_min": 0.5 * ratio, "ratio_max": 2.0 * ratio}
    fields = shape | numbers | {"contender": contender, "passes": 2.0} | more
    return {name: str(value) for name, value in fields.items()}


def judged(**results: list[dict[str, str]]) -> Iterator[targets.TargetRow]:
    """Return what the targets say of some lines."""
    return iter(targets.judged({name: results.get(name, []) for name in PARTS}))


@pytest.mark.parametrize(("ratio", "met"), [(499.0, "no"), (500.0, "yes")])
def test_a_lower_bound_is_met_at_the_bound(ratio: float, met: str) -> None:
    row = next(judged(kernels=[line("river", ratio)]))
    assert (row.median, row.low, row.high, row.met) == (ratio, 0.5 * ratio, 2.0 * ratio, met)
    assert row.wanted == "at least 500 ×"


@pytest.mark.parametrize(("ratio", "met"), [(0.5, "yes"), (0.49, "no")])
def test_ours_beside_the_limit_is_the_inverse(ratio: float, met: str) -> None:
    wide = {"n_features": 1000, "nonzeros": 1000}
    row = next(judged(growth=[line("limit", ratio, **wide)]))
    assert row.median == pytest.approx(1.0 / ratio)
    assert (row.low, row.high) == pytest.approx((0.5 / ratio, 2.0 / ratio))
    assert (row.met, row.subject) == (met, "PA, d = 1,000")


def test_narrow_rows_have_no_limit_to_keep() -> None:
    assert not list(judged(growth=[line("limit", 0.1)]))


def test_equal_work_is_counted_in_passes() -> None:
    """Four times as long with four times the passes is as fast."""
    of = {"kernel": "COML", "n_tasks": 9}
    rows = judged(
        growth=[line("ours", 1.0, **of, passes=8.0), line("single-task", 0.25, **of, passes=2.0)]
    )
    row = next(rows)
    assert row.target.startswith("Learners of many tasks")
    assert row.median == pytest.approx(1.0)


def test_a_rival_that_is_faster_misses_the_target() -> None:
    found = list(judged(growth=[line("scikit-learn", 0.9), line("NumPy", 0.9)]))
    assert [(row.met, row.median) for row in found] == [("no", 0.9)]


# The command


def test_page_alone_measures_nothing(folder: Path, tmp_path: Path) -> None:
    for name in (*MEASURED, "runs"):
        (tmp_path / f"{name}.csv").write_bytes((folder / f"{name}.csv").read_bytes())
    conclude(tmp_path, tmp_path)
    for name in ("targets.csv", *page.PAGES):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [(["tables", "nonsense"], "no part 'nonsense'"), (["--quick"], "name a --folder")],
)
def test_wrong_use_is_told(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    assert left.value.code == 2
    assert told in capsys.readouterr().err
