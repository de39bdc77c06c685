"""What the page on the library shows is what there is."""

from __future__ import annotations

import doctest
import json
import re

import numpy as np
import pandas as pd
import pytest

import omtl
from omtl.commands._main import main
from omtl.compute.store import Store
from omtl.sklearn import __all__ as names
from omtl.tables.cells import planned
from omtl.util.errors import UserError
from omtl.util.paths import ROOT

PAGE = (ROOT / "docs" / "library.md").read_text(encoding="utf-8")


def test_the_examples_run_and_print_what_they_show() -> None:
    """All examples, one after the other, in one namespace."""
    blocks = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL))
    test = doctest.DocTestParser().get_doctest(blocks, {}, "library.md", None, 0)
    assert len(test.examples) > 30
    told: list[str] = []
    failed, _ = doctest.DocTestRunner().run(test, out=told.append)
    assert not failed, "".join(told)


def test_the_table_names_estimators() -> None:
    """What the page lists by family, `omtl.sklearn` has; a new learner edits no page."""
    rows = re.findall(r"^\|[^|]*\|([^|]*)\|$", PAGE, flags=re.MULTILINE)
    listed = re.findall(r"`([A-Z]\w+)`", " ".join(rows))
    assert len(listed) == len(set(listed)) > 30
    assert set(listed) <= set(names)


SMALL = ("dataset.options.n_examples=20", "repeats=2", "parallel=serial")


def test_run_gives_what_the_command_gives(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sweep has a row per run, also where one failed; if all failed, it says why."""
    monkeypatch.setattr("omtl.reproduction.record.Store.default", lambda: store)
    runs = omtl.run("algorithm=pm,stl", "seed=0,1", *SMALL)
    assert runs["algorithm"].tolist() == ["pm", "pm", "stl", "stl"]
    assert runs["seed"].tolist() == [0, 1, 0, 1]
    assert runs["failed"].notna().tolist() == [False, False, True, True]
    each = omtl.run("algorithm=pm", *SMALL, by_repeat=True)
    assert each["error"].mean() == pytest.approx(runs["error"][0])
    with pytest.raises(UserError, match="has no score"):
        omtl.run("algorithm=stl", *SMALL)


def test_compare_gives_what_the_command_gives(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("omtl.reproduction.frames.Store.default", lambda: store)
    beside = omtl.compare("algorithm=pm", *SMALL, only=["pa", "majority"])
    assert main(["compare", "algorithm=pm", *SMALL, "--only", "pa,majority", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert beside["algorithm"].tolist() == [row["algorithm"] for row in rows]
    assert beside["mean"].tolist() == pytest.approx([row["mean"] for row in rows])
    assert pd.api.types.is_float_dtype(beside["p_holm"])


def test_table_has_types(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the cells that can be made: here those of synthetic data."""
    monkeypatch.setattr("omtl.reproduction.frames.Store.default", lambda: store)
    monkeypatch.setattr(
        "omtl.reproduction.frames.planned", lambda name, request: planned(name, request).head(1)
    )
    made = omtl.table("dom-table1", repeats=1)
    assert len(made) == 1
    assert made["ours_mean"].dtype == np.float64
    assert set(made["verdict"]) <= {"match", "near", "compatible", "off"}
