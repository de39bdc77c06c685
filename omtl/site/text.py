"""Text of the project's own files as HTML: Markdown, docstrings, names of addresses."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

SECTION = re.compile(r"^## +(.+)$", re.MULTILINE)

ITEM = re.compile(r"^\d+\. +((?:.|\n(?!\d+\. |\n))+)", re.MULTILINE)
"""Matches an item of a numbered list, with all its lines."""

LINK = re.compile(r'<a href="(?!https?://)[^"]*">(.*?)</a>', re.DOTALL)
"""Matches a link into the checkout, which has no page on the site."""

SCRIPTS = r"([_^])(\{[^{}]*\}|\([^()]*\)|\[[^][]*\]|[^\W_]{1,3}(?![^\W_])|\*)"
"""Matches an index or a power, in brackets or short."""

SCRIPT = re.compile(
    r"(?P<base>(?<!\w)(?:argmin|argmax|Pr|[^\W\d_])[\u0300-\u036f]?|\d|[)‖\]⁻¹Σ√])"
    rf"(?P<scripts>(?:{SCRIPTS.replace('([_^])', '[_^]').replace('(', '(?:', 1)})+)"
)
"""Matches a symbol with its indices and powers, but not names such as n_tasks."""


def slug(text: str) -> str:
    """Return text as part of a URL."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def plain(text: str) -> str:
    """Return text in one line."""
    return " ".join(text.split())


def short(value: float) -> float | None:
    """Return a number to six digits; None if it is not finite."""
    return float(f"{value:.6g}") if math.isfinite(value) else None


def markdown_html(text: str) -> Markup:
    """Return Markdown as HTML; links into the checkout become plain text."""
    html = LINK.sub(r"\1", _markdown.render(text))
    html = html.replace("<table>", '<div class="scroll" tabindex="0"><table>')
    html = html.replace("</table>", "</table></div>").replace("<pre>", '<pre tabindex="0">')
    return Markup(html)


def inline(text: str) -> Markup:
    """Return a line of Markdown as HTML, without an enclosing paragraph."""
    return Markup(LINK.sub(r"\1", _markdown.renderInline(plain(text))))


def sections(text: str) -> dict[str, str]:
    """Return the sections of a Markdown text by heading (##); "" is the text before them."""
    parts = SECTION.split(text)
    return {"": parts[0], **dict(zip(parts[1::2], map(str.strip, parts[2::2]), strict=True))}


def items(text: str) -> list[str]:
    """Return the items of a Markdown text's numbered lists, each on one line."""
    return [plain(found.group(1)) for found in ITEM.finditer(text)]


def _as_symbols(_: object, tokens: Sequence[Token], number: int, *__: object) -> str:
    return str(symbols(tokens[number].content))


# An image would be fetched from wherever a note says.
_markdown = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
_markdown.add_render_rule("text", _as_symbols)


def prose(text: str) -> Markup:
    """Return a docstring's paragraphs as HTML; indented ones are formulas, line by line."""
    return Markup("\n").join(map(_paragraph, re.split(r"\n\s*\n", text.strip())))


def _paragraph(text: str) -> Markup:
    if not text.startswith("    "):
        return Markup("<p>{}</p>").format(code(plain(text)))
    lines = Markup("<br>\n").join(code(plain(line)) for line in text.splitlines())
    return Markup('<p class="formula">{}</p>').format(lines)


def symbols(text: str) -> Markup:
    """Return text with subscripts and superscripts: w_i^j, 2^(m+1), Σ_{j ≤ n}."""
    return Markup(SCRIPT.sub(_set, str(escape(text))))


def _set(found: re.Match[str]) -> str:
    parts = re.findall(SCRIPTS, found["scripts"])
    tags = {"_": "sub", "^": "sup"}
    return found["base"] + "".join(
        f"<{tags[mark]}>{SCRIPT.sub(_set, inner.strip('{}'))}</{tags[mark]}>"
        for mark, inner in parts
    )


def code(text: str) -> Markup:
    """Return text with backquoted parts as code, and symbols typeset."""
    parts = re.split(r"``(.+?)``|`(.+?)`", text)
    done = Markup()
    for number, part in enumerate(parts):
        if part is not None:
            done += symbols(part) if number % 3 == 0 else Markup("<code>{}</code>").format(part)
    return done


def docstring_entries(section: str) -> list[tuple[Markup, Markup]]:
    """Return the entries of a numpydoc section: names with their type, and description."""
    named, found = Markup('<code>{}</code> <span class="muted">{}</span>'), []
    for part in re.split(r"\n(?=\S)", section.strip("\n")):
        head, _, body = part.partition("\n")
        name, _, kind = head.partition(" : ")
        found.append((named.format(name.strip(), kind.strip()), code(plain(body))))
    return found
