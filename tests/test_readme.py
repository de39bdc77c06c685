"""What the README shows is what there is."""

from __future__ import annotations

import re
import textwrap

import numpy as np
import pytest
import yaml
from miniature import small

from omtl.config import grid_points
from omtl.harness.unit import Unit, compute
from omtl.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README, flags=re.DOTALL)


def block(language: str) -> str:
    """Return the README's only block of a language."""
    (found,) = [text for kind, text in BLOCKS if kind == language]
    return textwrap.dedent(found)


def test_the_example_learner_runs_and_is_what_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its code and its config, as they stand, give what PM with a hinge gives."""
    import types

    module = types.ModuleType("omtl.learners.my_learner")
    exec(compile(block("python"), "my_learner.py", "exec"), module.__dict__)
    monkeypatch.setitem(__import__("sys").modules, module.__name__, module)
    config = yaml.safe_load(block("yaml"))
    twin = small("pm", perceptron="hinge")
    twin.algorithm["grid"] = config["grid"]
    assert len(grid_points(config)) == 3
    ours = compute(Unit(config, twin.dataset, twin.protocol, None, seed=0, repeat=0))
    theirs = compute(twin.unit(0, 0))
    np.testing.assert_array_equal(ours.arrays["mistakes"], theirs.arrays["mistakes"])


def test_make_targets_that_the_readme_names_exist() -> None:
    """Each `make` command names a target of the Makefile."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"make ([a-z-]+)", README)):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_links_lead_somewhere() -> None:
    """Every relative link is a file."""
    for link in re.findall(r"\]\(([^)]+)\)", README):
        assert link.startswith("http") or (ROOT / link).exists(), link
