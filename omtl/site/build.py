"""Writing the site: every page, its style and script, and the files that pages offer."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from omtl.compute.store import Store
from omtl.experiment.host import commit
from omtl.site.board import board
from omtl.site.claims import MARKS as OUTCOME_MARKS
from omtl.site.claims import OUTCOMES, claims
from omtl.site.data_sets import data_sets
from omtl.site.evidence import evidence
from omtl.site.figures import figure_page
from omtl.site.gather import Sources
from omtl.site.learners import learners
from omtl.site.papers import papers, totals
from omtl.site.proofread import proofread
from omtl.site.readings import readings
from omtl.site.tables import ALL_VERDICTS, MEANING, table_page
from omtl.site.text import code, slug
from omtl.site.theory import bounds
from omtl.tables.committed import READINGS
from omtl.tables.render import MARKS
from omtl.tables.verdict import JUDGED
from omtl.util.errors import UserError
from omtl.util.paths import results_to_read

MARKER = ".made-by-omtl"
"""Marks a folder as a site: only a folder with this file may be replaced."""

REPOSITORY = "OMTL_REPOSITORY"
"""The environment variable with the repository's address, to which pages then link."""

ASSETS = ("style.css", "script.js", "board.js")

NAVIGATION = (
    ("index.html", "Scoreboard"),
    ("gallery.html", "Figures"),
    ("claims.html", "Claims"),
    ("proofread.html", "Proofreading"),
    ("theory.html", "Theory"),
    ("readings.html", "Readings"),
    ("board.html", "Board"),
    ("learners.html", "Learners"),
    ("data.html", "Data sets"),
    ("evidence.html", "Evidence"),
)


def environment() -> Environment:
    """Return the templates' environment, with what all templates use."""
    made = Environment(
        loader=PackageLoader("omtl.site"),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {"slug": slug, "code": code, "words": lambda name: name.replace("_", " ")}
    made.globals |= {
        "navigation": NAVIGATION,
        "verdicts": ALL_VERDICTS,
        "judged": JUDGED,
        "marks": MARKS,
        "meaning": MEANING,
        "outcomes": OUTCOMES,
        "outcome_marks": OUTCOME_MARKS,
        "readings_of_all": READINGS,
    }
    return made


def pages(
    sources: Sources, store: Store | None, documentation: str = ""
) -> tuple[dict[str, str], dict[str, Path]]:
    """Return the pages of the site by name, and the files that accompany them.

    Parameters
    ----------
    sources : Sources
    store : Store or None
        Where single repeats are looked for; None to do without.
    documentation : str
        Address of the documentation's front page, where the site is a part of it.
    """
    tables = [table_page(name, sources, store) for name in sources.tables]
    tables = [table for table in tables if table.views]
    figures = [figure_page(name, sources) for name in sources.figures]
    figures = [figure for figure in figures if figure.views]
    ledger = claims(sources)
    all_papers = papers(sources, tables, figures, ledger)
    names = {paper.id: paper.name for paper in all_papers}
    audit = bounds(sources)
    of_learners, of_data = learners(sources, tables), data_sets(sources)
    ranked = board(sources)
    made = environment()
    at = commit()
    made.globals |= {"version": version("omtl"), "commit": at}
    made.globals |= {"papers": all_papers, "paper_names": names}
    made.globals |= {
        "documentation": documentation,
        "source_of": linked(os.environ.get(REPOSITORY, ""), at),
        "board_lines": ranked.lines if ranked else {},
    }
    if ranked is None:
        made.globals["navigation"] = [one for one in NAVIGATION if one[0] != "board.html"]
    done: dict[str, str] = {}
    copied: dict[str, Path] = {}

    def page(name: str, template: str, **shown: Any) -> None:
        done[name] = made.get_template(template).render(page=name, **shown)

    def offer(path: Path) -> str:
        """Add a file to the site; return its address."""
        address = f"files/{path.parent.name}/{path.name}"
        copied[address] = path
        return address

    made.globals["offer"] = offer
    page("index.html", "index.html", totals=totals(tables))
    for paper in all_papers:
        page(f"paper-{paper.id}.html", "paper.html", paper=paper)
    for table in tables:
        of_table = [claim for claim in ledger if claim.row["decided_by"] == table.id]
        kept = sources.results / "reproduced"
        forms = [p for p in sorted(kept.glob(f"{table.id}.*")) if p.suffix != ".json"]
        page(f"table-{table.id}.html", "table.html", table=table, claims=of_table, forms=forms)
    for figure in figures:
        of_figure = [claim for claim in ledger if claim.row["decided_by"] == figure.id]
        of_audit = [bound for bound in audit if bound.row["figure"] == figure.id]
        page(
            f"figure-{figure.id}.html",
            "figure.html",
            figure=figure,
            claims=of_figure,
            bounds=of_audit,
        )
    page("gallery.html", "gallery.html")
    page("claims.html", "claims.html", ledger=ledger)
    page("proofread.html", "proofread.html", proofread=proofread(sources))
    page("theory.html", "theory.html", bounds=audit)
    page("readings.html", "readings.html", readings=readings(sources))
    if ranked is not None:
        page("board.html", "board.html", board=ranked)
    page("learners.html", "learners.html", learners=of_learners)
    for learner in of_learners:
        page(learner.id, "learner.html", learner=learner)
    page("data.html", "data_sets.html", data_sets=of_data)
    for data in of_data:
        page(data.id, "data_set.html", data=data)
    page("evidence.html", "evidence.html", evidence=evidence(sources))
    return done, copied


def linked(repository: str, at: str) -> Callable[[str], str]:
    """Return a function that maps a file to its URL in the repository; "" without one."""
    return lambda path: (
        f"{repository.rstrip('/')}/blob/{at.rstrip('+')}/{path}" if repository else ""
    )


def build(
    output: Path,
    results: Path | None = None,
    store: Store | None = None,
    documentation: str = "",
) -> Path:
    """Write the site; return its front page.

    Parameters
    ----------
    output : Path
        The site's folder: a new one, an empty one, or that of an earlier site, which is replaced.
    results : Path, optional
        The folder of results; those written here by default, or else the package's.
    store : Store, optional
        Where single repeats are looked for.
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
    done, copied = pages(Sources(results or results_to_read()), store, documentation)
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=".writing-", dir=output.parent))
        try:
            _write(fresh, done, copied)
            if output.exists():
                shutil.rmtree(output)
            fresh.chmod(0o755)
            fresh.replace(output)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    except OSError as fault:
        raise UserError(f"{output}: the site cannot be written ({fault.strerror})") from fault
    return output / "index.html"


def _write(folder: Path, done: Mapping[str, str], copied: Mapping[str, Path]) -> None:
    style_and_script = {
        name: files("omtl.site").joinpath(name).read_text(encoding="utf-8") for name in ASSETS
    }
    told = {MARKER: "A static site made by `omtl report`; it may be replaced.\n"}
    for name, text in {**done, **style_and_script, **told}.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    for address, path in copied.items():
        (folder / address).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, folder / address)
