"""The example that logs runs to MLflow, with a module in the place of MLflow, which tests lack."""

from __future__ import annotations

from pathlib import Path

from environments import environment, python

from omtl.util.paths import ROOT

STAND_IN = """
def __getattr__(name):
    def called(*arguments, **named):
        with open("calls.txt", "a") as file:
            print(name, *arguments, *named.values(), file=file)
    return called
"""


def test_each_run_of_a_sweep_is_logged(tmp_path: Path) -> None:
    """With its parameters, its metrics, its curve and its record; one that fails says why."""
    (tmp_path / "mlflow.py").write_text(STAND_IN, encoding="utf-8")
    example = (ROOT / "examples" / "log_to_mlflow.py").read_text(encoding="utf-8")
    (tmp_path / "log_to_mlflow.py").write_text(example, encoding="utf-8")
    shown = (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
    callback = "+hydra.callbacks.mlflow._target_=log_to_mlflow.LogToMLflow"
    assert callback in shown
    sizes = ("dataset.options.n_examples=20", "repeats=2", "parallel=serial")
    words = ("-m", "omtl", "run", "-m", "algorithm=pm,stl", *sizes, callback)
    done = python(*words, status=1, cwd=tmp_path, env=environment(tmp_path / "home"))
    assert "1 of 2 jobs failed" in done.stderr
    assert "raised" not in done.stderr  # Hydra turns errors of callbacks into warnings
    calls = (tmp_path / "calls.txt").read_text(encoding="utf-8").splitlines()
    assert [line for line in calls if line.startswith("end_run")] == [
        "end_run FINISHED",
        "end_run FAILED",
    ]
    assert sum(line.startswith("log_metric error_by_repeat") for line in calls) == 2
    assert sum(line.startswith("log_metric error_by_example") for line in calls) == 20
    assert any(line.startswith("log_artifact") and "result.json" in line for line in calls)
    assert any("'algorithm': 'pm'" in line for line in calls)
    assert any(line.startswith("set_tag failed") and "stl" in line for line in calls)
