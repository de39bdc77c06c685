"""The bibliography: the BibTeX entry of each paper, and the same as a line of text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from omtl.util.paths import PACKAGE

BIBLIOGRAPHY = PACKAGE / "reproduction" / "references.bib"

FIELD = re.compile(r"^ +(\w+) = \{(.*)\},?$", re.MULTILINE)

ACCENT = re.compile(r"\\(['`])(\w)")
"""Matches a letter with an accent, as BibTeX writes it."""

ACCENTS = {"'": "\N{COMBINING ACUTE ACCENT}", "`": "\N{COMBINING GRAVE ACCENT}"}


def bibtex_entries(text: str) -> dict[str, str]:
    """Return the entries of a bibliography by key."""
    found = re.findall(r"^(@\w+\{([^,]+),\n.*?^\})", text, flags=re.DOTALL | re.MULTILINE)
    return {key: entry for entry, key in found}


def references(keys: Iterable[str]) -> list[str]:
    """Return papers as text: authors, title, venue, year and link.

    Raises
    ------
    KeyError
        If the bibliography does not have a key.
    """
    entries = bibtex_entries(BIBLIOGRAPHY.read_text(encoding="utf-8"))
    return [_as_text(entries[key]) for key in keys]


def _as_text(entry: str) -> str:
    accented = ACCENT.sub(
        lambda found: unicodedata.normalize("NFC", found[2] + ACCENTS[found[1]]), entry
    )
    parts = {name: re.sub("[{}]", "", value) for name, value in FIELD.findall(accented)}
    names = [" ".join(reversed(name.split(", "))) for name in parts["author"].split(" and ")]
    venue = next(parts[kind] for kind in ("journal", "booktitle", "howpublished") if kind in parts)
    where = " ".join(filter(None, (venue, parts.get("volume"))))
    link = f"https://doi.org/{parts['doi']}" if "doi" in parts else parts.get("url", "")
    return f'{", ".join(names)}. "{parts["title"]}". {where}, {parts["year"]}. {link}'.strip()
