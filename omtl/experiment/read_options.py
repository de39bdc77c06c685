"""Readings in Hydra's defaults list: the options of each group under a reading's answers.

``conf/config.yaml`` merges ``read/GROUP/READING/DATASET/OPTION`` into an option if there is such a
config. This module creates these from the papers' questions, so that a reading is part of what
Hydra composes, and typed values override it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hydra.core.config_store import ConfigStore

from omtl.experiment.config import load_option, options, patch_of, patched

GROUPS = ("algorithm", "dataset", "protocol", "network", "selection")
"""The groups whose options a reading can change."""

ROOT = "read"


def store_readings(readings: Mapping[str, Mapping[str, Any]]) -> None:
    """Give Hydra the configs of readings, replacing earlier ones.

    Parameters
    ----------
    readings : mapping of str to mapping
        The readings' configs by ``READING/DATASET``.
    """
    store = ConfigStore.instance()
    store.repo.pop(ROOT, None)
    for name, reading in readings.items():
        for (group, option), values in values_set_by(reading).items():
            place = f"{ROOT}/{group}/{name}"
            # Hydra merges mappings; old content disappears only if they are emptied first.
            store.store(group=place, name=f"{option}_emptied", node=dict.fromkeys(values))
            node = {"defaults": [f"{name}/{option}_emptied@_here_", "_self_"], **values}
            store.store(group=place, name=option, node=node)


def values_set_by(reading: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the values that a reading changes, by group and option."""
    found = {}
    patch = patch_of(reading)
    named = {tuple(key.split(".")[:2]) for key in patch}
    for group in GROUPS:
        for option in options(group) if any(group == one for one, _ in named) else ():
            if (group, "*") in named or (group, option) in named:
                config = load_option(group, option)
                read = patched({group: config}, patch)[group]
                values = {key: value for key, value in read.items() if value != config.get(key)}
                if values:
                    found[group, option] = values
    return found
