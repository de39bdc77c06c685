"""Composing configs with the environment's variables closed to them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from omegaconf import OmegaConf
from omegaconf.resolvers import oc

from omtl.util.errors import UserError


@contextmanager
def closed_environment() -> Iterator[None]:
    """Refuse configs that read environment variables, whose values would get into results."""

    def refuse(name: str, *_: Any) -> None:
        raise UserError(
            f"a config reads the environment variable {name}, whose value would get into results; "
            "write the value into the config, or on the command line"
        )

    OmegaConf.register_new_resolver("oc.env", refuse, replace=True)
    try:
        yield
    finally:
        OmegaConf.register_new_resolver("oc.env", oc.env, replace=True)
