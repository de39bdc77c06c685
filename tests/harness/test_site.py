"""The static site: whole from the files of results alone, and usable in a real browser."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from omtl.commands._main import main
from omtl.compute.store import Store
from omtl.evidence.board import ranking
from omtl.evidence.board import read as read_cells
from omtl.experiment.config import named_reading, options
from omtl.figures.numbers import drawn_rows
from omtl.reproduction.provenance import names_of
from omtl.reproduction.submission import joined, submissions
from omtl.site import charts, text
from omtl.site.build import build
from omtl.site.gather import Sources
from omtl.site.tables import table_page
from omtl.tables.plan import descriptions, plan_table
from omtl.tables.play import play
from omtl.tables.request import Request
from omtl.util.errors import UserError
from omtl.util.paths import RESULTS, ROOT
from omtl.util.status import DONE, WRONG_USE

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
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a site that is made as in a fresh clone: without a store."""
    output = tmp_path_factory.mktemp("site") / "public"
    assert main(["report", "--without-store", "--output", str(output)]) == DONE
    return output


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
    learners = {Sources(RESULTS).algorithms[name]["learner"] for name in options("algorithm")}
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
    assert (cell.cell.mean, cell.cell.std) == (row["published_mean"], row["published_std"])
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
    assert (cell.verdict, cell.cell.mean) == ("ours", "")
    assert "--selection prefix" in cell.command
    assert "--selection prefix" in page.views[1].command


def test_commands_of_cells_name_cells_that_there_are() -> None:
    known = set(names_of(plan_table("osmtl-table1", named_reading("osmtl", "as_written"))))
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
    from omtl.tables.scoring import frame, score_table

    name, reading = "aklo-table1", named_reading("aklo", "as_written")
    table = plan_table(name, reading, plays=1)
    cells = [c for c in table.cells if (c.dataset, c.algorithm) == ("Syn1", "ITOL")]
    alone = type(table)(table.description, table.reading, cells)
    monkeypatch.setattr("omtl.site.repeats.plan_table", lambda *_: alone)
    store = Store(tmp_path / "store")
    play(alone, Request(repeats=2, parallel={"backend": "threading", "jobs": 1}, store=store))
    folder = tmp_path / "results" / "reproduced"
    folder.mkdir(parents=True)
    rows = frame(alone, score_table(alone, Request(repeats=2, store=store)), "oracle")
    rows.to_csv(folder / f"{name}.csv", index=False)
    (folder / f"{name}.as_written.meta.json").write_text(
        json.dumps({"seed": 0, "repeats": 2, "selection": "oracle", "reading": reading})
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
    from omtl.tables.scoring import raw_repeats, score_table

    sources, store = filled
    alone = repeats.plan_table("aklo-table1", {})
    rows = raw_repeats(alone, score_table(alone, Request(repeats=2, store=store)), 0)
    rows.to_csv(sources.results / "reproduced" / "aklo-table1.as_written.repeats.csv", index=False)
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


def test_the_command_refuses_a_folder_of_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes").write_text("mine")
    assert main(["report", "--output", str(tmp_path)]) == WRONG_USE
    assert "name a new folder with --output" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("w_i^j + η", "w<sub>i</sub><sup>j</sup> + η"),
        ("(B⁻¹)_{j,k}", "(B⁻¹)<sub>j,k</sub>"),
        ("O(n_tasks · nonzeros)", "O(n_tasks · nonzeros)"),
        ("own_clip, alpha_last", "own_clip, alpha_last"),
        (
            "2^(m+1) < Σ_{j ≤ 2^m} α_j",
            "2<sup>(m+1)</sup> &lt; Σ<sub>j ≤ 2<sup>m</sup></sub> α<sub>j</sub>",
        ),
    ],
)
def test_indices_and_powers_are_set(written: str, shown: str) -> None:
    assert text.symbols(written) == shown


def test_text_of_files_is_escaped() -> None:
    assert "<script>" not in text.markdown("<script>alert(1)</script> **x**")
    assert text.code("a < b, `x<y`") == "a &lt; b, <code>x&lt;y</code>"
    assert text.inline("[here](../README.md)") == "here"


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0, 1, 2, 4, 8, 16, 32, 64, 128], "log1p"),
        ([1e-3, 1e-2, 0.1, 1, 10, 100], "log"),
        (list(range(31, 3090, 31)), "linear"),
        ([20, 40, 80, 160], "linear"),
        ([0, 0.2, 0.4, 0.6, 0.8, 1], "linear"),
    ],
)
def test_axes_have_the_scale_of_their_numbers(values: list[float], kind: str) -> None:
    assert charts.scale_of(np.array(values, dtype=float)) == kind


def test_dots_of_repeats_do_not_cover_each_other() -> None:
    places = [10.0, 10.5, 11.0, 30.0]
    heights = charts._stacked(places)
    assert heights[3] == 0
    assert len(set(heights[:3])) == 3


def test_the_scale_puts_its_ends_at_its_ends() -> None:
    scale = charts.Scale(1.0, 1000.0, 10.0, 40.0, "log")
    assert scale(1.0) == pytest.approx(10.0)
    assert scale(10.0) == pytest.approx(20.0)
    assert scale(1000.0) == pytest.approx(40.0)
    assert scale.ticks(6) == [1.0, 10.0, 100.0, 1000.0]


def test_published_points_are_drawn_where_they_belong() -> None:
    """At their own x; the end of a curve, which has none, at the right edge."""
    x, y = np.arange(1.0, 5.0), np.array([5.0, 6.0, 7.0, 8.0])
    ours = charts.Curve("PA", x, y)
    end = charts.Curve("PA", np.array([np.nan]), y[-1:], kind="published")
    both = charts.lines([ours, charts.Curve("PA", x, y, kind="published")], "", "", "")
    circles = re.findall(r'circle cx="([\d.]+)" cy="([\d.]+)"', both)
    assert re.findall(r'"M([\d.]+) ([\d.]+)l9', both) == circles
    assert len(circles) == 4
    assert (
        re.findall(r'"M([\d.]+) ([\d.]+)l9', charts.lines([ours, end], "", "", "")) == circles[3:]
    )


Browser = Callable[..., webdriver.Chrome]

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

PHONE = (390, 844)
DESKTOP = (1280, 900)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    """Give a headless Chromium with a profile of its own."""
    binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (binary and driver):
        pytest.skip("chromium and chromedriver are needed")
    asked = webdriver.ChromeOptions()
    asked.binary_location = binary
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        asked.add_argument(flag)
    asked.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options=asked, service=Service(driver))
    try:
        yield browser
    finally:
        browser.quit()


@pytest.fixture
def visit(chromium: webdriver.Chrome, site: Path) -> Browser:
    """Return a function that opens a page, on a screen, in light or dark."""

    def visit(
        address: str, size: tuple[int, int] = DESKTOP, dark: bool = False
    ) -> webdriver.Chrome:
        chromium.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {
                "width": size[0],
                "height": size[1],
                "deviceScaleFactor": 1,
                "mobile": size == PHONE,
            },
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        chromium.get("about:blank")
        chromium.get(f"{site.as_uri()}/{address}")
        return chromium

    return visit


def focused(browser: webdriver.Chrome) -> str:
    """Return what the element that has the keyboard says of itself."""
    return browser.switch_to.active_element.get_attribute("aria-label") or ""


@pytest.mark.browser
def test_a_cell_opens_and_closes_by_keyboard(visit: Browser) -> None:
    browser = visit("table-dom-table1.html")
    cell = browser.find_element(By.CSS_SELECTOR, "#as-published .cell")
    browser.execute_script("arguments[0].focus()", cell)
    assert focused(browser).startswith("PM on Synthetic, error: ours")
    browser.switch_to.active_element.send_keys(Keys.ARROW_RIGHT)
    assert focused(browser).startswith("PM on MHC-I")
    browser.switch_to.active_element.send_keys(Keys.ARROW_DOWN)
    assert focused(browser).startswith("PA on MHC-I")
    browser.switch_to.active_element.send_keys(Keys.ENTER)
    sheet = browser.find_element(By.CSS_SELECTOR, ".sheet:popover-open")
    assert "PA on MHC-I" in sheet.text
    assert "--cell 'PA on MHC-I'" in sheet.text
    assert sheet.find_element(By.CSS_SELECTOR, "svg.numbers").is_displayed()
    assert focused(browser) == "Close"
    browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    assert not browser.find_elements(By.CSS_SELECTOR, ".sheet:popover-open")
    assert focused(browser).startswith("PA on MHC-I")


@pytest.mark.browser
def test_an_address_opens_a_cell_of_another_reading(visit: Browser) -> None:
    browser = visit("table-dom-table1.html#as-written-0")
    assert browser.find_element(By.CSS_SELECTOR, ".sheet:popover-open").is_displayed()
    assert browser.find_element(By.ID, "as-written").is_displayed()
    assert not browser.find_element(By.ID, "as-published").is_displayed()


@pytest.mark.browser
def test_readings_are_switched_and_verdicts_picked_out(visit: Browser) -> None:
    browser = visit("table-dom-table1.html")
    assert not browser.find_element(By.ID, "as-written").is_displayed()
    browser.find_element(By.CSS_SELECTOR, ".tabs [data-view=as-written]").send_keys(Keys.ENTER)
    view = browser.find_element(By.ID, "as-written")
    assert view.is_displayed()
    assert not browser.find_element(By.ID, "as-published").is_displayed()
    view.find_element(By.CSS_SELECTOR, "button[data-verdict=off]").send_keys(Keys.SPACE)
    bright = view.find_elements(By.CSS_SELECTOR, ".cell:not(.dim)")
    assert len(bright) == len(view.find_elements(By.CSS_SELECTOR, ".cell.off")) > 0


@pytest.mark.browser
def test_claims_are_filtered_and_sorted(visit: Browser) -> None:
    ledger = pd.read_csv(RESULTS / "claims.csv", dtype=str, keep_default_na=False)
    browser = visit("claims.html?paper=dom")

    def shown() -> int:
        rows = browser.find_elements(By.CSS_SELECTOR, "#ledger > tbody > tr")
        return sum(row.is_displayed() for row in rows)

    dom = ledger[ledger["paper"] == "dom"]
    assert shown() == len(dom) > 0
    form = browser.find_element(By.CSS_SELECTOR, "form.filters")
    form.find_element(By.NAME, "outcome").send_keys("holds")
    assert shown() == (dom["as_published"] == "holds").sum() > 0
    form.find_element(By.NAME, "reading").send_keys("as written")
    assert shown() == (dom["as_written"] == "holds").sum() > 0
    assert form.find_element(By.CSS_SELECTOR, ".count").text == f"{shown()} of {len(ledger)}"
    form.find_element(By.NAME, "text").send_keys("no claim says this")
    assert shown() == 0
    assert browser.find_element(By.CSS_SELECTOR, ".nothing").is_displayed()

    browser = visit("claims.html")
    assert not browser.find_elements(By.CSS_SELECTOR, "#ledger .comparisons button")
    heads = browser.find_elements(By.CSS_SELECTOR, "#ledger > thead th")
    effect = next(h for h in heads if h.text.startswith("least effect"))
    effect.find_element(By.TAG_NAME, "button").send_keys(Keys.ENTER)
    cells = browser.find_elements(By.CSS_SELECTOR, "#ledger > tbody > tr > td:last-child")
    values = [float(cell.text) for cell in cells if cell.text]
    assert values == sorted(values)
    assert len(values) > 10
    assert effect.get_attribute("aria-sort") == "ascending"


@pytest.mark.browser
def test_the_board_is_ranked_again_for_a_subset(visit: Browser) -> None:
    """In the browser as by the command; a cell opens the command that makes it."""
    folder = RESULTS / "board"
    kinds = pd.read_csv(folder / "data.csv").set_index("dataset")["kind"]
    cells, _ = joined(read_cells(folder / "cells.csv"), submissions(folder / "submissions"))
    wanted = ranking(cells[cells["dataset"].map(kinds) == "changing"], "error")
    browser = visit("board.html?kind=changing")
    rows = browser.find_elements(By.CSS_SELECTOR, "#ranking tbody tr")
    shown = {
        row.get_attribute("data-learner"): float(row.find_element(By.CSS_SELECTOR, ".elo").text)
        for row in rows
    }
    expected = dict(zip(wanted["algorithm"], wanted["elo"], strict=True))
    assert shown == pytest.approx(expected, abs=1.0)
    assert next(iter(shown)) == wanted["algorithm"][0]
    heads = browser.find_elements(By.CSS_SELECTOR, "#cells thead th[data-data]")
    assert sum(head.is_displayed() for head in heads) == (kinds == "changing").sum()
    rows[0].find_element(By.CSS_SELECTOR, "input").send_keys(Keys.SPACE)
    out = browser.find_element(By.CSS_SELECTOR, "#ranking tbody tr:last-child")
    assert out.get_attribute("data-learner") == wanted["algorithm"][0]
    number = browser.find_element(By.CSS_SELECTOR, "#cells [data-data=drifting_tasks] .number")
    browser.execute_script("arguments[0].click()", number)
    sheet = browser.find_element(By.ID, "board-cell")
    assert "dataset=drifting_tasks protocol=given_order" in sheet.text
    assert not browser.get_log("browser")


@pytest.mark.browser
def test_a_cell_of_the_board_opens_its_learning_curve(visit: Browser) -> None:
    """Where one is kept; it is told in words too."""
    browser = visit("board.html")
    number = browser.find_element(By.CSS_SELECTOR, "#cells [data-data=drifting_tasks] .number")
    sheet = browser.find_element(By.ID, "board-cell")
    for curve, shown in (("50 40 30", True), ("", False)):
        browser.execute_script(
            "const set = board.data.find((one) => one.name === 'drifting_tasks');"
            "set.seen = '10 20 40'; set.curves.fill(arguments[1]); arguments[0].click();",
            *(number, curve),
        )
        chart = sheet.find_element(By.CSS_SELECTOR, ".chart")
        assert chart.is_displayed() == shown
        told = "Error rate so far: from 50 % after 10 examples to 30 % after 40."
        assert chart.get_attribute("aria-label") == told
        sheet.find_element(By.CSS_SELECTOR, ".close").send_keys(Keys.ENTER)


@pytest.mark.browser
def test_colours_follow_the_system_and_the_button(visit: Browser) -> None:
    def ground(browser: webdriver.Chrome) -> int:
        colour = browser.find_element(By.TAG_NAME, "body").value_of_css_property("background-color")
        return sum(map(int, re.findall(r"\d+", colour)[:3]))

    assert ground(visit("index.html", dark=True)) < 150
    browser = visit("index.html")
    assert ground(browser) > 600
    button = browser.find_element(By.CSS_SELECTOR, ".theme")
    button.send_keys(Keys.ENTER)
    assert ground(browser) < 150
    assert button.get_attribute("aria-label") == "Colours: dark"
    assert ground(visit("claims.html")) < 150
    for told in ("light", "as set in the system"):
        button = browser.find_element(By.CSS_SELECTOR, ".theme")
        button.send_keys(Keys.ENTER)
        assert button.get_attribute("aria-label") == f"Colours: {told}"
        assert ground(browser) > 600


CONTRAST = """
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const parts = (colour) => {
  canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
};
const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
  .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
  .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const ground = (element) => {
  for (let one = element; one; one = one.parentElement) {
    const colour = parts(getComputedStyle(one).backgroundColor);
    if (colour[3] > 250) return colour;
  }
  return [255, 255, 255, 255];
};
const low = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.textContent.trim() || !element.checkVisibility()) continue;
  if (element.closest("svg, script, .skip, .top")) continue;
  const [a, b] = [light(parts(getComputedStyle(element).color)), light(ground(element))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) low.push(`${element.className} ${walker.currentNode.textContent} ${ratio}`);
}
return low;
"""


@pytest.mark.browser
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(
    "page",
    ["index", "table-osmtl-table1", "claims", "theory", "readings", "learner-dom1", "data-spam"],
)
def test_texts_have_enough_contrast(visit: Browser, page: str, dark: bool) -> None:
    assert visit(f"{page}.html", dark=dark).execute_script(CONTRAST) == []


@pytest.mark.slow
@pytest.mark.browser
def test_no_page_is_wider_than_a_phone_or_raises_errors(visit: Browser, site: Path) -> None:
    for path in sorted(site.glob("*.html")):
        browser = visit(path.name, PHONE)
        width = browser.execute_script("return document.documentElement.scrollWidth")
        assert width <= PHONE[0], path.name
        faults = [e for e in browser.get_log("browser") if e["level"] == "SEVERE"]
        assert not faults, (path.name, faults)


@pytest.mark.browser
def test_the_first_column_stays_when_a_table_is_scrolled(visit: Browser) -> None:
    browser = visit("table-osmtl-table1.html", PHONE)
    head = browser.find_element(By.CSS_SELECTOR, "#as-published .result tbody th")
    before = head.rect["x"]
    browser.execute_script("arguments[0].closest('.scroll').scrollLeft = 300", head)
    assert head.rect["x"] == pytest.approx(before, abs=1)


@pytest.mark.browser
def test_charts_are_read_by_keyboard_and_lines_hidden(visit: Browser) -> None:
    browser = visit("figure-dom-fig2.html")
    panel = browser.find_element(By.CSS_SELECTOR, ".panel")
    chart = panel.find_element(By.CSS_SELECTOR, "svg.lines")
    browser.execute_script("arguments[0].focus()", chart)
    browser.switch_to.active_element.send_keys(Keys.END)
    drawn = pd.DataFrame(drawn_rows(RESULTS / "figures" / "dom-fig2.csv"))
    last = drawn[(drawn["panel"] == "a") & (drawn["label"] == "PM")].iloc[-2]
    told = panel.find_element(By.CSS_SELECTOR, ".readout").text
    assert told.startswith("examples 8,000")
    assert f"PM {float(last['y']):.4g}" in told
    panel.find_element(By.CSS_SELECTOR, ".key button").send_keys(Keys.ENTER)
    assert "PM " not in panel.find_element(By.CSS_SELECTOR, ".readout").text
