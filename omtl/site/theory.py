"""The theory audit: each bound of the papers' theorems, and the measured values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from omtl.site.gather import Sources


@dataclass(frozen=True)
class Bound:
    """A bound, and the measured value."""

    paper: str
    figure: str
    dataset: str
    part: str
    reading: str
    theorem: str
    measure: str
    at: str
    measured: str
    bound: str
    tightness: float
    tightest: float
    trivial: str
    points_above: int
    points: str
    n_repeats: str
    warning: str
    notes: list[str]

    @property
    def says(self) -> str:
        """The outcome of the comparison, in one word."""
        if self.points_above:
            return "exceeded"
        if self.trivial and float(self.bound) >= float(self.trivial):
            return "empty"
        return "respected"

    @property
    def width(self) -> float:
        """Length of the tightness bar, from 0 to 1."""
        return max(0.0, min(1.0, self.tightness))


def bounds(sources: Sources) -> list[Bound]:
    """Return the audit."""
    found = []
    for row in sources.theory:
        values: dict[str, Any] = {
            name: row[name] for name in Bound.__dataclass_fields__ if name in row
        }
        values |= {
            "paper": sources.figures[row["figure"]].paper,
            "tightness": float(row["tightness"]),
            "tightest": float(row["tightest"]),
            "points_above": int(row["points_above"]),
            "notes": _notes(row, sources),
        }
        found.append(Bound(**values))
    return found


def _notes(row: dict[str, str], sources: Sources) -> list[str]:
    """Return the notes of a bound, as stored with its figure."""
    panels = sources.figures[row["figure"]].panels
    labels = {panel.label for panel in panels if panel.title == row["dataset"]}
    return [
        drawn["label"]
        for drawn in sources.drawn[row["figure"]]
        if drawn["kind"] == "note"
        and drawn["panel"] in labels
        and (drawn["part"], drawn["reading"]) == (row["part"], row["reading"])
    ]
