"""Finding the learners in a file or config, with the hyper-parameters of its configs."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

from omtl.experiment.config import option_files, options
from omtl.experiment.playing import module_at, new_learner
from omtl.experiment.specs import AlgorithmSpec
from omtl.sklearn.parameters import checked, declared_values
from omtl.util.errors import UserError
from omtl.util.paths import PACKAGE
from omtl.util.providers import extensions

STAND_INS = (0.5, 1.0, 2.0, 1, 2, False)
"""Values of a hyper-parameter without a config or a default: its first valid one is taken."""


def learners_in(file: Path) -> Iterator[tuple[str, Any]]:
    """Yield each learner of a file, or that of a config: its name and an instance.

    Instances use the first and the last point of the grid of each config that names the learner;
    without a config, its defaults.

    Raises
    ------
    UserError
        If the file is neither a Python file nor a config, cannot be imported, or has no learner.
    """
    if not file.is_file():
        raise UserError(f"there is no file {file}; name the file of a learner or its config")
    if file.suffix == ".yaml":
        names = {path.resolve(): name for name, path in option_files("algorithm").items()}
        if file.resolve() not in names:
            raise UserError(
                f"{file} is not the config of a learner; name one, algorithm/my_learner.yaml"
            )
        yield from _of_spec(AlgorithmSpec.named(names[file.resolve()]))
        return
    module = _imported(file)
    kinds = [
        kind
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__ and hasattr(kind, "update")
    ]
    if not kinds:
        raise UserError(
            f"{file} has no learner: a class with the methods new_state, score and update"
        )
    every = [AlgorithmSpec.named(name) for name in options("algorithm")]
    for kind in kinds:
        path, name = f"{module.__name__}.{kind.__name__}", kind.__name__
        specs = [spec for spec in every if spec.learner == path]
        for spec in specs:
            yield from _of_spec(spec)
        if not specs:
            parameters = inspect.signature(kind).parameters.items()
            asked = [key for key, one in parameters if one.default is one.empty]
            point = {key: _stand_in(kind, key) for key in asked}
            about: dict[str, Any] = {"name": name, "label": name, "learner": path}
            spec = AlgorithmSpec(**about, networked=False, fixed=point, grid={})
            yield f"{name}({_told(point)}), of no config", new_learner(spec, point)


def _stand_in(kind: type, name: str) -> Any:
    """Return a value for a hyper-parameter that nothing gives one."""
    allowed = declared_values(kind.__name__, kind.__doc__)
    for value in STAND_INS:
        with suppress(ValueError, NameError):  # of a type that is not known: who makes it says so
            return checked(name, value, get_type_hints(kind).get(name, float), allowed)
    return STAND_INS[0]


def _of_spec(spec: AlgorithmSpec) -> Iterator[tuple[str, Any]]:
    kind = spec.learner.rpartition(".")[2]
    points = spec.points
    for point in points[:1] + points[1:][-1:]:
        yield f"{spec.name}: {kind}({_told(point)})", new_learner(spec, point)


def _imported(file: Path) -> ModuleType:
    if file.suffix != ".py":
        raise UserError(f"{file} is not a Python file; name the file of a learner, my_learner.py")
    if not file.stem.isidentifier():
        raise UserError(
            f"{file}: {file.stem!r} cannot be imported; name it as a module, my_learner.py"
        )
    root = installed_root(file)
    place = file.name if root is None else file.resolve().relative_to(root.parent)
    module = module_at(".".join(Path(place).with_suffix("").parts), str(file))
    if Path(str(getattr(module, "__file__", ""))).resolve() != file.resolve():
        raise UserError(f"{file}: there is another module {file.stem!r}; give it another name")
    return module


def installed_root(file: Path) -> Path | None:
    """Return the folder of the installed package that a file belongs to: ours, an extension's."""
    roots = (PACKAGE, *(each.conf.resolve() for each in extensions()))
    return next((root for root in roots if file.resolve().is_relative_to(root)), None)


def _told(point: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in point.items())
