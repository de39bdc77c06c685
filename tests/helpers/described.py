"""Descriptions of tables and figures with what a test says of them, as if they were read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from miniature import a_rule

from omtl.experiment.descriptions import (
    Claim,
    FigureDescription,
    Line,
    Panel,
    TableDescription,
)
from omtl.experiment.playing import compute
from omtl.experiment.schema import read_yaml, typed
from omtl.experiment.unit import Experiment
from omtl.figures.panels.axes import PlayedLine

GOLDEN = Path(__file__).parents[1] / "golden"

BOTH: dict[str, Any] = {"id": "tiny", "paper": "dom", "title": "A tiny one"}
BOTH |= {"protocol": "rounds", "selection": "oracle", "repeats": 2}


def a_table(**says: Any) -> TableDescription:
    """Return the description of a table."""
    own = {"caption": "", "spread": "std", "metric": "error", "digits": 2}
    return typed(TableDescription, BOTH | own | {"columns": [], "rows": []} | says, "test")


def golden_figure(name: str) -> FigureDescription:
    """Return the description of a figure of ``golden/figures.yaml``."""
    return typed(FigureDescription, BOTH | read_yaml(GOLDEN / "figures.yaml")[name], "test")


def a_panel(**says: Any) -> Panel:
    """Return the description of a panel."""
    own = {"kind": "learning_curves", "label": "a", "title": "", "dataset": "", "lines": []}
    return typed(Panel, own | says, "test")


def a_line(**says: Any) -> Line:
    """Return the description of a line."""
    return typed(Line, {"algorithm": "pa"} | says, "test")


def played_line(experiment: Experiment, n_repeats: int = 1, **says: Any) -> PlayedLine:
    """Return a line of a panel with its units' results, of which the best point is chosen."""
    units = experiment.repeats(0, n_repeats)
    results = [compute(unit) for unit in units]
    return PlayedLine(a_line(**says), experiment, units=units, results=results, rule=a_rule())


def a_claim(*parts: dict[str, Any], **says: Any) -> Claim:
    """Return a claim of parts."""
    own = {"id": "c", "place": "here", "says": "so", "all": list(parts)}
    return typed(Claim, own | says, "test")
