"""The board: ratings against a plain reference, a small board, its order, taking part."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from golden_files import assert_as_golden
from miniature import SERIAL, small, with_options
from scipy.optimize import minimize

import omtl
from omtl.compute.engine import Outcome
from omtl.compute.store import Store
from omtl.evidence.board import (
    DIGITS,
    BoardPlan,
    at_edge,
    audit_choices,
    board_cells,
    bytes_of,
    code_of_learner,
    state_bytes,
    stream_of,
)
from omtl.evidence.compared_learners import curves_of
from omtl.evidence.ratings import (
    CENTRE,
    PRIOR,
    SCALE,
    count_wins,
    elo,
    sharing,
    won,
)
from omtl.experiment.composition import composed
from omtl.experiment.config import load_option, options
from omtl.experiment.specs import AlgorithmSpec, SelectionSpec
from omtl.experiment.unit import Result
from omtl.reproduction import submission
from omtl.reproduction.board import Board, from_results, make_board
from omtl.reproduction.submission import check_submission, digest, joined
from omtl.util import paths
from omtl.util.errors import UserError
from omtl.util.paths import ROOT
from omtl.util.result_files import as_csv

RNG = np.random.default_rng(0)
SMALL = BoardPlan(learners=("pa", "pm", "dom1"), data=("opposed_tasks", "joining_tasks"), repeats=2)


def test_battles() -> None:
    """The lower number wins, equal ones are half a win; those within a region are equal."""
    values = np.array([[1.0, 2.0], [1.04, 1.0], [np.nan, np.nan]])
    assert won(values)[0].tolist()[0][:2] == pytest.approx([np.nan, 1.0], nan_ok=True)
    assert won(values)[1, 0, 1] == 0.0
    assert won(values, 0.05)[0, 0, 1] == 0.5
    assert np.isnan(won(values)[:, 2]).all()
    assert count_wins([won(values), won(values)])[0, 1] == 1.0  # a half on each of two data sets
    higher = -np.array([[0.85, 0.85, np.nan], [0.89, 0.90, 1.0]])  # is better: with a minus
    assert won(higher, 0.05)[:2, 0, 1].tolist() == [0.5, 0.0]
    assert won(higher, 0.05)[:2, 1, 0].tolist() == [0.5, 1.0]


def test_sharing_is_not_undecided_where_a_learner_has_no_numbers() -> None:
    given = zip("abc", ("1 2 3 4", "2 3 4 5", ""), strict=True)
    cells = pd.DataFrame(given, columns=["algorithm", "values"]).assign(dataset="mhc")
    rows = sharing(cells, {"family": {"alone": "a", "pooled": "c", "shared": "b"}})
    assert rows["beside"].tolist() == ["alone"]


def likeliest(wins: np.ndarray) -> np.ndarray:
    """Return Elo ratings by maximising the likelihood as it is written down."""

    def cost(strength: np.ndarray) -> float:
        chance = 1.0 / (1.0 + np.exp(strength[None, :] - strength[:, None]))
        alone = -np.log1p(np.exp(-strength)) - np.log1p(np.exp(strength))
        return -float(np.sum(wins * np.log(chance)) + PRIOR * np.sum(alone))

    best = minimize(cost, np.zeros(len(wins)), tol=1e-12).x
    points = SCALE / np.log(10.0) * best
    return CENTRE + points - points.mean()


def test_ratings_are_of_the_highest_likelihood() -> None:
    """The fixed point is that of a general optimiser."""
    wins = np.triu(RNG.integers(0, 9, (6, 6)), 1) + np.tril(RNG.integers(0, 9, (6, 6)), -1)
    assert elo(wins.astype(float)) == pytest.approx(likeliest(wins), abs=0.01)


def test_all_learners_and_data_sets_are_on_it_or_left_out() -> None:
    """What is left out is named with a reason; those that query labels are on a board of theirs."""
    config, board = load_option("board", "default"), BoardPlan()
    assert set(options("dataset")) <= {*config["data"], *config["no_data"]}
    assert not config["data"].keys() & config["no_data"].keys()
    assert not set(config["no_entrant"]) & set(board.entrants)
    of_families = {one for each in config["families"].values() for one in each.values()}
    assert {*config["grids"], *of_families} <= set(board.entrants)
    labels = [AlgorithmSpec.named(name).label for name in board.entrants]
    assert len(labels) == len(set(labels))
    queries = BoardPlan("queries")
    query = {name for name, why in config["no_entrant"].items() if "labels" in why}
    assert query <= {*queries.entrants}
    for name in queries.entrants:
        assert len(queries.experiment("opposed_tasks", name).points) == 1, name


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Return a store with the small board."""
    store = Store(tmp_path_factory.mktemp("store"))
    SMALL.play(store, SERIAL)
    return store


@pytest.fixture(scope="module")
def made(played: Store) -> Board:
    """Return the small board."""
    return make_board(SMALL, SERIAL, played)


OTHERS = {
    "transfer": BoardPlan("transfer", ("pm", "pm_pooled"), ("random_walk",), repeats=1),
    "networks": BoardPlan("networks", ("dom1", "gd"), ("drifting_tasks",), repeats=1),
    "queries": BoardPlan(
        "queries", ("random_queries", "pm", "ipl_active"), ("opposed_tasks",), repeats=2
    ),
}
OF_CODE = ["stream", "learner"]
"""Columns with hashes, which change with the code."""


@pytest.mark.parametrize("name", ["default", *OTHERS])
def test_a_small_board_is_that_of_the_golden_files(name: str, made: Board, tmp_path: Path) -> None:
    """Its cells, its data sets and its ranking, with the metrics that each board shows."""
    made = make_board(OTHERS[name], SERIAL, Store(tmp_path)) if name in OTHERS else made
    parts = {"cells": made.frame.drop(columns=OF_CODE), "data": made.data, "ranking": made.ranking}
    for part, frame in parts.items():
        assert_as_golden(as_csv(frame, DIGITS), f"boards/{name}.{part}.csv")
    interval = [*made.view.heads].index("95% interval")  # resampled, one number gives itself again
    assert {row[interval] for row in made.view.rows} == {"none"}


def test_a_board_is_written_the_same_whenever_it_is_made(
    played: Store, made: Board, tmp_path: Path
) -> None:
    """Of the same units; times of units that were not played again stay."""
    folder = tmp_path / SMALL.folder
    seconds = made.seconds.set_index(["dataset", "algorithm"])["seconds"]
    for place, units in SMALL.units.items():
        took = [result.facts["seconds"] for result in played.stored(units)]
        assert seconds[place] == pytest.approx(min(took), rel=1e-3)
    longer = board_cells(replace(SMALL, repeats=3), played, Outcome())
    assert set(longer["why"]) == {"2 of 3 repeats are stored"}
    first = {path.name: path.read_bytes() for path in made.write(folder)}
    again = make_board(SMALL, SERIAL, played)
    assert {path.name: path.read_bytes() for path in again.write(folder)} == first
    lines = first["times.csv"].decode().splitlines()
    kept = [*lines[:1], lines[1].rsplit(",", 1)[0] + ",77", *lines[3:]]
    (folder / "times.csv").write_text("\n".join(kept) + "\n", encoding="utf-8")
    made.write(folder)
    written = (folder / "times.csv").read_text(encoding="utf-8").splitlines()
    assert written == [lines[0], kept[1], *lines[2:]]
    asked = BoardPlan(learners=("pa", "pm"))
    assert set(from_results(asked, tmp_path).ranking["algorithm"]) == {"pa", "pm"}


def test_a_state_is_as_large_as_all_its_arrays() -> None:
    own = SimpleNamespace(u=np.zeros(4))
    assert bytes_of({"w": [np.zeros(3), (np.zeros(2, np.int8), 1.0)], "own": own}) == 24 + 2 + 32
    few, many = (with_options(small("da"), n_examples=n).unit(0, 0) for n in (30, 60))
    assert state_bytes(few) < state_bytes(many)  # it has products of all rows


def test_the_audit_counts_a_choice_by_cross_validation_in_each_repeat() -> None:
    """The middle one of three values of C is best, then an end; two of mu have no middle."""
    grid = {"C": [0.1, 1.0, 10.0], "mu": [0.1, 0.2]}
    experiment = small("coml").patched({"algorithm.*.grid": grid})
    results = [
        Result(
            {"validation": np.array([0.5, 0.4, 0.6, 0.7, last, 0.6]), "diverged": np.zeros(6)}, {}
        )
        for last in (0.5, 0.8)
    ]
    found = audit_choices(results, experiment, SelectionSpec.named("cv5"))
    assert found == {"edge": 0.5, "ties": 0.0}


def test_an_edge_is_one_of_the_learners_own_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    """A learner of another module is not taken for ours of the same name."""

    class DOM1:
        """Parameters
        ----------
        eta : float in [1, 3]
        """

    monkeypatch.setitem(sys.modules, "elsewhere", SimpleNamespace(DOM1=DOM1))
    experiment = small("dom1").patched({"algorithm.*.grid": {"eta": [1.0, 2.0, 3.0]}})
    spec = replace(experiment.algorithm, learner="elsewhere.DOM1")
    assert at_edge(experiment).tolist() == [True, False, True]
    assert not at_edge(replace(experiment, algorithm=spec)).any()


def test_the_command_of_a_cell_makes_its_number() -> None:
    """`omtl run` with the words that the board's page shows plays the very units."""
    grid = [word.strip("'") for word in SMALL.grid_words("pa")]
    config = composed(["algorithm=pa", *SMALL.overrides("joining_tasks"), *grid])
    units = config.experiment.repeats(config.seed, config.repeats)
    assert [u.key for u in units] == [u.key for u in SMALL.units["joining_tasks", "pa"]]


def test_what_is_outdated_is_not_mixed(made: Board) -> None:
    """An entry counts where it was played on the very streams of the board."""
    cells = made.frame
    pm = cells[cells["algorithm"] == "pm"]
    own = pm.assign(algorithm="mine", label="Mine").to_dict("records")
    content = {"learner": "mine", "cells": own}
    both, notes = joined(cells, [content])
    assert ("Mine (submitted)" in set(both["label"]), notes) == (True, [])
    short = {**own[0], "values": own[0]["values"].split()[0]}
    for change, why in [
        ({"learner": "pm", "cells": pm.to_dict("records")}, "a learner of the board has its name"),
        ({"cells": own[:1]}, "it has no numbers on"),
        ({"cells": [short, own[1]]}, "it has fewer repeats than the board"),
        ({"cells": [{**own[0], "stream": "other"}, own[1]]}, "1 of its 2 streams have changed"),
    ]:
        both, [note] = joined(cells, [content | change])
        assert f"(submitted) is left out: {why}" in note
        assert len(both) == len(cells)


def test_streams_are_the_same_for_all_learners(made: Board) -> None:
    """Their hash is of the rows and the options; a change of code leaves it as it is."""
    assert (made.frame.groupby("dataset")["stream"].nunique() == 1).all()
    unit = replace(SMALL.units["joining_tasks", "pa"][0])
    rule = SelectionSpec.named("progressive")
    kept = stream_of(unit, "rows", rule)
    codes = {code_of_learner(SMALL.units["joining_tasks", name][0]) for name in SMALL.entrants}
    assert len(codes) == 3
    vars(unit)["identity"] = unit.identity | {"code": dict.fromkeys(unit.identity["code"], "new")}
    assert stream_of(unit, "rows", rule) == kept
    assert code_of_learner(unit) not in codes
    others = [
        stream_of(unit, "others", rule),
        stream_of(replace(unit, seed=1), "rows", rule),
        stream_of(unit, "rows", SelectionSpec.named("prefix")),
    ]
    assert len({kept, *others}) == 4


def test_a_board_is_read_where_it_was_written(
    played: Store, made: Board, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here, also where no table was; and an entry counts on the board for which it was written."""
    for module in (paths, submission):
        monkeypatch.setattr(module, "RESULTS", tmp_path)
    made.write(tmp_path / "board")
    monkeypatch.setattr(submission, "replay_sample", lambda *_: [])
    coml = BoardPlan(learners=("coml",), data=SMALL.data, repeats=2)
    content = submission.replayed_submission(coml, SERIAL, played)
    for name, on in (("one", "default"), ("two", "networks")):
        cells = [{**cell, "algorithm": name} for cell in content["cells"]]
        entry = {**content, "learner": name, "board": on, "cells": cells}
        made = {**entry, "sha256": digest(entry)}
        monkeypatch.setattr(submission, "replayed_submission", lambda *_, made=made: made)
        submission.submit(BoardPlan(on, ("coml",)), SERIAL)
    handed_in = tmp_path / "board" / "submissions"
    assert (tmp_path / "board" / "networks" / "submissions" / "two.json").exists()
    shutil.copy(handed_in / "one.json", handed_in / "one_again.json")
    found = from_results(BoardPlan())
    assert {*found.ranking["algorithm"]} == {*SMALL.learners, "one"}
    assert any("a learner of the board has its name" in note for note in found.notes)
    chosen = omtl.board(["ONE", "pa"], SMALL.data[0], published=True)  # no config has "one"
    assert {*chosen.ranking["algorithm"]} == {"one", "pa"}
    assert {*chosen.frame["dataset"]} == {SMALL.data[0]}
    with pytest.raises(UserError, match="no algorithm of the board 'coml'; choose from "):
        omtl.board(["one", "coml"], published=True)


def test_curves_of_repeats_with_checkpoints_of_their_own() -> None:
    """Task after task, they are at the ends of each repeat's tasks: rates are taken at places
    that all repeats have, and are exact at the end."""
    results = []
    for made, seen in (([10, 40], [100, 400]), ([40, 50, 60], [200, 300, 400])):
        arrays = {"checkpoint_mistakes": np.array([made]), "seen": np.array(seen)}
        results.append(Result(arrays | {"diverged": np.zeros(1)}, {}))
    curves = curves_of(results, np.zeros(2, int), SelectionSpec.named("oracle"))
    assert curves.shape == (2, 100)
    assert curves[:, -1] == pytest.approx([10.0, 15.0])
    assert curves[1, :50] == pytest.approx(np.full(50, 20.0))


KEPT = ROOT / "results" / "board"

IN_PRINT = pd.read_csv(ROOT / "tests" / "golden" / "in_print.csv")
"""Cells of boards whose data set and learner are a paper's, with their place in its table."""


@pytest.mark.parametrize("table", IN_PRINT["table"].unique())
def test_learners_are_as_good_as_their_paper_says(table: str) -> None:
    """Within 15% of the printed errors, which are chosen in hindsight; the board's are not."""
    printed = pd.read_csv(ROOT / "results" / "published" / f"{table}.csv")
    printed = printed.groupby(["metric", "dataset", "algorithm"])["mean"].mean()
    for board, places in IN_PRINT[IN_PRINT["table"] == table].groupby("board"):
        cells = pd.read_csv(ROOT / "results" / BoardPlan(str(board)).folder / "cells.csv")
        ours = cells.set_index(["dataset", "algorithm"])["mean"]
        for at in places.itertuples():
            mine, theirs = ours[at.dataset, at.algorithm], printed[at.metric, at.column, at.row]
            if at.metric == "right":
                mine, theirs = 100.0 - mine, 100.0 - 100.0 * theirs
            assert mine <= 1.15 * theirs, at


@pytest.mark.repository
@pytest.mark.skipif("OMTL_DATA_MIRROR" not in os.environ, reason="it plays real data")
@pytest.mark.parametrize(
    "path", sorted(KEPT.glob("submissions/*.json")), ids=lambda path: path.stem
)
def test_submissions_are_as_they_say(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sample of each is replayed; what has changed since is told, and not mixed."""
    monkeypatch.delenv("OMTL_OWN", raising=False)
    told, _ = check_submission(path, n_numbers=1)
    assert not [line for line in told if line.startswith("different")]
