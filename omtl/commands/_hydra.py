"""Running what Hydra composes: one experiment, or a sweep.

Repeats are units of the store like those of a table, so an experiment that was run before is
answered from the store. Each run writes its record to its Hydra folder.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.experimental.callback import Callback
from hydra.types import RunMode
from omegaconf import DictConfig

from omtl.api.runs import Runs
from omtl.commands._options import tell_written
from omtl.experiment.composition import (
    ComposedRun,
    in_one_sentence,
    note_on_networks,
    parsed,
    spelt_out,
)
from omtl.reproduction.record import FILE, collect, line, play_run, write_record, write_record_table
from omtl.util.ending import DONE, ended
from omtl.util.errors import UserError
from omtl.util.files import cannot_write
from omtl.util.paths import CONF, home_folder

LOG = logging.getLogger("omtl")

SWEEPS: list[tuple[Path, dict[Path, int]]] = []
"""The folder of the running sweep, and the records that it already contained."""


class NoteSweep(Callback):
    """Notes the output folder of a sweep."""

    def on_multirun_start(self, config: DictConfig, **_: Any) -> None:
        """Note the folder of a starting sweep."""
        folder = Path(str(config.hydra.sweep.dir)).absolute()
        SWEEPS.append((folder, _times(folder)))


def _times(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob(FILE)}


@hydra.main(config_path=str(CONF), config_name="config", version_base="1.3")
def _job(config: DictConfig) -> float:
    """Run the experiment that Hydra has composed; a sweep calls this for each job."""
    about = HydraConfig.get()
    in_sweep = about.mode == RunMode.MULTIRUN
    folder = Path(about.runtime.output_dir)
    record: dict[str, Any] = {"overrides": [o.lstrip("+") for o in about.overrides.task]}

    written: list[Path] = []

    def played() -> int:
        try:
            run = ComposedRun.of(config)
            record["config"] = run.as_mapping()
            record.update(play_run(run))
            LOG.info(line(record))
            print(line(record))
        except UserError as fault:
            record["failed"] = str(fault)
            LOG.error(fault)
            if in_sweep:
                print(f"omtl: {' '.join(record['overrides'])}: {fault}", file=sys.stderr)
            raise
        finally:
            if {"failed", "metrics"} & record.keys():
                written.append(write_record(record, folder))
        if not in_sweep:
            tell_written(written)
        return DONE

    if in_sweep:  # the sweeper handles an error and continues with other jobs
        played()
    elif status := ended(played):
        sys.exit(status)
    return float(record["returns"])


def run_hydra(arguments: Sequence[str]) -> bool:
    """Run the experiment or sweep that overrides compose; return whether a job failed.

    Parameters
    ----------
    arguments : sequence of str
        Hydra's arguments.
    """
    os.environ.setdefault("HYDRA_FULL_ERROR", "1")  # so that errors arrive here, reported briefly
    SWEEPS.clear()
    given = list(arguments)
    if not {"--shell-completion", "--hydra-help"} & set(given):
        given = spelt_out(given)
        words = [w for w in given if w.startswith("~") or ("=" in w and not w.startswith("-"))]
        if note := note_on_networks(parsed(words)[0]):
            print(f"omtl: {note}", file=sys.stderr)
    sys.argv = ["omtl run", *given]
    try:  # Hydra's output folder
        (home_folder() / "runs").mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise cannot_write(home_folder() / "runs", fault) from fault
    with in_one_sentence():
        try:
            _job()
        except UserError:
            if not SWEEPS:
                raise
    return bool(SWEEPS) and _tell_sweep(*SWEEPS[0])


def _tell_sweep(folder: Path, before: dict[Path, int]) -> bool:
    """Write and print the table of a sweep; return whether a job failed."""
    new = _times(folder).items() - before.items()
    mine = {path.parent.relative_to(folder).as_posix() for path, _ in new}
    records = {name: record for name, record in collect(folder).items() if name in mine}
    if not records:
        raise UserError("the sweep has nothing to run; give values that exist")
    swept = Runs(records)
    swept.show()
    tell_written(write_record_table(swept.frame, folder / "sweep"))
    failed = sum("failed" in record for record in records.values())
    if failed:
        print(f"omtl: {failed} of {len(records)} jobs failed", file=sys.stderr)
    return failed > 0
