"""The theory audit: each bound of the papers' theorems, and the measured values."""

from __future__ import annotations

from dataclasses import dataclass

from omtl.site.gather import Sources
from omtl.util.result_files import rows_in


@dataclass(frozen=True)
class Bound:
    """A bound, and the measured value: its row of the audit, and the notes of its figure."""

    row: dict[str, str]
    paper: str
    notes: list[str]

    @property
    def tightness(self) -> float:
        """The measured value divided by the bound."""
        return float(self.row["tightness"])

    @property
    def says(self) -> str:
        """The outcome of the comparison, in one word."""
        if int(self.row["points_above"]):
            return "exceeded"
        trivial = self.row["trivial"]
        return "empty" if trivial and float(self.row["bound"]) >= float(trivial) else "respected"

    @property
    def width(self) -> float:
        """Length of the tightness bar, from 0 to 1."""
        return max(0.0, min(1.0, self.tightness))


def bounds(sources: Sources) -> list[Bound]:
    """Return the audit."""
    return [
        Bound(row, sources.figures[row["figure"]].paper, _notes(row, sources))
        for row in rows_in(sources.results / "theory.csv")
    ]


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
