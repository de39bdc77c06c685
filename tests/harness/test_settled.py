"""``--repeats auto``: a table is played until another verdict has become improbable."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from miniature import SERIAL
from small_tables import small_table

from omtl import results
from omtl.compute.store import Store
from omtl.measures.metrics import METRICS
from omtl.measures.sequential import reach_of_rest
from omtl.tables.cells import PLACE
from omtl.tables.plan import descriptions
from omtl.tables.request import Request
from omtl.tables.settled import ALL_PLAYED, FIRST, GROWTH, SETTLED, is_settled, play_until_settled
from omtl.tables.verdict import JUDGED, OURS, STD, PrintedNumber, difference


def test_bound_on_the_rest_holds_for_all_numbers_of_plays_at_once() -> None:
    """Of 2,000 runs, whose deviation is unknown, at most 5 % leave it anywhere on their way."""
    rng, total, left = np.random.default_rng(0), 40, 0
    for _ in range(2000):
        numbers = rng.normal(size=total)
        left += any(
            abs(numbers[:n].mean() - numbers.mean())
            > reach_of_rest(float(numbers[:n].std(ddof=1)), n, total, error=0.05)
            for n in range(2, total)
        )
    assert 0 < left <= 0.05 * 2000


def test_bound_is_nothing_once_all_are_played_and_infinite_after_one() -> None:
    """It shrinks in between."""
    bounds = [reach_of_rest(1.0, n, 30, error=0.01) for n in range(1, 31)]
    assert bounds[0] == np.inf
    assert bounds[-1] == 0.0
    assert bounds == sorted(bounds, reverse=True)


def published_cells() -> Iterator[tuple[PrintedNumber, np.ndarray, bool]]:
    """Yield the compared cells of the closest reading: print, our numbers, whether drawn."""
    for table in descriptions("table"):
        numbers = dict(iter(results.repeats(table).groupby(PLACE)["value"]))
        rows = results.cells(table)
        for row in rows[rows["verdict"].isin(JUDGED)].to_dict("records"):
            std = "" if pd.isna(row["published_std"]) else str(row["published_std"])
            printed = PrintedNumber(
                *(str(row["published_mean"]), std),
                *(row["published_spread"] or STD, int(row["published_repeats"])),
                METRICS[row["metric"]].scale,
            )
            place = tuple(row[name] for name in PLACE)
            yield printed, numbers[place].to_numpy(), row["n_draws"] > 1


@pytest.mark.repository
def test_verdicts_agree_with_those_of_all_published_repeats() -> None:
    """In at least 98 % of the cells, after a shuffle of each cell's repeats; it saves a third."""
    rng, same, played, in_all = np.random.default_rng(1), [], 0, 0
    for printed, numbers, drawn in published_cells():
        shuffled, count = rng.permutation(numbers), FIRST
        while count < numbers.size:
            if is_settled(printed, shuffled[:count], numbers.size, drawn):
                break
            count = math.ceil(GROWTH * count)
        seen = shuffled[:count]
        one, other = (
            difference(printed, each.mean(), each.std(ddof=1), each.size, drawn).word
            for each in (seen, numbers)
        )
        same.append(one == other)
        played, in_all = played + seen.size, in_all + numbers.size
    assert len(same) > 400
    assert np.mean(same) >= 0.98
    assert played < 0.7 * in_all


def test_table_stops_early_where_nothing_is_open(tmp_path: Path) -> None:
    """Far from print a few repeats suffice; near a border all are played; twice the same."""
    cells = small_table(repeats=12)
    cells = cells[cells["algorithm"].isin(["PM", "PA"])]
    request = Request("as_written", "auto", parallel=SERIAL, store=Store(tmp_path / "one"))
    far = cells.assign(published_mean="1.00", published_std="0.10")
    found, outcome = play_until_settled(far, request)
    assert set(found["stopped"]) == {SETTLED}
    assert set(found["verdict"]) == {"off"}
    assert (found["n_repeats"] < 12).all()
    assert list(found["algorithm"]) == list(far["algorithm"])
    assert outcome.computed > 0
    border = found["ours_mean"].mean() / 1.1
    near = cells.assign(published_mean=f"{border:.4f}", published_std="0.01")
    again, _ = play_until_settled(near, request)
    assert ALL_PLAYED in set(again["stopped"])
    elsewhere = Request("as_written", "auto", parallel=SERIAL, store=Store(tmp_path / "two"))
    once_more, _ = play_until_settled(far, elsewhere)
    for one, other in zip(found["values"], once_more["values"], strict=True):
        np.testing.assert_array_equal(one, other)


def test_cells_that_are_not_compared_are_played_as_long_as_the_others(tmp_path: Path) -> None:
    """Our baselines until the last verdict is settled; in a table of times, all repeats."""
    cells = small_table(repeats=12)
    cells = cells[cells["algorithm"].isin(["PM", "PA", "OGD"])]
    request = Request("as_written", "auto", parallel=SERIAL, store=Store(tmp_path))
    far = cells.assign(published_mean=cells["published_mean"].where(cells["kind"] == OURS, "1.00"))
    found, _ = play_until_settled(far, request)
    counts = found.set_index("algorithm")["n_repeats"]
    assert counts["OGD"] == counts[["PM", "PA"]].max() < 12
    times = cells.assign(kind=cells["kind"].where(cells["kind"] == OURS, "timing"))
    timed, _ = play_until_settled(times, request)
    assert set(timed["stopped"]) == {ALL_PLAYED}
