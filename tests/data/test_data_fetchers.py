"""The data sets: their registry, and the command that fetches them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import data_fetchers
from data_fetchers import mhc, sentiment
from data_fetchers.fetch import Archive, DataMissing
from omtl.commands._main import main
from omtl.util.errors import UserError
from omtl.util.status import DONE, WRONG_USE

NAMES = data_fetchers.data_set_names()


@pytest.mark.parametrize("name", NAMES)
def test_a_data_set_says_what_it_is_and_where_its_files_are_from(name: str) -> None:
    module = data_fetchers.data_set(name)
    assert name == module.NAME
    assert module.__doc__
    assert module.LICENCE
    if module.FILES:  # a synthetic set has none, and no one to cite
        assert re.match(r"@\w+\{\w+,\n", module.CITATION)
    assert len({file.path for file in module.FILES}) == len(module.FILES)
    for file in module.FILES:
        assert re.fullmatch(r"[0-9a-f]{64}", file.sha256)
        assert file.n_bytes > 0
        assert file.sources
        for source in file.sources:
            url = source.url if isinstance(source, Archive) else source
            assert re.match(r"https?://", url)
            if "raw.githubusercontent.com" in url:
                assert re.match(r"https://[^/]+/[^/]+/[^/]+/[0-9a-f]{40}/", url)


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UserError, match=r"no data set 'mch': choose among .*mhc"):
        data_fetchers.load("mch")
    with pytest.raises(UserError, match="no data set 'mch'"):
        data_fetchers.fetch_all(["mch"])


def test_fetch_all_fetches_what_there_is_and_names_what_is_missing(
    home: Path, put: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    put(sentiment, {"a/negative.review": b"a", "b/positive.review": b"b"})
    (home / "sentiment/a/negative.review").unlink()
    told: list[Path] = []
    with pytest.raises(DataMissing) as raised:
        data_fetchers.fetch_all(["mhc", "sentiment"], on_file=told.append)
    assert told == [home / "sentiment/b/positive.review"]
    assert "mhc: predictions_smm.txt" in str(raised.value)
    assert "sentiment: a/negative.review" in str(raised.value)
    assert "b/positive.review" not in str(raised.value)
    assert [line.partition(":")[0] for line in str(raised.value).splitlines()] == [
        "mhc",
        "sentiment",
    ]

    monkeypatch.setattr(sentiment, "FILES", sentiment.FILES[1:])
    assert data_fetchers.fetch_all(["sentiment"]) == told


def test_the_command_prints_one_line_per_file(
    home: Path, put: Callable[..., None], capsys: pytest.CaptureFixture[str]
) -> None:
    put(mhc, {"predictions_smm.txt": b"mhc"})
    assert main(["fetch", "mhc"]) == DONE
    assert capsys.readouterr() == (f"{home}/mhc/predictions_smm.txt\n", "")

    assert main(["fetch", "mhc", "sentiment"]) == WRONG_USE
    out, err = capsys.readouterr()
    assert out == f"{home}/mhc/predictions_smm.txt\n"
    assert err.count("is missing") == len(sentiment.FILES)

    assert main(["fetch", "mch"]) == WRONG_USE
    assert "no data set 'mch'" in capsys.readouterr().err
