"""Lines of code by folder beside their budgets: `make size` fails where a folder exceeds its own.

A line counts if it holds a token other than a comment or a docstring; the string below an
assignment is the docstring of what is assigned. The budgets are in ``scripts/size_budgets.csv``;
raise one only in a commit that says why.

    python -m scripts.size
"""

from __future__ import annotations

import ast
import csv
import io
import subprocess
import sys
import tokenize
from pathlib import Path

ROOT = Path(__file__).parent.parent
BUDGETS = ROOT / "scripts" / "size_budgets.csv"
LAYOUT = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT}
TEXT = {".html", ".css", ".js"}


def code_lines(source: str) -> int:
    """Return the number of lines of a Python file that hold code."""
    counted: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in LAYOUT and token.string:
            counted.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Expr(ast.Constant(str())):
                counted.difference_update(range(node.lineno, (node.end_lineno or 0) + 1))
    return len(counted)


def size_of(folder: str, suffixes: set[str]) -> int:
    """Return the lines of a folder's tracked files: code of Python, others' lines with text."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", folder]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    total = 0
    for path in (ROOT / name for name in names.splitlines()):
        if path.suffix in suffixes and path.is_file():
            text = path.read_text(encoding="utf-8")
            lines = code_lines(text) if path.suffix == ".py" else len(text.split("\n"))
            total += lines
    return total


def main() -> int:
    """Print the table; return 1 if a folder exceeds its budget."""
    over, total, allowed = [], 0, 0
    print(f"{'folders':<58} {'lines':>7} {'budget':>7} {'target':>7}")
    for row in csv.DictReader(BUDGETS.open(encoding="utf-8")):
        suffixes = TEXT if row["kind"] == "web" else {".py"}
        lines = sum(size_of(folder, suffixes) for folder in row["folders"].split())
        budget = int(row["budget"])
        print(f"{row['folders']:<58} {lines:>7,} {budget:>7,} {int(row['target']):>7,}")
        if lines > budget:
            over.append(f"{row['folders']}: {lines:,} lines, {lines - budget:,} over its budget")
        if row["kind"] == "code":
            total, allowed = total + lines, allowed + budget
    print(f"{'all code outside tests':<58} {total:>7,} {allowed:>7,} {18_000:>7,}")
    for text in over:
        print(f"{text}; make it smaller, or raise the budget in a commit that says why")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
