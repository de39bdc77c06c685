"""The site's pages: whole from the files of results alone, with links that resolve."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from omtl.commands._main import main
from omtl.compute.store import Store
from omtl.experiment.config import options
from omtl.experiment.readings import Reading
from omtl.reproduction.explain import names_of
from omtl.site.build import build
from omtl.site.gather import Sources
from omtl.site.tables import table_page
from omtl.tables.cells import planned
from omtl.tables.plan import descriptions
from omtl.tables.play import play
from omtl.tables.request import Request
from omtl.tables.scoring import scored
from omtl.tables.writing import as_rows, raw_repeats
from omtl.util import user_folder
from omtl.util.errors import UserError
from omtl.util.paths import RESULTS, ROOT
from omtl.util.status import WRONG_USE

BLOCKS = {"div", "p", "ul", "ol", "dl", "table", "pre", "figure", "details", "h2", "h3", "h4"}
"""What may not stand in a paragraph."""


VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}


FETCHED = {"src", "srcset", "poster", "data", "action", "formaction", "background", "xlink:href"}
"""Attributes by which a page fetches something."""


class Page(HTMLParser):
    """A page taken apart: what it refers to, its ids, and where its tags do not match."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.faults: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.targets: list[str] = []
        self.pictures_without_text = 0
        self.feed(html)
        self.close()
        self.faults += [f"<{tag}> is not closed" for tag in self.open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if len(found) != len(attrs):
            self.faults.append(f"{self.getpos()}: <{tag}> has an attribute twice")
        if tag in BLOCKS and "p" in self.open:
            self.faults.append(f"{self.getpos()}: <{tag}> in a paragraph")
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [value for name, value in attrs if name == "id" and value]
        for name, value in found.items():
            if name in FETCHED or (name == "href" and tag != "a"):
                self.fetched.append(value or "")
            elif name == "href":
                self.links.append(value or "")
            elif name in ("popovertarget", "aria-labelledby"):
                self.targets.append(value or "")
        if tag == "img" and "alt" not in found:
            self.pictures_without_text += 1
        inside = "svg" in self.open[:-1]  # a part of a picture that has its text
        if tag == "svg" and not inside and not {"aria-label", "aria-hidden"} & set(found):
            self.pictures_without_text += 1

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open[-1] != tag:
            self.faults.append(f"{self.getpos()}: </{tag}> closes {self.open[-1:]}")
        else:
            self.open.pop()


@pytest.fixture(scope="module")
def taken_apart(site: Path) -> dict[str, Page]:
    """Return the pages of the site, by name."""
    return {p.name: Page(p.read_text(encoding="utf-8")) for p in sorted(site.glob("*.html"))}


def test_has_a_page_for_everything(site: Path) -> None:
    reproduced = [n for n in descriptions("table") if (RESULTS / f"reproduced/{n}.csv").exists()]
    drawn = [n for n in descriptions("figure") if (RESULTS / f"figures/{n}.csv").exists()]
    assert reproduced == list(descriptions("table"))
    assert drawn == list(descriptions("figure"))
    pages = [*(f"table-{name}" for name in reproduced), *(f"figure-{name}" for name in drawn)]
    learners = {Sources(RESULTS).algorithms[name].learner for name in options("algorithm")}
    pages += [f"learner-{path.rpartition('.')[2].lower()}" for path in learners]
    pages += ["index", "claims", "theory", "readings", "learners", "data", "evidence"]
    for page in pages:
        assert (site / f"{page}.html").exists(), page


def test_pages_are_well_formed(taken_apart: dict[str, Page]) -> None:
    faults = {name: page.faults for name, page in taken_apart.items() if page.faults}
    assert not faults
    for name, page in taken_apart.items():
        assert len(set(page.ids)) == len(page.ids), name
        assert set(page.targets) <= set(page.ids), name


def test_nothing_is_fetched_from_outside(site: Path, taken_apart: dict[str, Page]) -> None:
    for name, page in taken_apart.items():
        for address in page.fetched:
            assert address == "data:," or (site / address).is_file(), (name, address)
    for asset in ("style.css", "script.js"):
        content = (site / asset).read_text(encoding="utf-8")
        assert not re.search(r"url\(|@import|https?:|fetch\(|XMLHttpRequest", content)


def test_no_page_tells_where_it_was_made(site: Path) -> None:
    for path in site.glob("*.html"):
        assert str(ROOT) not in path.read_text(encoding="utf-8"), path.name


def test_links_within_the_site_resolve(site: Path, taken_apart: dict[str, Page]) -> None:
    checked = 0
    for name, page in taken_apart.items():
        for address in page.links:
            if re.match(r"https?://", address):
                continue
            path, _, anchor = address.partition("#")
            path = path.partition("?")[0]
            assert not path or (site / path).is_file(), (name, address)
            if anchor:
                assert anchor in taken_apart[path or name].ids, (name, address)
            checked += 1
    assert checked > 1000


def test_pictures_have_a_text(taken_apart: dict[str, Page]) -> None:
    assert {
        name: page.pictures_without_text for name, page in taken_apart.items()
    } == dict.fromkeys(taken_apart, 0)


@pytest.mark.parametrize("name", descriptions("table"))
def test_every_kept_number_is_on_its_page(site: Path, name: str) -> None:
    html = (site / f"table-{name}.html").read_text(encoding="utf-8")
    rows = pd.read_csv(RESULTS / "reproduced" / f"{name}.csv", dtype=str, keep_default_na=False)
    description = Sources(RESULTS).tables[name]
    for row in rows.to_dict("records"):
        n = description.digits_of(row["metric"])
        task = "" if row["task"] == "all" else f", task {row['task'].removeprefix('task')}"
        place = f"{row['algorithm']} on {row['dataset']}{task}, {row['metric']}"
        ours = f"ours {float(row['ours_mean']):.{n}f}" if row["ours_mean"] else "ours none"
        assert f'aria-label="{place}: {ours}' in html, row


def test_cells_tell_what_they_were_made_of() -> None:
    view = table_page("dom-table1", Sources(RESULTS), None).views[0]
    cell = next(c for row in view.rows for c in row.cells if c and c.place == "PA on Sentiment")
    kept = pd.read_csv(RESULTS / "reproduced" / "dom-table1.csv", dtype=str)
    row = kept[
        (kept["reading"] == "as_published")
        & (kept["algorithm"] == "PA")
        & (kept["dataset"] == "Sentiment")
    ].iloc[0]
    printed = cell.row["published_mean"], cell.row["published_std"]
    assert printed == (row["published_mean"], row["published_std"])
    assert float(cell.ours) == pytest.approx(float(row["ours_mean"]), abs=0.006)
    assert cell.verdict == row["verdict"]
    assert "--cell 'PA on Sentiment' --reading as_published" in cell.command
    assert [p.name for p in cell.parameters if p.grid] == ["C"]
    # Of this cell a figure keeps the learning curve, so it is there without a store.
    assert "Learning curve of PA" in cell.curve
    assert not cell.lacking


def test_baselines_of_ours_are_shown_but_not_counted(tmp_path: Path) -> None:
    kept = pd.read_csv(RESULTS / "reproduced" / "dom-table1.csv", dtype=str, keep_default_na=False)
    kept = kept[(kept["reading"] == "as_written") & (kept["verdict"] != "ours")]
    ours = kept.iloc[:1].assign(
        algorithm="AROW", published_mean="", published_std="", delta="", verdict="ours"
    )
    folder = tmp_path / "reproduced"
    folder.mkdir()
    pd.concat([kept, ours]).to_csv(folder / "dom-table1.csv", index=False)
    pd.concat([kept, ours]).to_csv(folder / "dom-table1.prefix.csv", index=False)
    page = table_page("dom-table1", Sources(tmp_path), None)
    assert list(page.counts) == ["as_written", "as_written_by_prefix"]
    assert "ours" not in page.counts["as_written"]
    assert sum(page.counts["as_written"].values()) == len(kept)
    row = next(row for row in page.views[1].rows if row.label == "AROW")
    assert row.is_ours
    [cell] = filter(None, row.cells)
    assert (cell.verdict, cell.row["published_mean"]) == ("ours", "")
    assert "--selection prefix" in cell.command
    assert "--selection prefix" in page.views[1].command


def test_commands_of_cells_name_cells_that_there_are() -> None:
    known = set(names_of(planned("osmtl-table1", Request("as_written"))))
    view = next(
        v
        for v in table_page("osmtl-table1", Sources(RESULTS), None).views
        if v.name == "as_written"
    )
    asked = {
        re.findall(r"--cell '([^']*)'", cell.command)[0]
        for row in view.rows
        for cell in filter(None, row.cells)
    }
    assert asked <= known
    assert len(asked) >= 63


@pytest.fixture
def filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Sources, Store]:
    """Return results of one table with two repeats, and the store that they were made from."""
    name, reading = "aklo-table1", Reading.of("aklo", "as_written")
    cells = planned(name, Request("as_written", 2), reading, plays=1)
    alone = cells[(cells["dataset"] == "Syn1") & (cells["algorithm"] == "ITOL")]
    monkeypatch.setattr("omtl.site.repeats.planned", lambda *_: alone)
    store = Store(tmp_path / "store")
    play(alone, Request(parallel={"backend": "threading", "jobs": 1}, store=store))
    folder = tmp_path / "results" / "reproduced"
    folder.mkdir(parents=True)
    as_rows(scored(alone, store)).to_csv(folder / f"{name}.csv", index=False)
    written = {"reading": reading.as_mapping()}
    (folder / f"{name}.as_written.meta.json").write_text(
        json.dumps({"seed": 0, "repeats": 2, "selection": "oracle"} | written)
    )
    return Sources(tmp_path / "results"), store


def test_the_store_gives_repeats_and_learning_curves(filled: tuple[Sources, Store]) -> None:
    sources, store = filled
    [cell] = table_page("aklo-table1", sources, store).views[0].rows[0].cells
    assert cell is not None
    assert not cell.lacking
    assert str(cell.numbers).count("<title>") == 2
    assert "Learning curve of ITOL, all tasks together" in cell.curve
    assert table_page("aklo-table1", sources, None).views[0].n_without_repeats == 1


def test_repeats_that_are_kept_are_shown_without_a_store(filled: tuple[Sources, Store]) -> None:
    from omtl.site import repeats

    sources, store = filled
    alone = repeats.planned("aklo-table1", Request())
    raw_repeats(scored(alone, store)).to_csv(
        sources.results / "reproduced" / "aklo-table1.as_written.repeats.csv", index=False
    )
    view = table_page("aklo-table1", sources, None).views[0]
    [cell] = view.rows[0].cells
    assert cell is not None
    assert not cell.lacking
    assert str(cell.numbers).count("<title>") == 2
    assert view.n_without_repeats == 0


def test_a_store_with_other_numbers_is_not_shown(filled: tuple[Sources, Store]) -> None:
    sources, store = filled
    path = sources.results / "reproduced" / "aklo-table1.csv"
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    rows["ours_mean"] = "12.3456"
    rows.to_csv(path, index=False)
    [cell] = table_page("aklo-table1", Sources(sources.results), store).views[0].rows[0].cells
    assert cell is not None
    assert "differs" in cell.lacking
    assert "<title>" not in cell.numbers
    assert not cell.curve


def test_an_empty_folder_of_results_makes_a_site(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    front = build(tmp_path / "site", results=tmp_path / "results")
    assert "Scoreboard" in front.read_text(encoding="utf-8")


def test_the_board_shows_kinds_of_streams_that_a_config_adds(tmp_path: Path) -> None:
    folder = tmp_path / "results" / "board"
    shutil.copytree(RESULTS / "board", folder)
    data = pd.read_csv(folder / "data.csv", dtype=str, keep_default_na=False)
    data.assign(kind="weather").to_csv(folder / "data.csv", index=False)
    build(tmp_path / "site", results=tmp_path / "results")
    page = (tmp_path / "site" / "board.html").read_text(encoding="utf-8")
    assert page.count("<td>weather</td>") == len(data)


def test_the_folder_is_replaced_only_if_it_is_a_site(tmp_path: Path) -> None:
    (tmp_path / "results").mkdir()
    output = tmp_path / "site"
    build(output, results=tmp_path / "results")
    (output / "old.html").write_text("of an earlier site")
    build(output, results=tmp_path / "results")
    assert not (output / "old.html").exists()
    other = tmp_path / "mine"
    other.mkdir()
    (other / "thesis.tex").write_text("of many years")
    with pytest.raises(UserError, match="contains other files"):
        build(other, results=tmp_path / "results")
    assert (other / "thesis.tex").read_text() == "of many years"
    with pytest.raises(UserError, match="is a file"):
        build(other / "thesis.tex", results=tmp_path / "results")


def test_the_folder_may_be_the_current_one_or_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An earlier site there is replaced, and nothing is left beside it."""
    (tmp_path / "results").mkdir()
    (tmp_path / "site").mkdir()
    (tmp_path / "link").symlink_to("site")
    for _ in range(2):
        monkeypatch.chdir(tmp_path / "site")
        build(Path(), results=tmp_path / "results")
        build(tmp_path / "link", results=tmp_path / "results")
        assert (tmp_path / "site" / "index.html").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "results", "site"]


def test_the_command_refuses_a_folder_of_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes").write_text("mine")
    assert main(["report", "--output", str(tmp_path)]) == WRONG_USE
    assert "name a new folder with --output" in capsys.readouterr().err


def test_the_report_knows_learners_of_an_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "algorithm").mkdir()
    text = "name: mine\nlabel: Mine\nlearner: mine.Mine\nnetworked: false\n"
    path = tmp_path / "algorithm" / "mine.yaml"
    path.write_text(text + "fixed: {}\ngrid: {}\n", encoding="utf-8")
    monkeypatch.setenv(user_folder.VARIABLE, str(tmp_path))
    assert Sources(RESULTS).algorithms["mine"].label == "Mine"
