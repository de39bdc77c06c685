"""A Hydra callback that logs each run of `omtl run` to MLflow; docs/command_line.md shows its use.

python -m omtl run -m algorithm=pm,dom1 +hydra.callbacks.mlflow._target_=log_to_mlflow.LogToMLflow
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import mlflow
from hydra.experimental.callback import Callback
from omegaconf import DictConfig


class LogToMLflow(Callback):
    """Logs parameters, metrics by repeat, learning curves and the record of each run.

    Parameters
    ----------
    experiment : str
        MLflow's experiment, to which the runs belong.
    """

    def __init__(self, experiment: str = "omtl") -> None:
        self.experiment = experiment

    def on_job_end(self, config: DictConfig, **_: Any) -> None:
        """Log the run that has ended; one that failed has no metrics, but says why."""
        file = Path(config.hydra.runtime.output_dir) / "result.json"
        record = json.loads(file.read_text(encoding="utf-8"))
        mlflow.set_experiment(self.experiment)
        mlflow.start_run(run_name=" ".join(record["overrides"]))
        mlflow.log_params(dict(override.split("=", 1) for override in record["overrides"]))
        for name, metric in record.get("metrics", {}).items():
            key = name.replace("@", "_at_")  # MLflow allows no @
            for repeat, value in enumerate(metric["values"]):
                mlflow.log_metric(f"{key}_by_repeat", value, step=repeat)
            mlflow.log_metric(key, sum(metric["values"]) / len(metric["values"]))
        curve = record.get("curves") or {"examples": [], "mean": []}
        for examples, mean in zip(curve["examples"], curve["mean"], strict=True):
            mlflow.log_metric("error_by_example", mean, step=examples)
        mlflow.log_artifact(str(file))
        if "failed" in record:
            mlflow.set_tag("failed", record["failed"])
        mlflow.end_run("FAILED" if "failed" in record else "FINISHED")
