"""What the README shows is what there is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from omtl.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = dict(re.findall(r"```(\w+)\n(.*?)```", README, flags=re.DOTALL))

TWINS = """
import sys, types
import numpy as np
import yaml
from miniature import small
from omtl.harness.unit import Unit, compute

module = types.ModuleType("omtl.learners.my_learner")
sys.modules[module.__name__] = module
exec(compile(sys.argv[1], "my_learner.py", "exec"), module.__dict__)
config = yaml.safe_load(sys.argv[2])
twin = small("pm", perceptron="hinge")
twin.algorithm["grid"] = config["grid"]
ours = compute(Unit(config, twin.dataset, twin.protocol, None, seed=0, repeat=0))
theirs = compute(twin.unit(0, 0))
np.testing.assert_array_equal(ours.arrays["mistakes"], theirs.arrays["mistakes"])
"""


def test_the_example_learner_runs_and_is_what_it_says(tmp_path: Path) -> None:
    """Its code and its config, as they stand, give what PM with a hinge gives.

    In a process with a compile cache of its own: the learner is in no file, so that what is
    compiled for it could not be loaded by others.
    """
    paths = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
    subprocess.run(
        [sys.executable, "-c", TWINS, BLOCKS["python"], BLOCKS["yaml"]],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": paths},
        check=True,
    )


def test_make_targets_that_the_readme_names_exist() -> None:
    """Each `make` command names a target of the Makefile."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"make ([a-z-]+)", README)):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_links_lead_somewhere() -> None:
    """Every relative link is a file."""
    for link in re.findall(r"\]\(([^)]+)\)", README):
        assert link.startswith("http") or (ROOT / link).exists(), link
