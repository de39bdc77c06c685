"""Run the conformance checks on the learners in a file or a config.

Examples
--------
omtl check examples/my_learner/my_learner.py
omtl check my_learner.py --json
omtl check examples/foreign/algorithm/sgd_hinge.yaml
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from omtl.commands._options import JSON, option, print_json

GROUP = "test my method"
OPTIONS = (option("file", type=Path, metavar="FILE"), JSON)


def run(file: Path, as_json: bool) -> bool:
    """Print one line per check of each learner, as it is made; fail if any check fails.

    Parameters
    ----------
    file
        a Python file with its configs in algorithm/NAME.yaml next to it, or such a config
    as_json
        Whether to print JSON.
    """
    from omtl.api.checks import Checks, findings_of

    rows: list[dict[str, Any]] = []
    for row in findings_of(file):
        if not as_json:
            if not rows or rows[-1]["learner"] != row["learner"]:
                print(row["learner"])
            why = f" — {row['why']}" if row["why"] else ""
            print(f"  {row['result']:8}{row['demands']}{why}", flush=True)
        rows.append(row)
    if as_json:
        print_json(rows)
    return not Checks(rows).passed
