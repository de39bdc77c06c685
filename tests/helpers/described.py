"""Descriptions of tables and figures with what a test says of them, as if they were read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from omtl.experiment.descriptions import Claim, FigureDescription, Line, Panel, TableDescription
from omtl.experiment.schema import read_yaml, typed

FIGURES = read_yaml(Path(__file__).parents[1] / "golden" / "figures.yaml")
"""Small figures, by name."""

BOTH: dict[str, Any] = {"id": "tiny", "paper": "dom", "title": "A tiny one"}
BOTH |= {"protocol": "rounds", "selection": "oracle", "repeats": 2}


def a_table(**says: Any) -> TableDescription:
    """Return the description of a table."""
    own = {"caption": "", "spread": "std", "metric": "error", "digits": 2}
    return typed(TableDescription, BOTH | own | {"columns": [], "rows": []} | says, "test")


def golden_figure(name: str) -> FigureDescription:
    """Return the description of a small figure."""
    return typed(FigureDescription, BOTH | FIGURES[name], "test")


def a_panel(**says: Any) -> Panel:
    """Return the description of a panel."""
    own = {"kind": "learning_curves", "label": "a", "title": "", "dataset": "", "lines": []}
    return typed(Panel, own | says, "test")


def a_line(**says: Any) -> Line:
    """Return the description of a line."""
    return typed(Line, {"algorithm": "pa"} | says, "test")


def a_claim(*parts: dict[str, Any], **says: Any) -> Claim:
    """Return a claim of parts."""
    own = {"id": "c", "place": "here", "says": "so", "all": list(parts)}
    return typed(Claim, own | says, "test")
