"""Creating the files of a new learner, data set or paper from templates."""

from __future__ import annotations

import keyword
import re
from pathlib import Path
from string import Template

from omtl.util.errors import UserError
from omtl.util.files import write_whole
from omtl.util.paths import CHECKOUT, CONF

TEMPLATES = Path(__file__).parent / "templates"

IN_CHECKOUT = {
    "learner": {
        "learner/checkout_NAME.py.in": "omtl/learners/{name}.py",
        "learner/checkout_reference.py.in": "omtl/reference/{name}.py",
        "learner/NAME.yaml": "conf/algorithm/{name}.yaml",
    },
    "dataset": {
        "dataset/checkout_NAME.py.in": "data_fetchers/{name}.py",
        "dataset/checkout_NAME.yaml": "conf/dataset/{name}.yaml",
    },
}
"""The files of each kind in the project's own folder: templates and destinations."""

IN_OWN = {
    "learner": {
        "learner/own_NAME.py.in": "{name}.py",
        "learner/NAME.yaml": "algorithm/{name}.yaml",
    },
    "dataset": {
        "dataset/own_NAME.yaml": "dataset/{name}.yaml",
        "dataset/own_NAME.csv": "{name}.csv",
    },
}
"""The files of each kind in a user's own folder."""

PAPER = {
    "paper/README.md": "experiments/{name}/README.md",
    "paper/table1.yaml": "experiments/{name}/table1.yaml",
    "paper/readings.yaml": "experiments/{name}/readings.yaml",
    "paper/claims.yaml": "experiments/{name}/claims.yaml",
    "paper/diagnoses.yaml": "experiments/{name}/diagnoses.yaml",
    "paper/NAME-table1.csv": "results/published/{name}-table1.csv",
    "paper/as_published.yaml": "{readings}/{name}/as_published.yaml",
    "paper/as_read.yaml": "{readings}/{name}/as_read.yaml",
}
"""The files of a paper, the same in both places."""

KINDS = ("learner", "dataset", "paper")


def make(kind: str, name: str, folder: Path) -> list[Path]:
    """Write the files of a new learner, data set or paper, ready to run.

    Parameters
    ----------
    kind : {"learner", "dataset", "paper"}
    name : str
        Lower-case letters, digits and underscores.
    folder : Path
        The project's checkout, or the user's own folder.

    Returns
    -------
    list of Path
        The files that were written.

    Raises
    ------
    UserError
        If the name is invalid, or a file already exists; nothing is written then.
    """
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or keyword.iskeyword(name):
        raise UserError(
            f"{name!r} cannot be a name; use lower-case letters, digits and underscores, "
            "a letter first"
        )
    in_checkout = folder.resolve() == CHECKOUT
    places = PAPER if kind == "paper" else (IN_CHECKOUT if in_checkout else IN_OWN)[kind]
    readings = "conf/reading" if in_checkout else "reading"
    values = {
        "name": name,
        "Name": "".join(word.capitalize() for word in name.split("_")),
        "label": name.replace("_", " ").capitalize(),
        "module": f"omtl.learners.{name}" if in_checkout else name,
    }
    contents = {
        folder / place.format(name=name, readings=readings): Template(
            (TEMPLATES / template).read_text(encoding="utf-8")
        ).substitute(values)
        for template, place in places.items()
    }
    group = {"learner": "algorithm", "dataset": "dataset", "paper": "reading"}[kind]
    shipped = CONF / group / (name if kind == "paper" else f"{name}.yaml")
    for path in [shipped, *contents]:
        if path.exists():
            raise UserError(f"there is a {kind} {name!r} already: {path}")
    for path, text in contents.items():
        write_whole(path, text)
    return list(contents)
