"""The papers, and all that can be named: tables, figures, algorithms, data sets, ..."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omtl.experiment.config import option_files, options
from omtl.experiment.descriptions import describe, descriptions
from omtl.experiment.readings import questions
from omtl.experiment.schema import read_yaml
from omtl.experiment.specs import TARGET
from omtl.util import user_folder
from omtl.util.errors import known_name
from omtl.util.providers import extension_of, module_file
from omtl.util.screen import plural
from omtl.util.user_folder import own_folder
from omtl.util.views import DisplayedResult, View

if TYPE_CHECKING:
    import pandas as pd

KINDS = {
    "tables": "table",
    "figures": "figure",
    "algorithms": "algorithm",
    "datasets": "dataset",
    "protocols": "protocol",
    "networks": "network",
    "readings": "reading",
    "selections": "selection",
    "searches": "search",
    "parallels": "parallel",
    "boards": "board",
}
"""What can be named, each with its config group; the first two are files of the papers."""

SHOWN = ("title", "label", "rule", "backend")
"""Values of a config that say what it is, where its comment does not."""


@dataclass(frozen=True, repr=False)
class Paper(DisplayedResult):
    """A paper: its tables and figures, and the questions that it leaves open.

    Parameters
    ----------
    name : str
        Its folder in ``experiments/``.
    tables, figures : list of str
        Their ids, for `omtl.table` and `omtl.figure`.
    """

    name: str
    tables: list[str]
    figures: list[str]

    @property
    def questions(self) -> dict[str, str]:
        """The open questions, by name."""
        return {name: each.asks for name, each in questions(self.name).items()}

    @property
    def claims(self) -> pd.DataFrame:
        """The paper's comparative statements with their published outcomes."""
        from omtl.results import claims

        return claims(self.name)

    @property
    def view(self) -> View:
        """Its tables and figures, with their titles."""
        rows = [["table", name, describe("table", name).title] for name in self.tables]
        rows += [["figure", name, describe("figure", name).title] for name in self.figures]
        title = f"{self.name}: {plural(len(self.questions), 'open question')}"
        return View(["", "id", "title"], rows, title)


def paper(name: str) -> Paper:
    """Return a paper by the name of its folder.

    Parameters
    ----------
    name : str
        ``"dom"``, ``"rom"``, ``"osmtl"``, ``"aklo"``, ``"omtrsl"``, ``"omtl"``, ``"amtl"`` or
        ``"pfmtl"``, or a paper of your own.

    Raises
    ------
    UserError
        If there is no such paper.

    Examples
    --------
    >>> import omtl
    >>> omtl.paper("rom").tables
    ['rom-table1', 'rom-table2']
    """
    user_folder.find()
    tables, figures = descriptions("table"), descriptions("figure")
    papers = sorted({path.parent.name for path in (*tables.values(), *figures.values())})
    known = known_name("paper", name, papers)
    return Paper(
        known,
        [one for one, path in tables.items() if path.parent.name == known],
        [one for one, path in figures.items() if path.parent.name == known],
    )


def catalogue(kind: str) -> list[dict[str, str]]:
    """Return everything of a kind that can be named, each with what it is, and whose own.

    Parameters
    ----------
    kind : str
        One of `KINDS`: ``"tables"``, ``"algorithms"``, ``"datasets"``, ...

    Raises
    ------
    UserError
        If there is no such kind.
    """
    user_folder.find()
    group = KINDS[known_name("kind", kind, KINDS)]
    found = descriptions(group) if group in ("table", "figure") else option_files(group)
    folder = own_folder()
    rows = []
    for name, path in found.items():
        row = {"name": name, "what it is": _line(path, read_yaml(path))}
        if folder is not None and path.is_relative_to(folder):
            row["own"] = str(path)
        elif (package := extension_of(path)) is not None:
            row["own"] = package
        rows.append(row)
    return rows


def _line(path: Path, config: Mapping[str, Any]) -> str:
    """Return what a config is, in a line: its label, and what its learner or its comment says."""
    label = next((str(config[key]) for key in SHOWN if key in config), "")
    if "title" in config:
        return label
    said = _of_learner(str(config.get("learner", ""))) or _of_comment(path)
    said = said or str(config.get(TARGET, ""))
    return said if said.startswith(label) else ": ".join(filter(None, [label, said]))


def _of_learner(path: str) -> str:
    """Return the first line of a learner's docstring; importing or parsing all takes too long."""
    module, _, name = path.rpartition(".")
    file = module_file(module)
    text = file.read_text(encoding="utf-8") if file else ""
    found = re.search(rf'^class {re.escape(name)}\b[^:]*:\s+r?"""(.*)', text, re.MULTILINE)
    return found[1].rstrip('."') if found else ""


def _of_comment(path: Path) -> str:
    """Return the first telling sentence of the comment at a config's beginning."""
    lines = takewhile(
        lambda line: line.startswith("#"), path.read_text(encoding="utf-8").splitlines()
    )
    text = " ".join(line.lstrip("# ") for line in lines if "@package" not in line)
    sentences = re.split(r"(?<=[^l]\.)\s+(?=[A-Z])|(?<=[a-z]:)\s+(?=[A-Z])", text)
    telling = (one for one in sentences if not one.startswith("Of no paper"))
    return next(telling, "").rstrip(".:")


def known_names() -> dict[str, list[str]]:
    """Return the names that each argument of the command line accepts, by the argument."""
    from omtl.experiment.composition import GROUPS

    tables, figures = list(descriptions("table")), list(descriptions("figure"))
    return {
        "table": tables,
        "tables": tables,
        "figure": figures,
        "what": [*tables, *figures],
        "names": options("dataset"),
        "kind": list(KINDS),
        "selection": options("selection"),
        "parallel": options("parallel"),
        "search": options("search"),
        "overrides": [f"{group}={name}" for group in GROUPS for name in options(group)],
    }
