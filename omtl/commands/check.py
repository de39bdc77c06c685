"""``omtl check``: run the conformance checks on your own learner."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from omtl.commands._options import add_flags, print_json
from omtl.util.status import DONE, FAILED

HELP = "run the conformance checks on the learners in a file or a config"
EXAMPLES = (
    "check examples/my_learner/my_learner.py",
    "check my_learner.py --json",
    "check examples/foreign/algorithm/sgd_hinge.yaml",
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the file to check."""
    command.add_argument(
        "file",
        type=Path,
        metavar="FILE",
        help="a Python file with its configs in algorithm/NAME.yaml next to it, or such a config",
    )
    add_flags(command, "json")


def run(options: argparse.Namespace) -> int:
    """Print one line per check of each learner; fail if any check fails."""
    from omtl.util.user_folder import use_folder

    is_config = options.file.suffix == ".yaml"
    use_folder(options.file.absolute().parents[1 if is_config else 0])

    from omtl.experiment.discover_learners import learners_in
    from omtl.reference.conformance import FAIL, look_at

    findings: list[dict[str, Any]] = []
    for name, learner in learners_in(options.file):
        if not options.json:
            print(name)
        for finding in look_at(learner):
            row = {"demands": finding.check.demands, "result": finding.result, "why": finding.why}
            findings.append({"learner": name, **row})
            if not options.json:
                why = f" — {finding.why}" if finding.why else ""
                print(f"  {finding.result:8}{finding.check.demands}{why}", flush=True)
    if options.json:
        print_json(findings)
    return FAILED if any(row["result"] == FAIL for row in findings) else DONE
