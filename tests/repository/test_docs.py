"""The documentation is true: its commands exist, its links lead somewhere, its code runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml
from pages import PAGES, lines_of

import omtl
from omtl.commands import _main
from omtl.measures.metrics import METRICS
from omtl.util.paths import ROOT

IDS = [path.relative_to(ROOT).as_posix() for path in PAGES]

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def assert_known(line: str) -> None:
    """Assert that a command line is one that the project understands."""
    words = shlex.split(line, comments=True)
    while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
        del words[0]
    program, *rest = words
    if program == "make":
        targets = [word for word in rest if "=" not in word]
        assert all(re.search(rf"^{target}:", MAKEFILE, re.MULTILINE) for target in targets), line
        variables = {word.partition("=")[0] for word in rest if "=" in word}
        assert all(f"$({name})" in MAKEFILE for name in variables)
    elif Path(program).name == "omtl":
        if "|" in rest:
            rest = rest[: rest.index("|")]
        if ">" in rest:
            rest = rest[: rest.index(">")]
        if rest[0] == "--completion":  # which prints and ends
            assert rest[1] in _main.SHELLS
            return
        _main.parse_options(rest)
    else:
        assert Path(program).name in ("pip", "python", "git", "cd", "dask", "sbatch"), line


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_commands_are_known(page: Path) -> None:
    """Every `make` target and variable, every command and option of `omtl`."""
    for line in lines_of(page):
        assert_known(line)


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_lead_somewhere(page: Path) -> None:
    """Every relative link is a file, or a page of results, which `make docs` makes and checks."""
    made = ("results/",) if page.parent == ROOT / "docs" else ()
    for link in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert "://" in link or link.startswith(made) or (page.parent / link).exists(), link


def test_every_page_is_in_the_contents() -> None:
    """The contents of the documentation name each page once."""

    def names(part: object) -> list[str]:
        if isinstance(part, str):
            return [part]
        parts = part.values() if isinstance(part, dict) else part
        return [name for each in parts for name in names(each)]  # type: ignore[union-attr]

    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:")[2]
    pages = [name for name in names(yaml.safe_load(text)) if not name.startswith("results/")]
    there = [path.relative_to(ROOT / "docs").as_posix() for path in PAGES[1:]]
    assert sorted(pages) == sorted(there)


def test_every_metric_is_explained() -> None:
    """In the page of the command line."""
    text = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"^\| `(\w+)(?:@k)?` \|", text, re.MULTILINE))
    # A table's other word for seconds is `time`.
    assert {name.partition("@")[0] for name in METRICS} - {"time"} <= explained


def test_every_learner_has_a_place_in_a_chapter_on_methods() -> None:
    """And each class that a chapter names can be imported from the package."""
    pages = (ROOT / "docs" / "methods").glob("*.md")
    named = set(re.findall(r"`([A-Z]\w+)`", " ".join(page.read_text("utf-8") for page in pages)))
    learners = {name for name in dir(omtl) if name[0].isupper()}
    assert named == learners
