"""The site in a real browser: keyboard, addresses, filters, colours, contrast, small screens."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from omtl.evidence.board import read_cells
from omtl.evidence.ratings import ranking
from omtl.reproduction.submission import joined, submissions
from omtl.tables.verdict import JUDGED
from omtl.util.paths import RESULTS

Browser = Callable[..., webdriver.Chrome]


FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]

MAIN_PAGES = ["index", "table-osmtl-table1", "atlas", "claims", "theory", "readings"]
MAIN_PAGES += ["learner-dom1", "data-spam"]

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
            {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size == PHONE},
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


def wait_for(browser: webdriver.Chrome, selector: str) -> None:
    """Wait until the page has drawn something."""
    WebDriverWait(browser, 10).until(
        lambda one: one.find_elements(By.CSS_SELECTOR, selector), f"{selector} is not there"
    )


def opened(browser: webdriver.Chrome) -> WebElement:
    """Return the sheet that is open."""
    wait_for(browser, ".sheet[open]")
    return browser.find_element(By.CSS_SELECTOR, ".sheet[open]")


@pytest.mark.browser
def test_a_cell_opens_and_closes_by_keyboard_and_the_address_follows(visit: Browser) -> None:
    browser = visit("table-dom-table1.html")
    cell = browser.find_element(By.CSS_SELECTOR, "#as-published .cell")
    browser.execute_script("arguments[0].focus()", cell)
    for key in (Keys.ARROW_RIGHT, Keys.ARROW_DOWN, Keys.ENTER):
        browser.switch_to.active_element.send_keys(key)
    sheet = opened(browser)
    assert "PA on MHC-I" in sheet.text
    assert "--cell 'PA on MHC-I'" in sheet.text
    assert len(sheet.find_elements(By.CSS_SELECTOR, "svg.numbers .repeats circle")) == 50
    assert focused(browser) == "Close"
    address = browser.current_url
    browser.switch_to.active_element.send_keys(Keys.ESCAPE)
    WebDriverWait(browser, 10).until_not(
        lambda one: one.find_elements(By.CSS_SELECTOR, ".sheet[open]"), "the sheet is not closed"
    )
    assert browser.current_url.endswith("#as-published")
    assert "PA on MHC-I" in browser.switch_to.active_element.get_attribute("textContent")
    visit(address.rpartition("/")[2])
    assert "PA on MHC-I" in opened(browser).text


@pytest.mark.browser
def test_a_chosen_verdict_dims_the_others_and_chosen_colours_are_kept(visit: Browser) -> None:
    browser = visit("table-dom-table1.html")
    browser.find_element(By.CSS_SELECTOR, "#as-published [value=near]").send_keys(Keys.SPACE)
    clear = browser.find_elements(By.CSS_SELECTOR, "#as-published .cell:not(.dim)")
    assert {one.get_attribute("class") for one in clear} == {"cell near"}
    browser.find_element(By.CSS_SELECTOR, ".theme").send_keys("☾")
    assert visit("index.html").execute_script(DARKNESS) == "dark"
    browser.execute_script("localStorage.clear()")


DARKNESS = "return getComputedStyle(document.documentElement).colorScheme"


@pytest.mark.browser
def test_the_atlas_is_filtered_and_leads_to_a_cell(visit: Browser) -> None:
    browser = visit("atlas.html?paper=dom&view=as_written")
    wait_for(browser, "#atlas li:not([hidden])")
    kept = pd.read_csv(RESULTS / "reproduced" / "dom-table1.csv")
    kept = kept[(kept["reading"] == "as_written") & kept["verdict"].isin(JUDGED)]
    form = browser.find_element(By.CSS_SELECTOR, "form.filters")
    assert len(browser.find_elements(By.CSS_SELECTOR, "#atlas li:not([hidden])")) == len(kept)
    form.find_element(By.NAME, "verdict").send_keys("off")
    items = browser.find_elements(By.CSS_SELECTOR, "#atlas li:not([hidden])")
    assert len(items) == (kept["verdict"] == "off").sum() > 0
    assert "verdict=off" in browser.current_url
    words = items[0].find_element(By.TAG_NAME, "a").text.splitlines()[0]
    browser.execute_script("arguments[0].click()", items[0].find_element(By.TAG_NAME, "a"))
    assert words in opened(browser).text


@pytest.mark.browser
def test_the_board_is_ranked_again_for_a_subset(visit: Browser) -> None:
    """In the browser as by the command; a cell opens the command that makes it."""
    folder = RESULTS / "board"
    kinds = pd.read_csv(folder / "data.csv").set_index("dataset")["kind"]
    cells, _ = joined(read_cells(folder / "cells.csv"), submissions(folder / "submissions"))
    wanted = ranking(cells[cells["dataset"].map(kinds) == "changing"], "error")
    browser = visit("board.html?kind=changing")
    wait_for(browser, "#front svg")
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
    assert "dataset=drifting_tasks protocol=given_order" in opened(browser).text
    assert not browser.get_log("browser")


CONTRAST = (Path(__file__).parents[1] / "helpers" / "contrast.js").read_text(encoding="utf-8")


@pytest.mark.browser
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("page", MAIN_PAGES)
def test_texts_have_enough_contrast(visit: Browser, page: str, dark: bool) -> None:
    assert visit(f"{page}.html", dark=dark).execute_script(CONTRAST) == []


@pytest.mark.browser
@pytest.mark.parametrize("most", [2, pytest.param(999, marks=pytest.mark.deep)])
def test_no_page_is_wider_than_a_phone_or_raises_errors(
    most: int, visit: Browser, site: Path
) -> None:
    """Of each kind of page the largest."""
    kinds = defaultdict(list)
    for path in sorted(site.glob("*.html"), key=lambda path: -path.stat().st_size):
        kinds[path.stem.partition("-")[0]].append(path)
    for path in (path for pages in kinds.values() for path in pages[:most]):
        browser = visit(path.name, PHONE)
        width = browser.execute_script("return document.documentElement.scrollWidth")
        assert width <= PHONE[0], path.name
        faults = [e for e in browser.get_log("browser") if e["level"] == "SEVERE"]
        assert not faults, (path.name, faults)
