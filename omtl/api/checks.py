"""Whether a learner keeps the rules that all learners keep."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from omtl.api.given import algorithm_of, is_written_as_rules
from omtl.experiment.discover_learners import installed_root, learners_in
from omtl.experiment.playing import new_learner
from omtl.reference.conformance import FAIL, look_at
from omtl.util import user_folder
from omtl.util.views import DisplayedResult, View, view_of

COLOURS = {"pass": "green", "fail": "bold red", "warning": "yellow"}


@dataclass(frozen=True, repr=False)
class Checks(DisplayedResult):
    """The findings of the checks.

    Parameters
    ----------
    rows : list of dict
        For each learner and check: what it demands, the result, and why.
    """

    rows: list[dict[str, Any]]

    @property
    def frame(self) -> pd.DataFrame:
        """A row for each check of each learner: ``learner``, ``demands``, ``result``, ``why``."""
        return pd.DataFrame(self.rows)

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return all(row["result"] != FAIL for row in self.rows)

    def __bool__(self) -> bool:
        """Whether no check failed."""
        return self.passed

    @property
    def view(self) -> View:
        """The findings, one a row."""
        frame = self.frame[["result", "demands", "why"]]
        plain = view_of(frame.fillna(""), self.rows[0]["learner"])
        colours = [COLOURS.get(row["result"], "") for row in self.rows]
        return replace(plain, colours=colours)


def findings_of(learner: Any) -> Iterator[dict[str, Any]]:
    """Yield the finding of each check, as it is made.

    Parameters
    ----------
    learner : str, Path, class or instance
        A file of learners or the config of one, a learner's name, or a learner.
    """
    named = [(type(learner).__name__, learner)]
    if isinstance(learner, Path) or str(learner).endswith((".py", ".yaml")):
        file = Path(learner)
        if installed_root(file) is None:
            user_folder.use_folder(file.absolute().parents[1 if file.suffix == ".yaml" else 0])
        named = list(learners_in(file))
    elif isinstance(learner, str | type) or not is_written_as_rules(learner):
        user_folder.find()
        spec = algorithm_of(learner)
        named = [(spec.label, new_learner(spec, spec.points[0]))]
    for name, one in named:
        for found in look_at(one):
            about = {"demands": found.check.demands, "result": found.result, "why": found.why}
            yield {"learner": name, **about}


def check(learner: Any) -> Checks:
    """Check a learner of your own against the rules that all learners keep.

    Parameters
    ----------
    learner : class, instance, str or Path
        A learner; the name of a config; or a file, ``"my_learner.py"``.

    Returns
    -------
    Checks
        True if no check failed; ``.frame`` has the findings.

    Raises
    ------
    UserError
        If the file has no learner, or cannot be imported.

    Examples
    --------
    >>> import omtl
    >>> bool(omtl.check("pa"))
    True
    """
    return Checks(list(findings_of(learner)))
