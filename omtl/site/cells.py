"""The cells of a table's page: our number, the published one, and all that is known about them."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from markupsafe import Markup

from omtl.experiment.descriptions import TableDescription
from omtl.experiment.experiment import Experiment
from omtl.experiment.specs import AlgorithmSpec, DataSetSpec, ProtocolSpec
from omtl.measures.metrics import METRICS
from omtl.site import charts
from omtl.site.charts import Curve
from omtl.site.gather import as_number, yaml_value
from omtl.site.repeats import KEPT_PRECISION, Repeats
from omtl.site.text import code
from omtl.tables.cells import ALL_TASKS, PLACE, place_of
from omtl.tables.proofread import suspects
from omtl.tables.published_results import PublishedRun
from omtl.tables.verdict import CONFIDENCE, FAR, JUDGED, MATCH, NEAR, OFF, OURS

NO_EXPERIMENT = Experiment(
    AlgorithmSpec(name="", label="", learner="", networked=False, fixed={}, grid={}),
    DataSetSpec(name="", label="", options={}, normalise="", bias=False),
    ProtocolSpec(name="", module="", draw=""),
)
"""Replaces a cell's experiment if none is stored with the table."""


@dataclass(frozen=True)
class Parameter:
    """A chosen hyper-parameter, and the values it was chosen from."""

    name: str
    value: str
    grid: tuple[str, ...]

    @property
    def at_edge(self) -> bool:
        """Whether it is the first or last of several values."""
        return len(self.grid) > 2 and self.value in (self.grid[0], self.grid[-1])


@dataclass(frozen=True)
class CellView:
    """A cell as ``results/`` has it, with what its page shows besides.

    Parameters
    ----------
    cell : named tuple
        Its row of the frame of cells (`cells_of`).
    row : dict of str to str
        Its row of the reproduced table: the mean and the deviation, without the repeats.
    id : str
        Its anchor.
    digits : int
        How many are shown after the point.
    command : str
        What plays it alone.
    why_off : str
        Its diagnosis, if there is one.
    repeats : Repeats or None
        Its single repeats, if they are at hand.
    drawn : Curve or None
        Its learning curve, if a figure has it.
    """

    cell: Any
    row: dict[str, str]
    id: str
    digits: int
    command: str
    why_off: str
    repeats: Repeats | None
    drawn: Curve | None

    @property
    def verdict(self) -> str:
        """The verdict."""
        return self.row["verdict"]

    @property
    def kind(self) -> str:
        """Whether it is of the paper or ours."""
        return self.cell.kind

    @property
    def mean(self) -> float | None:
        """Mean over the repeats."""
        return as_number(self.row["ours_mean"])

    @property
    def std(self) -> float:
        """Standard deviation over the repeats."""
        return as_number(self.row["ours_std"]) or 0.0

    @property
    def ours(self) -> str:
        """The mean as it is shown."""
        return "" if self.mean is None else f"{self.mean:.{self.digits}f}"

    @property
    def ours_std(self) -> str:
        """The deviation as it is shown."""
        return f"{self.std:.{self.digits}f}" if self.ours and self.row["ours_std"] else ""

    @property
    def place(self) -> str:
        """The names of the cell's row and column."""
        task = (
            "" if self.cell.task == ALL_TASKS else f", task {self.cell.task.removeprefix('task')}"
        )
        return f"{self.cell.algorithm} on {self.cell.dataset}{task}"

    @property
    def label(self) -> str:
        """The cell in one sentence, for screen readers."""
        ours = f"{self.ours} ± {self.ours_std}" if self.ours_std else self.ours or "none"
        mean, std = self.row["published_mean"], self.row["published_std"]
        spread = f" ± {std}" if std else ""
        printed = f", published {mean}{spread}" if mean else ""
        return f"{self.place}, {self.cell.metric}: ours {ours}{printed}, {self.verdict}"

    @property
    def comparison(self) -> str:
        """The arithmetic behind the verdict, in words."""
        if self.verdict not in JUDGED or not self.row.get("low"):
            return ""
        delta, low, high, share = (float(self.row[n]) for n in ("delta", "low", "high", "share"))
        counted = "draws of the data" if int(self.row["n_draws"]) > 1 else "repeats"
        return (
            f"ours − published = {delta:.4g} ({100 * share:+.1f} %), {100 * CONFIDENCE:g} % "
            f"interval {low:.4g} to {high:.4g}, over {self.row['n_repeats']} {counted}"
        )

    @property
    def suspect(self) -> str:
        """What is odd about the printed number."""
        found = suspects(self.row["table"]).get(place_of(self.row), [])
        return "; ".join(one["says"] for one in found)

    @property
    def diagnosis(self) -> Markup:
        """Why the cell is off, or within 10 % of print but many standard errors away."""
        is_far = self.verdict == OFF
        quantities = [self.row.get(name) for name in ("delta", "ours_se", "published_se")]
        if self.verdict in (MATCH, NEAR) and all(quantities):
            delta, ours, theirs = (float(quantity or 0.0) for quantity in quantities)
            is_far = abs(delta) > FAR * math.hypot(ours, theirs)
        return code(self.why_off if is_far else "")

    @property
    def parameters(self) -> list[Parameter]:
        """The chosen hyper-parameters, those of the grid first."""
        if self.cell.experiment is NO_EXPERIMENT:
            return []
        grid, params = self.cell.experiment.algorithm.grid, self.cell.params
        names = [*(n for n in grid if n in params), *(n for n in params if n not in grid)]
        return [
            Parameter(n, yaml_value(params[n]), tuple(yaml_value(v) for v in grid.get(n, [])))
            for n in names
        ]

    @property
    def learner(self) -> str:
        """The learner's page."""
        path = self.cell.experiment.algorithm.learner
        return path and f"learner-{path.rpartition('.')[2].lower()}.html"

    @property
    def data(self) -> str:
        """The data set's page."""
        module = self.cell.experiment.dataset.loaded_by
        return module and f"data-{module}.html"

    @property
    def lacking(self) -> str:
        """Why the single repeats are not shown."""
        if self.mean is None:
            return ""
        if self.repeats is None:
            return "this checkout's store does not have the repeats"
        stored = self.repeats.values.mean()
        if not np.isclose(stored, self.mean, rtol=0.0, atol=KEPT_PRECISION):
            return "the number in the store differs from results/; make the table again"
        return ""

    @cached_property
    def numbers(self) -> Markup:
        """Our number and the published one on a line, with the single repeats."""
        if self.mean is None or not np.isfinite(self.mean):
            return Markup("")
        metric, mean = METRICS[self.cell.metric], self.row["published_mean"]
        values = [] if self.repeats is None or self.lacking else self.repeats.values.tolist()
        unit = f"{metric.name} ({metric.unit})" if metric.unit else metric.name
        printed = (float(mean), as_number(self.row["published_std"])) if mean else None
        caption = f"{self.label}; {len(values)} repeats shown." if values else f"{self.label}."
        return charts.number_line(printed, (self.mean, self.std), values, unit, caption)

    @cached_property
    def curve(self) -> Markup:
        """The learning curve: of the store, or of a figure."""
        stored = None if self.repeats is None or self.lacking else self.repeats.curve
        curve = stored or self.drawn
        if curve is None or self.mean is None:
            return Markup("")
        caption = (
            f"Learning curve of {curve.label}: cumulative error rate from "
            f"{charts.shown(float(curve.y[0]))} % to {charts.shown(float(curve.y[-1]))} %."
        )
        return charts.lines([curve], "examples", "error rate (%)", caption)


def cells_of(run: PublishedRun, description: TableDescription) -> pd.DataFrame:
    """Return the frame of the cells of a run in ``results/``, from its files alone.

    It has the columns of `omtl.tables.scoring.judged` that a layout needs, and `row`, which is the
    row of the reproduced table.
    """
    meta = run.meta
    selection = run.selection or description.selection

    def cell(row: dict[str, str]) -> dict[str, Any]:
        found = run.experiments.get(f"{row['algorithm']} on {row['dataset']}", {})
        return {
            **{name: row[name] for name in ("table", *PLACE, "reading", "verdict")},
            "selection": selection,
            "seed": meta.get("seed", 0),
            "asked_repeats": meta.get("repeats", description.repeats),
            "kind": "value" if row["published_mean"] else OURS,
            "experiment": Experiment.read(found) if found else NO_EXPERIMENT,
            "params": json.loads(row["params"]) if row["params"] else {},
            "row": row,
        }

    return pd.DataFrame(map(cell, run.rows))
