"""Run one experiment, or a sweep.

Examples
--------
omtl run algorithm=dom1 dataset=random_walk network=ring
omtl run algorithm=dom1 dataset=mhc reading=dom/as_published repeats=5
omtl run -m algorithm=coml,dom1 network=full,grid,ring
omtl run --cfg job algorithm=coml
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omtl.commands._options import flag, option
from omtl.util.errors import UserError

GROUP = "test my method"
INFO = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")
OPTIONS = (
    option("-m", "--multirun", action="store_true"),
    option("--cfg", choices=("job", "hydra", "all")),
    flag("resolve"),
    option("-p", "--package", metavar="NAME"),
    option("--info", nargs="?", const="all", choices=INFO),
    option("--config-dir", type=Path, metavar="FOLDER"),
    flag("hydra-help"),
    flag("shell-completion"),
    option("overrides", nargs="*", metavar="NAME=VALUE"),
)


def run(config_dir: Path | None, overrides: Sequence[str], **given: Any) -> bool:
    """Hand the overrides to Hydra, and run what it composes.

    Parameters
    ----------
    multirun
        sweep over lists of values
    cfg
        print the config that would run
    resolve
        print --cfg with interpolations resolved
    package
        the part of --cfg to print, such as algorithm
    info
        print how Hydra composes the config
    config_dir
        your own folder of configs; the same as setting OMTL_OWN
    hydra_help
        print Hydra's own help
    shell_completion
        Hydra's own completion: install=bash, query=bash, ...
    overrides
        a choice from a group (algorithm=coml) or a value (repeats=5)
    **given
        The values of all options but --config-dir.
    """
    from omtl.commands._hydra import run_hydra
    from omtl.util import user_folder

    if config_dir is not None:
        user_folder.use_folder(config_dir)
        user_folder.find()
    _refuse(given)
    flags = ("multirun", "resolve", "hydra_help", "shell_completion")
    words = [f"--{name.replace('_', '-')}" for name in flags if given[name]]
    for name in ("cfg", "package", "info"):
        words += [f"--{name}", given[name]] if given[name] is not None else []
    return run_hydra([*words, *overrides])


def _refuse(given: dict[str, Any]) -> None:
    """Report options that do not go together, which Hydra ignores or fails at."""
    does = [name for name in ("multirun", "cfg", "info", "shell_completion") if given[name]]
    if len(does) > 1:
        raise UserError(f"--{does[0]} and --{does[1].replace('_', '-')} exclude each other")
    for name in ("resolve", "package"):
        if given[name] and not given["cfg"]:
            raise UserError(f"--{name} is about what --cfg prints; add --cfg job")
