"""A table's metric drawn across its columns: the figure has the table's numbers."""

from __future__ import annotations

import pandas as pd
import pytest

from omtl.figures.panels.metric_lines import number_of
from omtl.util.errors import UserError
from omtl.util.paths import ROOT

RESULTS = ROOT / "results"


@pytest.mark.repository
@pytest.mark.parametrize(("figure", "metric"), [("amtl-fig1", "right"), ("amtl-fig2", "wrong")])
def test_a_figure_has_the_numbers_of_its_table(figure: str, metric: str) -> None:
    """Ours and the published ones, each at the number that its column begins with."""
    table = pd.read_csv(RESULTS / "reproduced" / f"{figure.replace('fig', 'tablefig')}.csv")
    drawn = pd.read_csv(RESULTS / "figures" / f"{figure}.csv")
    for line in drawn.itertuples():
        rows = table[
            (table["algorithm"] == line.label)
            & (table["metric"] == metric)
            & (table["reading"] == line.reading)
        ]
        column = {"run": "ours_mean", "published": "published_mean"}[line.kind]
        numbers = dict(zip(rows["dataset"].map(number_of), rows[column], strict=True))
        x, y = ([float(one) for one in text.split()] for text in (line.x, line.y))
        assert dict(zip(x, y, strict=True)) == pytest.approx(numbers, abs=1e-4)


def test_a_column_without_a_number_is_refused() -> None:
    """Because it has no place on the axis."""
    with pytest.raises(UserError, match="does not begin with a number"):
        number_of("Spam")
