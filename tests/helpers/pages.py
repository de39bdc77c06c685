"""The pages of the documentation, and the commands on them."""

from __future__ import annotations

import re
from pathlib import Path

from omtl.util.paths import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def lines_of(page: Path) -> list[str]:
    """Return the command lines of a page: those of its blocks of commands, without comments.

    Those of ``console`` blocks are also run (`test_the_commands_of_a_page_run`).
    """
    blocks = re.findall(
        r"```(?:sh|console)\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL
    )
    lines = "\n".join(blocks).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]
