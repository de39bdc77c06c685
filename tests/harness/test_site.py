"""The site of results: whole from the files alone, light, safe, with links that resolve."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pandas as pd
import pytest

from omtl.experiment.descriptions import descriptions
from omtl.site import build, text
from omtl.site.catalogue import badges
from omtl.site.sources import Sources
from omtl.tables.cells import cell_names_in, planned
from omtl.tables.request import Request
from omtl.tables.verdict import JUDGED
from omtl.util.errors import UserError
from omtl.util.paths import RESULTS, ROOT

HEAVIEST = 1_000_000
"""The most bytes of a page, and of a file that its script asks for."""

VOID = {"area", "base", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}


class Page(HTMLParser):
    """A page taken apart: what it refers to, its ids, and where its tags do not match."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.faults: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(html)
        self.close()
        self.faults += [f"<{tag}> is not closed" for tag in self.open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [found["id"] or ""] if "id" in found else []
        if tag == "a":
            self.links += [found.get("href") or ""]
        else:
            self.fetched += [found[name] or "" for name in ("src", "href", "data") if name in found]
        if tag == "img" and "alt" not in found:
            self.faults.append(f"{self.getpos()}: a picture without a text")

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"{self.getpos()}: </{tag}> closes another")


@pytest.fixture(scope="module")
def taken_apart(site: Path) -> dict[str, Page]:
    """Return the pages of the site, by name."""
    return {p.name: Page(p.read_text(encoding="utf-8")) for p in sorted(site.glob("*.html"))}


def data_of(site: Path, name: str) -> Any:
    """Return the JSON that a page's script asks for by a name."""
    written = (site / "data" / f"{name}.js").read_text(encoding="utf-8")
    return json.loads(written.removeprefix(f'data("{name}",').removesuffix(");\n"))


def test_has_a_page_for_everything(taken_apart: dict[str, Page]) -> None:
    learners = {one.learner for one in Sources(RESULTS).algorithms.values()}
    wanted = {f"learner-{path.rpartition('.')[2].lower()}" for path in learners}
    wanted |= {f"table-{name}" for name in descriptions("table")}
    drawn = [n for n in descriptions("figure") if (RESULTS / f"figures/{n}.csv").exists()]
    wanted |= {f"figure-{name}" for name in drawn}
    wanted |= {f"paper-{name}" for name in Sources(RESULTS).readmes}
    wanted |= {"index", "atlas", "gallery", "claims", "proofread", "theory", "readings", "board"}
    wanted |= {"learners", "data", "evidence"}
    assert {f"{page}.html" for page in wanted} <= set(taken_apart)


def test_pages_are_whole_and_light_and_refer_to_what_there_is(
    site: Path, taken_apart: dict[str, Page]
) -> None:
    """Nothing is fetched from elsewhere; no page depends on where it was made."""
    for path in [*site.glob("*.html"), *site.glob("data/*")]:
        assert path.stat().st_size < HEAVIEST, path.name
        written = path.read_text(encoding="utf-8")
        assert str(ROOT) not in written, path.name
        assert ".venv/bin/python" not in written, path.name
    checked = 0
    for name, page in taken_apart.items():
        assert not page.faults, name
        assert len(set(page.ids)) == len(page.ids), name
        for address in page.fetched:
            assert address == "data:," or (site / address).is_file(), (name, address)
        for address in page.links:
            if re.match(r"https?://", address):
                continue
            path, _, anchor = address.partition("#")
            target = path.partition("?")[0] or name
            assert (site / target).is_file(), (name, address)
            assert not anchor or anchor in taken_apart[target].ids, (name, address)
            checked += 1
    assert checked > 1000
    for asset in site.glob("*.??s"):
        content = asset.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"url\(|@import|https?:|fetch\(|XMLHttpRequest", content), asset.name


@pytest.mark.parametrize("name", descriptions("table"))
def test_every_cell_is_on_its_page_and_opens_what_it_was_made_of(site: Path, name: str) -> None:
    html = (site / f"table-{name}.html").read_text(encoding="utf-8")
    anchors = re.findall(r'id="([\w-]+)" aria-haspopup="dialog"', html)
    views = {view: data_of(site, view) for view in re.findall(r'data-cells="([\w.-]+)"', html)}
    assert sorted(anchors) == sorted(anchor for cells in views.values() for anchor in cells)
    rows = pd.read_csv(RESULTS / "reproduced" / f"{name}.csv", dtype=str, keep_default_na=False)
    for row in rows.to_dict("records"):
        cells = views[f"table-{name}.{text.slug(row['reading'])}"].values()
        task = "" if row["task"] == "all" else f", task {row['task'].removeprefix('task')}"
        place = f"{row['algorithm']} on {row['dataset']}{task}", row["metric"]
        [cell] = [one for one in cells if (one["place"], one["metric"]) == place]
        assert cell["verdict"] == row["verdict"]
        if row["ours_mean"]:
            assert cell["ours_mean"] == pytest.approx(float(row["ours_mean"]), abs=6e-5, rel=1e-5)


def test_a_cell_has_its_repeats_parameters_curve_and_command(site: Path) -> None:
    cells = data_of(site, "table-dom-table1.as-published").values()
    [cell] = [one for one in cells if one["place"] == "PA on Sentiment"]
    assert len(cell["repeats"]) == 50
    assert sum(cell["repeats"]) / 50 == pytest.approx(cell["ours_mean"], abs=1e-3)
    assert [name for name, value, grid in cell["parameters"] if value in grid] == ["C"]
    assert cell["curve"]["y"][-1] == pytest.approx(cell["ours_mean"], abs=0.1)
    known = set(cell_names_in(planned("osmtl-table1", Request("as_written"))))
    others = data_of(site, "table-osmtl-table1.as-written").values()
    asked = {re.findall(r"--cell '([^']*)'", one["command"])[0] for one in others}
    assert asked <= known
    assert not [one for one in others if "--one-draw" in one["command"]]
    assert len(asked) >= 63


def test_the_atlas_has_all_compared_cells_and_leads_to_them(
    site: Path, taken_apart: dict[str, Page]
) -> None:
    rows = data_of(site, "atlas")
    compared = 0
    for path in (RESULTS / "reproduced").glob("*.csv"):
        if path.stem in descriptions("table"):
            table = pd.read_csv(path)
            compared += (table["verdict"].isin(JUDGED) & table["low"].notna()).sum()
    assert len([row for row in rows if "_by_" not in row["view"]]) == compared > 900
    for row in rows:
        assert row["anchor"] in taken_apart[f"table-{row['table']}.html"].ids
        assert row["low"] <= row["delta"] <= row["high"]


def test_a_paper_of_ones_own_need_not_name_a_program() -> None:
    assert next(badges("smith2020", [], {}))[-1] == "none was found"


def bytes_in(folder: Path) -> dict[Path, bytes]:
    """Return the contents of a folder's files."""
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_the_folder_is_replaced_only_if_it_is_a_site(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be the current one or a link; the same results give the same bytes."""
    results, mine = tmp_path / "results", tmp_path / "site"
    for path in (*RESULTS.glob("reproduced/dom-table1*"), *RESULTS.glob("figures/dom-fig2*")):
        (results / path.parent.name).mkdir(parents=True, exist_ok=True)
        shutil.copy(path, results / path.parent.name)  # all pages take seconds
    pages = build.pages(Sources(results))
    monkeypatch.setattr(build, "pages", lambda *_: pages)
    mine.mkdir()
    (tmp_path / "link").symlink_to("site")
    monkeypatch.chdir(mine)
    build.build(Path(), results=results)
    made = bytes_in(mine)
    opened = [path for path in made if path.match("data/table-dom-table1.*.js")]
    assert opened
    assert [made[path] for path in opened] == [(site / path).read_bytes() for path in opened]
    (mine / "old.html").write_text("of an earlier site")
    build.build(tmp_path / "link", results=results)
    assert bytes_in(mine) == made
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "results", "site"]
    monkeypatch.chdir(tmp_path)
    mine.rename(tmp_path / ".site-earlier")  # as a kill between two moves leaves it
    with monkeypatch.context() as patch, pytest.raises(UserError, match="No space"):
        patch.setattr(shutil, "copyfile", Mock(side_effect=OSError(28, "No space left")))
        build.build(mine, results=results)
    assert bytes_in(mine) == made
    assert not list(tmp_path.glob(".site-*"))
