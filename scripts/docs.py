"""The documentation and the results as one site, in ``.omtl/docs`` (``make docs``).

zensical builds the pages of ``docs/`` and nothing else; the pages of results are those of
``omtl report``, written beside them into ``results/``. The navigation of each leads to the other,
and one search finds what is in both.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

from latex2mathml.converter import convert

from omtl.evidence.ledger import overview
from omtl.site.build import build
from omtl.util.files import write_whole
from omtl.util.paths import ROOT

SITE = ROOT / ".omtl" / "docs"

SNIPPETS = ROOT / ".omtl" / "pages"
"""Parts of pages that are generated before they are built."""


def front_board() -> str:
    """Return the tables at a glance, with links to the pages of results."""
    return re.sub(r"\(results/reproduced/([\w-]+)\.md\)", r"(results/table-\1.html)", overview())


LINK = re.compile(r'<a\b[^>]*\shref="?([^">\s]+)')
"""Matches a link of a page, with where it leads."""


def add_to_search(results: Path, search: Path) -> None:
    """Let the search of the documentation find what that of the results finds."""
    index = json.loads(search.read_text(encoding="utf-8"))
    written = (results / "data" / "search.js").read_text(encoding="utf-8")
    _, _, entries = written.strip().removesuffix(");").partition(",")
    index["items"] += [
        {
            "location": f"{results.name}/{entry['to']}",
            "level": 1,
            "title": entry["title"],
            "text": " ".join(entry.get("text", "").split()),
            "path": ["Results"],
            "tags": [],
        }
        for entry in json.loads(entries)
    ]
    search.write_text(json.dumps(index, ensure_ascii=False), encoding="utf-8")


FORMULA = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)
"""Matches a formula in LaTeX as the pages have it."""


def typeset(site: Path) -> None:
    """Turn the formulas of the pages from LaTeX into MathML, which browsers show by themselves."""

    def as_mathml(found: re.Match[str]) -> str:
        display = "block" if found[2] == "[" else "inline"
        return str(convert(unescape(found[3]).strip(), display=display))

    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        if FORMULA.search(text):
            page.write_text(FORMULA.sub(as_mathml, text), encoding="utf-8")


def broken_links(site: Path) -> list[str]:
    """Return the links from a page into the site that lead to no file."""
    found = []
    for page in sorted(site.rglob("*.html")):
        for link in map(unescape, LINK.findall(page.read_text(encoding="utf-8"))):
            path = re.split(r"[?#]", link)[0]
            if page.name == "404.html" or not path or ":" in link or path.startswith("/"):
                continue
            target = page.parent / path
            if not (target.is_file() or (target / "index.html").is_file()):
                found.append(f"{page.relative_to(site)}: {link}")
    return found


def main() -> int:
    """Build the site; return 1 if a page is refused or a link leads nowhere."""
    write_whole(SNIPPETS / "scoreboard.md", front_board())
    zensical = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    if subprocess.run(zensical, cwd=ROOT, check=False).returncode:
        return 1
    typeset(SITE)
    build(SITE / "results", documentation="../index.html")
    add_to_search(SITE / "results", SITE / "search.json")
    broken = broken_links(SITE)
    print("\n".join([f"written: {SITE / 'index.html'}", *(f"broken: {each}" for each in broken)]))
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
