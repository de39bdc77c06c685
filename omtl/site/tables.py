"""The tables: each cell beside the published one, with all that is known of it."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from markupsafe import Markup

from omtl.compute.store import Store
from omtl.experiment.experiment import Experiment
from omtl.measures.metrics import METRICS
from omtl.reproduction.provenance import command_of, names_of
from omtl.site import charts
from omtl.site.figures import kept_curves
from omtl.site.gather import Sources, as_number, yaml_value
from omtl.site.repeats import KEPT_PRECISION, Repeats, kept_repeats, stored_repeats
from omtl.site.text import code, plain, slug
from omtl.tables.committed import Place, Run, place_of
from omtl.tables.diagnosis import diagnosis_of
from omtl.tables.layout import lay_out
from omtl.tables.plan import Cell, Table
from omtl.tables.proofread import suspects
from omtl.tables.render import MARKS
from omtl.tables.request import Request
from omtl.tables.scoring import Scored
from omtl.tables.verdict import (
    CLOSE,
    COMPATIBLE,
    CONFIDENCE,
    FAR,
    JUDGED,
    MATCH,
    MISSING,
    NEAR,
    OFF,
    OURS,
    SUBSTITUTE,
    TIMING,
    VERDICTS,
)

ALL_VERDICTS = (*VERDICTS, OURS)

MEANING = {
    MATCH: f"within {100 * CLOSE:g} % of the published number for sure: the whole interval is",
    NEAR: f"within {100 * CLOSE:g} % of the published number, but the interval is not",
    COMPATIBLE: f"further than {100 * CLOSE:g} % away, but the interval includes no difference",
    OFF: f"further than {100 * CLOSE:g} % away, and not by chance; why is written under the table",
    SUBSTITUTE: "stand-in data: only claims are judged",
    TIMING: "seconds of another machine: only ratios are judged",
    MISSING: "not run; why is written under the table",
    OURS: "a baseline of ours that the paper does not have",
}
"""What each verdict says."""

EXPERIMENT = [part.name for part in fields(Experiment)]

NO_EXPERIMENT = Experiment({}, {}, {}, None)
"""What stands in for a cell's experiment where nothing is kept beside the table."""


@dataclass(frozen=True)
class Kept(Scored):
    """A cell as ``results/`` keeps it: the mean and the deviation, without the repeats."""

    kept: tuple[float | None, float] = (None, 0.0)
    row: dict[str, str] = field(default_factory=dict)

    @property
    def mean(self) -> float | None:
        """Mean over the repeats."""
        return self.kept[0]

    @property
    def std(self) -> float:
        """Standard deviation over the repeats."""
        return self.kept[1]


@dataclass(frozen=True)
class Parameter:
    """A chosen hyper-parameter, and the values that it was chosen from."""

    name: str
    value: str
    grid: tuple[str, ...]

    @property
    def at_edge(self) -> bool:
        """Whether it is the first or last of several values."""
        return len(self.grid) > 2 and self.value in (self.grid[0], self.grid[-1])


@dataclass(frozen=True)
class Shown:
    """A cell as its page shows it."""

    id: str
    algorithm: str
    dataset: str
    task: str
    metric: str
    published: str
    published_std: str
    ours: str
    ours_std: str
    n_repeats: str
    selection: str
    verdict: str
    mark: str
    meaning: str
    comparison: str
    diagnosis: Markup
    parameters: list[Parameter]
    learner: str
    data: str
    command: str
    numbers: Markup
    curve: Markup
    lacking: str
    data_sha256: str
    suspect: str = ""

    @property
    def place(self) -> str:
        """The cell's row and column in words."""
        task = "" if self.task == "all" else f", task {self.task.removeprefix('task')}"
        return f"{self.algorithm} on {self.dataset}{task}"

    @property
    def label(self) -> str:
        """The cell in one sentence, for those who do not see it."""
        ours = f"{self.ours} ± {self.ours_std}" if self.ours_std else self.ours or "none"
        spread = f" ± {self.published_std}" if self.published_std else ""
        printed = f", published {self.published}{spread}" if self.published else ""
        return f"{self.place}, {self.metric}: ours {ours}{printed}, {self.verdict}"


@dataclass(frozen=True)
class Row:
    """A row of a table: the name of a group, or an algorithm with its cells."""

    label: str
    cells: tuple[Shown | None, ...]
    is_ours: bool


@dataclass(frozen=True)
class View:
    """A table under a reading, by a rule."""

    name: str
    subtitle: str
    heads: tuple[str, ...]
    rows: list[Row]
    notes: list[Markup]
    counts: dict[str, int]
    agreement: Markup
    command: str
    meta: dict[str, Any]
    answers: dict[str, str]
    n_without_repeats: int


@dataclass(frozen=True)
class TablePage:
    """A table: what its paper says of it, and one view per reading.

    `counts` are the verdicts of the published cells, without those of our own baselines.
    """

    id: str
    paper: str
    title: str
    caption: str
    views: list[View]
    counts: dict[str, dict[str, int]]


def counted(rows: Iterable[Mapping[str, str]]) -> dict[str, int]:
    """Return how many cells got each verdict."""
    tally = Counter(row["verdict"] for row in rows)
    return {verdict: tally[verdict] for verdict in ALL_VERDICTS if tally[verdict]}


def table_page(name: str, sources: Sources, store: Store | None) -> TablePage:
    """Return a table with its views."""
    description, runs = sources.tables[name], sources.runs[name]
    paper = description.paper
    return TablePage(
        name,
        paper,
        description.title,
        plain(description.caption),
        [
            _view(
                run,
                sources,
                kept_repeats(run) | (stored_repeats(run, paper, store) if store else {}),
            )
            for run in runs
        ],
        {run.name: counted(row for row in run.rows if row["published_mean"]) for run in runs},
    )


def _view(run: Run, sources: Sources, singly: dict[Place, Repeats]) -> View:
    description, meta = sources.tables[run.table], run.meta
    scored = [_kept(row, run.experiments) for row in run.rows]
    cells = [s.cell for s in scored]
    table = Table(description, meta.get("reading", {"name": run.reading, "answers": {}}), cells)
    n_repeats = meta.get("repeats", description.repeats)
    request = Request(run.reading, n_repeats, meta.get("seed", 0), run.selection or None)
    layout = lay_out(table, scored, request)
    called = {(c.dataset, c.algorithm, c.task, c.metric): n for n, c in names_of(table).items()}
    curves = {} if run.selection else kept_curves(sources, run.table, run.reading)
    number_of = {place_of(s.row): number for number, s in enumerate(scored)}

    def show(s: Scored | None) -> Shown | None:
        if s is None:
            return None
        assert isinstance(s, Kept)
        place = place_of(s.row)
        alone = command_of(table, called[place], request)
        return _shown(
            s,
            id_=f"{slug(run.name)}-{number_of[place]}",
            digits=layout.digits_of(s),
            repeats=singly.get(place),
            curve=curves.get((s.cell.dataset, s.cell.algorithm)),
            command=f".venv/bin/python -m {alone}",
            diagnosis="" if run.selection else diagnosis_of(table, s) or "",
        )

    lines = []
    for line in layout.lines:
        shown = tuple(show(s) for s in line.cells)
        lines.append(Row(line.label, shown, any(s and s.cell.is_ours for s in line.cells)))
    _, _, notes = run.text("md").partition("## Notes")
    points = [
        (float(s.cell.mean), s.mean, s.verdict, f"{s.cell.algorithm} on {s.cell.dataset}")
        for s in scored
        if s.verdict in JUDGED and s.cell.mean and s.mean is not None
    ]
    counts = counted(run.rows)
    told = ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
    return View(
        run.name,
        layout.subtitle,
        layout.heads,
        lines,
        [code(line[2:]) for line in notes.splitlines() if line.startswith("- ")],
        counts,
        charts.agreement(points, f"How far our numbers are from the published ones: {told}."),
        _table_command(run),
        meta | run.machine,
        {key: str(value) for key, value in table.reading.get("answers", {}).items()},
        sum(1 for row in run.rows if row["ours_mean"] and place_of(row) not in singly),
    )


def _table_command(run: Run) -> str:
    if run.selection:
        words = f"{run.table} --reading {run.reading} --selection {run.selection}"
        return f".venv/bin/python -m omtl table {words}"
    return f"make reproduce-table TABLE={run.table} READING={run.reading}"


def _kept(row: dict[str, str], experiments: Mapping[str, Any]) -> Kept:
    """Return a row of a reproduced table as a cell."""
    found = experiments.get(f"{row['algorithm']} on {row['dataset']}")
    experiment = (
        Experiment(**{name: found[name] for name in EXPERIMENT if name in found})
        if found
        else NO_EXPERIMENT
    )
    cell = Cell(
        row["dataset"],
        row["algorithm"],
        row["task"],
        row["metric"],
        row["published_mean"],
        row["published_std"],
        experiment,
        kind="value" if row["published_mean"] else OURS,
    )
    return Kept(
        cell,
        np.array([]),
        row["verdict"],
        params=json.loads(row["params"]) if row["params"] else {},
        data_sha256=row["data_sha256"],
        why="see the notes of the table" if row["verdict"] == MISSING else "",
        kept=(as_number(row["ours_mean"]), as_number(row["ours_std"]) or 0.0),
        row=row,
    )


def _shown(
    s: Kept,
    *,
    id_: str,
    digits: int,
    repeats: Repeats | None,
    curve: charts.Curve | None,
    command: str,
    diagnosis: str,
) -> Shown:
    metric = METRICS[s.cell.metric]
    row, mean = s.row, s.mean
    std = as_number(row["ours_std"])
    parameters: list[Parameter] = []
    learner = data = ""
    experiment = s.cell.experiment
    if experiment is not NO_EXPERIMENT:
        learner = f"learner-{experiment.algorithm['learner'].rpartition('.')[2].lower()}.html"
        data = f"data-{experiment.dataset.get('module', experiment.dataset['name'])}.html"
        parameters = _parameters(s.params, experiment.algorithm["grid"])
    values: list[float] = []
    lacking = ""
    if mean is None:
        pass
    elif repeats is None:
        lacking = "the repeats are not in the store of this checkout"
    elif not np.isclose(repeats.values.mean(), mean, rtol=0.0, atol=KEPT_PRECISION):
        lacking = "the store has another number than results/; make the table anew"
    else:
        values = repeats.values.tolist()
        curve = repeats.curve or curve
    unit = f"{s.cell.metric} ({metric.unit})" if metric.unit else s.cell.metric
    printed = (
        (float(s.cell.mean), float(s.cell.std) if s.cell.std else None) if s.cell.mean else None
    )
    shown = Shown(
        id_,
        s.cell.algorithm,
        s.cell.dataset,
        s.cell.task,
        s.cell.metric,
        s.cell.mean,
        s.cell.std,
        "" if mean is None else f"{mean:.{digits}f}",
        "" if std is None or mean is None else f"{std:.{digits}f}",
        row["n_repeats"],
        row["selection"],
        s.verdict,
        MARKS[s.verdict],
        MEANING[s.verdict],
        _comparison(s),
        code(diagnosis if s.verdict == OFF or _is_apart(s) else ""),
        parameters,
        learner,
        data,
        command,
        Markup(""),
        Markup(""),
        lacking,
        s.data_sha256,
    )
    numbers = drawn = Markup("")
    if mean is not None and np.isfinite(mean):
        told = f"{shown.label}; {len(values)} repeats shown." if values else f"{shown.label}."
        numbers = charts.number_line(printed, (mean, std or 0.0), values, unit, told)
    if curve is not None and mean is not None:
        told = (
            f"Learning curve of {curve.label}: cumulative error rate from "
            f"{charts.shown(float(curve.y[0]))} % to {charts.shown(float(curve.y[-1]))} %."
        )
        drawn = charts.lines([curve], "examples", "error rate (%)", told)
    suspect = "; ".join(one.says for one in suspects(row["table"]).get(s.cell.place, []))
    return replace(shown, numbers=numbers, curve=drawn, suspect=suspect)


def _parameters(params: Mapping[str, Any], grid: Mapping[str, Any]) -> list[Parameter]:
    """Return the hyper-parameters, those of the grid first."""
    names = [*(n for n in grid if n in params), *(n for n in params if n not in grid)]
    return [
        Parameter(n, yaml_value(params[n]), tuple(yaml_value(v) for v in grid.get(n, [])))
        for n in names
    ]


def _comparison(s: Kept) -> str:
    """Return the arithmetic behind a verdict, in words."""
    if s.verdict not in JUDGED or not s.row.get("low"):
        return ""
    delta, low, high, share = (float(s.row[name]) for name in ("delta", "low", "high", "share"))
    counted = "draws of the data" if int(s.row["n_draws"]) > 1 else "repeats"
    return (
        f"ours − published = {delta:.4g} ({100 * share:+.1f} %), {100 * CONFIDENCE:g} % interval "
        f"{low:.4g} to {high:.4g}, over {s.row['n_repeats']} {counted}"
    )


def _is_apart(s: Kept) -> bool:
    """Whether a cell is within 10 % of print, but many standard errors away."""
    delta, ours, theirs = (
        as_number(s.row.get(n, "")) for n in ("delta", "ours_se", "published_se")
    )
    if s.verdict not in (MATCH, NEAR) or delta is None or ours is None or theirs is None:
        return False
    return abs(delta) > FAR * math.hypot(ours, theirs)
