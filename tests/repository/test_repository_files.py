"""Files that other programs read: workflows, the citation, the notebook."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from omtl.util.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_versions_are_one() -> None:
    """The package's is its citation's; both have a date in the changelog once it is released."""
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    changes = (ROOT / "CHANGELOG.md").read_text()
    released = dict(re.findall(r"^## ([\d.]+) \(([\d-]+)\)$", changes, flags=re.MULTILINE))
    assert PROJECT["version"] == str(citation["version"])
    assert released.get(PROJECT["version"]) == citation.get("date-released")
    assert "\n## Unreleased\n" in changes
    wheel = f"omtl-{PROJECT['version']}-py3-none-any.whl"
    for page in ("README.md", "docs/install.md"):
        assert wheel in (ROOT / page).read_text()


def test_the_notebook_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All its cells in order; it is kept without outputs."""
    monkeypatch.setenv("OMTL_HOME", str(tmp_path))
    notebook = json.loads((ROOT / "examples" / "tutorial.ipynb").read_text())
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(not cell["outputs"] and cell["execution_count"] is None for cell in code)
    names: dict[str, Any] = {}
    for cell in code:
        exec("".join(cell["source"]), names)
    runs = names["runs"].frame
    assert len(runs) == 3 and runs["error"].notna().all()
    assert names["beside"].frame["algorithm"].nunique() == 4
    assert names["model"].score(names["X"], names["y"], names["task"]) > 0.7


def test_no_file_names_a_package_index() -> None:
    """Which one is used is the business of whoever installs."""
    hosts = "py" + "pi[.]org|python" + "hosted[.]org|mcr[.]micro" + "soft[.]com"
    found = subprocess.run(
        ["git", "grep", "-lE", hosts], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert found.stdout == ""
