"""Writing the site: every page, its style and script, and the files that pages offer."""

from __future__ import annotations

import json
import os
import re
import shutil
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from omtl.site.audits import (
    OUTCOME_MARKS,
    OUTCOMES,
    bounds,
    claims_content,
    evidence,
    proofread,
    readings,
)
from omtl.site.board import board_content
from omtl.site.catalogue import data_sets, learners
from omtl.site.figures import figure_page
from omtl.site.papers import papers, totals
from omtl.site.sources import Sources, comment_of, yaml_value
from omtl.site.tables import ALL_VERDICTS, MEANING, table_page
from omtl.site.text import code, slug
from omtl.tables.layout import LEGEND_OF_SURE, MARKS, SURE, mark_of
from omtl.tables.published_results import SHOWN_READINGS
from omtl.tables.verdict import JUDGED
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

Content = tuple[str, str, dict[str, Any]]
"""A page: its name, its template, and what it shows."""


def environment() -> Environment:
    """Return the templates' environment, with what all templates use."""
    made = Environment(
        loader=PackageLoader("omtl.site"),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"slug": slug, "code": code, "yaml": yaml_value}
    made.filters["words"] = lambda name: name.replace("_", " ")
    made.globals |= {
        "verdicts": ALL_VERDICTS,
        "judged": JUDGED,
        "marks": MARKS,
        "mark_of": mark_of,
        "legend_of_sure": LEGEND_OF_SURE,
        "meaning": MEANING,
        "outcomes": OUTCOMES,
        "outcome_marks": OUTCOME_MARKS,
        "readings_of_all": SHOWN_READINGS,
        "comment_of": comment_of,
    }
    return made


def pages(sources: Sources, documentation: str = "") -> tuple[dict[str, str], dict[str, Path]]:
    """Return the texts of the site's files by name, and the files that are copied beside them.

    Parameters
    ----------
    sources : Sources
    documentation : str
        Address of the documentation's front page, where the site is a part of it.
    """
    copied = {name: Path(__file__).with_name(name) for name in ASSETS}

    def offer(path: Path) -> str:
        """Add a file to the site; return its address."""
        address = f"files/{path.parent.name}/{path.name}"
        copied[address] = path
        return address

    repository, at = os.environ.get(REPOSITORY, ""), commit()

    def source_of(path: str) -> str:
        """Return the address of a file in the repository; empty without one."""
        blob = f"{repository.rstrip('/')}/blob/{at.rstrip('+')}"
        return f"{blob}/{path}" if repository else ""

    def linked(name: str, kind: str = "table") -> Markup | str:
        """Return the name of a table or figure, as a link if there are results of it."""
        page = f"{kind}-{name}.html"
        return Markup('<a href="{}">{}</a>').format(page, name) if page in names else name

    shared, shown, data = site_contents(sources)
    names = {name for name, *_ in shown}
    made = environment()
    made.filters["linked"] = linked
    made.globals |= shared | {
        "version": version("omtl"),
        "commit": at,
        "documentation": documentation,
        "source_of": source_of,
        "offer": offer,
    }
    done = {
        name: made.get_template(template).render(page=name, **values)
        for name, template, values in shown
    }
    data["search"] = [search_entry(name, html) for name, html in done.items()] + data.pop("entries")
    return done | {
        f"data/{name}.js": as_data(name, content) for name, content in data.items()
    }, copied


def as_data(name: str, content: Any) -> str:
    """Return JSON in a call of the script's function `data`.

    As a script it can be read where a page is opened from a folder; a fetched file cannot.
    """
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return f"data({json.dumps(name)},{text});\n"


def search_entry(name: str, html: str) -> dict[str, str]:
    """Return a page's entry in the search: its address, title and words."""

    def words(tag: str) -> str:
        found = re.search(rf"<{tag}\b[^>]*>(.*)</{tag}>", html, re.DOTALL)
        return Markup(found[1].replace("<", " <")).striptags() if found else ""

    title = words("title").removesuffix(" · omtl")
    return {"to": name, "title": title, "text": words("main")[:SEARCHED]}


def site_contents(sources: Sources) -> tuple[dict[str, Any], list[Content], dict[str, Any]]:
    """Return what all pages share, what each shows, and what the script reads, by name."""
    tables = [table_page(name, sources) for name in sources.tables if sources.runs[name]]
    figures = [figure_page(name, sources) for name in sources.figures]
    figures = [figure for figure in figures if figure["views"]]
    ledger, audit, ranked = claims_content(sources), bounds(sources), board_content(sources)
    all_papers = papers(sources, tables, figures, ledger)
    all_learners, all_data = learners(sources, tables), data_sets(sources)
    all_questions = readings(sources)
    atlas = [row for table in tables for row in table["atlas"]]
    names = {paper["id"]: paper["name"] for paper in all_papers}

    def decided(name: str) -> list[dict[str, Any]]:
        return [claim for claim in ledger if claim["decided_by"] == name]

    shown: list[Content] = [
        ("index.html", "index.html", {"totals": totals(tables)}),
        ("atlas.html", "atlas.html", {"compared": atlas}),
        ("gallery.html", "gallery.html", {}),
        ("claims.html", "claims.html", {"ledger": ledger}),
        ("proofread.html", "proofread.html", {"proofread": proofread(sources)}),
        ("theory.html", "theory.html", {"bounds": audit}),
        ("readings.html", "readings.html", {"readings": all_questions}),
        ("learners.html", "learners.html", {"learners": all_learners}),
        ("data.html", "data_sets.html", {"data_sets": all_data}),
        ("evidence.html", "evidence.html", {"evidence": evidence(sources)}),
        *((f"paper-{one['id']}.html", "paper.html", {"paper": one}) for one in all_papers),
        *((one["id"], "learner.html", {"learner": one}) for one in all_learners),
        *((one["id"], "data_set.html", {"data": one}) for one in all_data),
    ]
    data: dict[str, Any] = {"atlas": {"papers": names, "rows": atlas}}
    if ranked:
        shown.append(("board.html", "board.html", {"board": ranked}))
        data["board"] = ranked["battles"]
    for table in tables:
        files = sorted((sources.results / "reproduced").glob(f"{table['id']}.*"))
        forms = [path for path in files if path.suffix != ".json"]
        content = {"table": table, "claims": decided(table["id"]), "forms": forms}
        shown.append((f"table-{table['id']}.html", "table.html", content))
        for view, cells in table["details"].items():
            about = {"meaning": MEANING, "marks": MARKS, "sure": SURE, "cells": cells}
            data[f"table-{table['id']}.{slug(view)}"] = about
    for figure in figures:
        name = figure["id"]
        n_bounds = sum(bound["figure"] == name for bound in audit)
        content = {"figure": figure, "claims": decided(name), "n_bounds": n_bounds}
        shown.append((f"figure-{name}.html", "figure.html", content))
        data[f"figure-{name}"] = {slug(view["name"]): view["charts"] for view in figure["views"]}
    data["entries"] = [
        {"to": f"claims.html#{one['paper']}-{one['claim']}", "title": one["sentence"]}
        for one in ledger
    ] + [
        {"to": f"readings.html#{one['paper']}-{slug(asked['name'])}", "title": asked["asked"].asks}
        for one in all_questions
        for asked in one["questions"]
    ]
    shared = {
        "papers": all_papers,
        "paper_names": names,
        "board_lines": {row["algorithm"]: row["lines"] for row in ranked["rows"]} if ranked else {},
        "has_board": bool(ranked),
    }
    return shared, shown, data


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
        raise UserError(f"{output} is a file; name a folder for the site with --output")
    if output.is_dir() and any(output.iterdir()) and not (output / MARKER).exists():
        raise UserError(
            f"{output} contains other files than a site; name a new folder with --output"
        )
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
    marker = {MARKER: "A static site made by `omtl report`; it may be replaced.\n"}
    for name in (*copied, *done, *marker):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
    for name, path in copied.items():
        shutil.copyfile(path, folder / name)
    for name, text in (done | marker).items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
