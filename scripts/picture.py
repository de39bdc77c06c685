"""Draw the picture of the README: a table with verdicts, and our numbers against published ones.

python -m scripts.picture
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omtl import results
from omtl.api.plots import INK, draw_agreement
from omtl.figures.pictures import render
from omtl.tables.layout import STYLES, mark_of
from omtl.util.paths import ROOT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TABLE = "dom-table1"
PATH = ROOT / "docs" / "overview.svg"
COLUMNS = ("Synthetic", "MHC-I")


def draw_cells(ax: Axes, cells: Any) -> None:
    """Write algorithms, published numbers and ours with their verdicts, a row each."""
    ax.set_axis_off()
    rows = list(dict.fromkeys(cells["algorithm"]))
    ax.set(xlim=(0, 1), ylim=(len(rows) + 0.5, -1.5))
    places = {name: 0.3 + 0.37 * number for number, name in enumerate(COLUMNS)}
    for name, x in places.items():
        ax.text(x + 0.1, -1, name, ha="right", fontweight="bold")
        ax.text(x + 0.25, -1, "ours", ha="right", fontweight="bold")
    ax.axhline(-0.6, color="#777777", linewidth=0.8)
    for y, row in enumerate(rows):
        ax.text(0.0, y, row, va="center")
        for cell in cells[cells["algorithm"] == row].itertuples():
            if cell.dataset not in places:
                continue
            _, colour = STYLES[cell.verdict]
            x, ink = places[cell.dataset], INK.get(colour, "black")
            ax.text(x + 0.1, y, f"{cell.published_mean:.2f}", ha="right", va="center")
            ax.text(x + 0.25, y, f"{cell.ours_mean:.2f}", ha="right", va="center", color=ink)
            ax.text(x + 0.28, y, mark_of(cell), va="center", color=ink, fontweight="bold")


def draw_overview() -> Figure:
    """Return the picture: the table on the left, the agreement on the right."""
    from matplotlib.figure import Figure

    cells = results.cells(TABLE)
    cells = cells[cells["verdict"] != "ours"]
    drawn = Figure(figsize=(9.0, 3.9), layout="constrained")
    left, right = drawn.subplots(1, 2, width_ratios=(1.25, 1.0))
    draw_cells(left, cells)
    draw_agreement(cells, right).set_title("error rates (%) of all cells, ±10% shaded")
    return drawn


if __name__ == "__main__":
    PATH.write_bytes(render(draw_overview, TABLE)["svg"])
    print(PATH.relative_to(ROOT))
