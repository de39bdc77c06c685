"""Escaping labels and notes for Markdown and LaTeX."""

from __future__ import annotations

import re

MARKUP = re.compile(
    r"[\\`*<>|\[\]~&]"
    r"|(?<![^\W_])_|_(?![^\W_])"
    r"|^(?:#|[-+=](?=\s|[-=]|$)|\d+(?=[.)](?:\s|$)))"
)
"""Characters that Markdown may read as markup, except underscores within words."""

LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "%": r"\%",
    "_": r"\_",
    "&": r"\&",
    "#": r"\#",
    "$": r"\$",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "±": r"$\pm$",
    "—": "---",
}


def one_line(text: str) -> str:
    """Return text on one line, without control characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def for_markdown(text: str) -> str:
    """Return Markdown that shows exactly this text, on one line."""

    def escaped(found: re.Match[str]) -> str:
        return f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}"

    return MARKUP.sub(escaped, one_line(text))


def for_latex(text: str) -> str:
    """Return LaTeX that shows exactly this text, on one line."""
    line = one_line(text)
    read_by_line_break = "{}" if line.startswith(("[", "*")) else ""
    return read_by_line_break + "".join(LATEX.get(character, character) for character in line)
