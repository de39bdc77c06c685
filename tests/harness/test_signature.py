"""What someone signs off: that numbers were reproduced, only where no cell differs."""

from __future__ import annotations

import pytest

from omtl.reproduction import verify
from omtl.reproduction.verify import PLACE, RESULTS_OF, CheckedCell, signature

CELL = dict.fromkeys(PLACE, "x") | {"table": "dom-table1"}
SAME = CheckedCell(CELL, verify.SAME, units=5, points=2)
CLOSE = CheckedCell(CELL, verify.CLOSE, "repeat 3")
DIFFERENT = CheckedCell(CELL | {"table": "rom-table1"}, verify.DIFFERENT, "repeat 3")
LACKING = CheckedCell(CELL, verify.NOT_COMPARABLE, "no data")


@pytest.mark.parametrize(
    ("checks", "counts", "result"),
    [
        ([SAME, SAME], "2 0 0 0", "reproduced"),
        ([SAME, CLOSE, LACKING], "1 1 0 1", "reproduced"),
        ([SAME, DIFFERENT], "1 0 1 0", "differs"),
        ([DIFFERENT, CLOSE], "0 1 1 0", "differs"),
    ],
)
def test_a_signature_counts_what_became_of_the_cells(
    checks: list[CheckedCell], counts: str, result: str
) -> None:
    [line] = signature(checks, " A. Name ", seed=7).to_dict("records")
    assert (line["name"], line["seed"], line["result"]) == ("A. Name", "7", result)
    assert " ".join(line[kind] for kind in RESULTS_OF) == counts
    assert line["cells"].split() == list(dict.fromkeys(one.row["table"] for one in checks))
