"""Loaded by the process that runs are forked from: the package and engines, and compiled code."""

from contextlib import suppress

from omtl.experiment.playing import compute
from scripts.elastic.client import units

with suppress(ImportError):  # without engines, threads and processes remain
    import distributed.cli.dask_worker  # noqa: F401
    import ray  # noqa: F401

compute(units()[0])
