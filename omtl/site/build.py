"""Writing the site: every page, its style and script, and the files that pages offer."""

from __future__ import annotations

import json
import os
import shutil
from importlib.metadata import version
from multiprocessing.pool import ThreadPool
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from omtl.compute.own_process import call_apart
from omtl.site import audits
from omtl.site.board import board_content
from omtl.site.catalogue import data_sets, learners, papers, totals
from omtl.site.figures import figure_page
from omtl.site.sources import Sources, comment_of, shown_value
from omtl.site.tables import MEANING, table_page
from omtl.site.text import code, slug
from omtl.tables.cells import number_text
from omtl.tables.layout import LEGEND_OF_SURE, MARKS, mark_of
from omtl.tables.published_results import SHOWN_OF_TABLES, SHOWN_READINGS
from omtl.util.errors import UserError
from omtl.util.host import commit
from omtl.util.paths import results_to_read

MARKER = ".made-by-omtl"
"""Marks a folder as a site: only a folder with this file may be replaced."""

REPOSITORY = "OMTL_REPOSITORY"
"""The environment variable with the repository's address, to which pages then link."""

ASSETS = ("style.css", "script.js", "charts.js", "board.js")

SEARCHED = 10_000
"""How many characters of a page the search knows."""


Page = tuple[str, str, str, dict[str, Any]]
"""A page's name and title, its template, and what that shows."""


def pages(sources: Sources, documentation: str = "") -> tuple[dict[str, str], dict[str, Path]]:
    """Return the texts of the site's files by name, and the files that are copied beside them.

    Parameters
    ----------
    sources : Sources
    documentation : str
        Address of the documentation's front page, where the site is a part of it.
    """
    with pd.option_context("mode.string_storage", "python"):  # pages take text value by value
        shared, shown, data = site_contents(sources)
    copied = {name: Path(__file__).with_name(name) for name in ASSETS}

    def offer(path: Path) -> str:
        """Add a file to the site; return its address."""
        address = f"files/{path.parent.name}/{path.name}"
        copied[address] = path
        return address

    repository, at = os.environ.get(REPOSITORY, "").rstrip("/"), commit()
    names = {name for name, *_ in shown}

    def linked(name: str) -> Markup | str:
        """Return the name of a table or figure, as a link if there are results of it."""
        found = names & {f"table-{name}", f"figure-{name}"}
        return Markup('<a href="{}.html">{}</a>').format(found.pop(), name) if found else name

    made = Environment(
        loader=PackageLoader("omtl.site"),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"slug": slug, "code": code, "value": shown_value, "digits": number_text}
    made.filters |= {"words": lambda name: name.replace("_", " "), "linked": linked}
    made.globals |= shared | {
        "meaning": MEANING,
        "all_marks": MARKS | audits.OUTCOME_MARKS,
        "mark_of": mark_of,
        "legend_of_sure": LEGEND_OF_SURE,
        "outcomes": audits.OUTCOMES,
        "readings_of_all": SHOWN_READINGS,
        "readings_of_tables": SHOWN_OF_TABLES,
        "comment_of": comment_of,
        "version": version("omtl"),
        "commit": at,
        "source": f"{repository}/blob/{at.rstrip('+')}" if repository else "",
        "documentation": documentation,
        "menu": {name: title for name, title, file, _ in shown if file == f"{name}.html"},
        "offer": offer,
    }
    parts = made.get_template("parts.html").module
    made.globals |= {name: part for name, part in vars(parts).items() if callable(part)}
    base = made.get_template("base.html")
    done, search = {}, []
    for name, title, template, shows in shown:
        html = base.render(page=name, title=title, template=template, **shows)
        done[f"{name}.html"] = html
        main = html.partition("<main")[2].partition(">")[2].rpartition("</main>")[0]
        text = Markup(main.replace("<", " <")).striptags()
        search.append({"to": f"{name}.html", "title": title, "text": text[:SEARCHED]})
    data["search"] = search + data["search"]
    done |= {f"data/{name}.js": as_data(name, each) for name, each in data.items()}
    return done | {MARKER: "A static site made by `omtl report`; it may be replaced.\n"}, copied


def as_data(name: str, content: Any) -> str:
    """Return JSON in a call of the script's function `data`.

    As a script it can be read where a page is opened from a folder; a fetched file cannot.
    """
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return f"data({json.dumps(name)},{text});\n"


def site_contents(sources: Sources) -> tuple[dict[str, Any], list[Page], dict[str, Any]]:
    """Return what all pages share, the pages, and what the script reads, by name."""
    with ThreadPool(1) as beside:  # the board takes as long as a third of the tables
        board = beside.apply_async(call_apart, (board_content, sources))
        tables = [table_page(name, sources) for name in sources.tables if sources.runs[name]]
        figures = [
            figure_page(name, sources) for name in sources.figures if len(sources.drawn[name])
        ]
        ledger, bounds, ranked = audits.claims_content(sources), audits.bounds(sources), board.get()
    questions = audits.readings(sources)
    views = [(table["id"], view) for table in tables for view in table["views"].values()]
    atlas = [row for _, view in views for row in view["atlas"]]
    each = {
        "paper": papers(sources, tables, figures, ledger),
        "learner": learners(sources, tables),
        "data": data_sets(sources),
        "table": tables,
        "figure": figures,
    }
    of_menu: dict[str, tuple[str, dict[str, Any]]] = {
        "index": ("Scoreboard", {"totals": totals(tables)}),
        "atlas": ("Atlas", {"compared": atlas}),
        "gallery": ("Figures", {}),
        "claims": ("Claims", {}),
        "proofread": ("Proofreading", audits.proofread(sources)),
        "theory": ("Theory", {}),
        "readings": ("Readings", {"readings": questions}),
        "board": ("Board", {"board": ranked}),
        "learners": ("Learners", {"learners": each["learner"]}),
        "data": ("Data sets", {"data_sets": each["data"]}),
        "evidence": ("Evidence", audits.evidence(sources)),
    }
    named = [(f"claims.html#{one['paper']}-{one['claim']}", one["sentence"]) for one in ledger]
    named += [
        (f"readings.html#{one['paper']}-{slug(name)}", asked.asks)
        for one in questions
        for name, asked in one["questions"].items()
    ]
    data = {f"table-{name}.{slug(view['name'])}": view["opened"] for name, view in views}
    data |= {f"figure-{one['id']}": one["drawn"] for one in figures}
    data |= {"atlas": atlas, "search": [{"to": to, "title": title} for to, title in named]}
    if ranked:
        data["board"] = ranked["battles"]
    else:
        del of_menu["board"]
    pages: list[Page] = [(name, title, f"{name}.html", of) for name, (title, of) in of_menu.items()]
    pages += [
        (f"{kind}-{one['id']}", one["name"], f"one_{kind}.html", {kind: one})
        for kind, members in each.items()
        for one in members
    ]
    shared = {
        "ledger": ledger,
        "bounds": bounds,
        "papers": each["paper"],
        "paper_names": {paper["id"]: paper["name"] for paper in each["paper"]},
        "board_lines": {row["algorithm"]: row["lines"] for row in ranked["rows"]} if ranked else {},
    }
    return shared, pages, data


def build(output: Path, results: Path | None = None, documentation: str = "") -> Path:
    """Write the site; return its front page.

    Parameters
    ----------
    output : Path
        The site's folder: a new one, an empty one, or that of an earlier site, which is replaced.
    results : Path, optional
        The folder of results; those written here by default, or else the package's.
    documentation : str
        Address of the documentation's front page, where the site is a part of it.

    Raises
    ------
    UserError
        If the folder has other things in it, or cannot be written.
    """
    if output.exists() and not output.is_dir():
        raise UserError(f"{output} is a file; name a folder for the site with --to")
    if output.is_dir() and any(output.iterdir()) and not (output / MARKER).exists():
        raise UserError(f"{output} contains other files than a site; name a new folder with --to")
    done, copied = pages(Sources(results or results_to_read()), documentation)
    place = output.resolve()  # beside which, not in which, a site is written before it takes it
    fresh, earlier = (place.with_name(f".{place.name}-{which}") for which in ("fresh", "earlier"))
    try:
        _tidy(place, fresh, earlier)  # after a build that was killed
        try:
            _write(fresh, done, copied)
            if place.exists():
                place.replace(earlier)
            fresh.replace(place)
        finally:
            _tidy(place, fresh, earlier)
    except OSError as fault:
        raise UserError(f"{output}: the site cannot be written ({fault.strerror})") from fault
    return output / "index.html"


def _tidy(place: Path, fresh: Path, earlier: Path) -> None:
    """Put the earlier site back unless a fresh one has taken its place; remove what is left."""
    if earlier.exists() and not place.exists():
        earlier.replace(place)
    for folder in (fresh, earlier):
        shutil.rmtree(folder, ignore_errors=True)


def _write(folder: Path, done: dict[str, str], copied: dict[str, Path]) -> None:
    for name in (*copied, *done):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
    for name, path in copied.items():
        shutil.copyfile(path, folder / name)
    for name, text in done.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
