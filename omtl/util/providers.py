"""Where configs, papers and modules come from: this package, installed extensions, your own folder.

An extension is an installed package that names itself under the entry point group `ENTRY_POINTS`::

    [project.entry-points."omtl.extensions"]
    smith2020 = "omtl_smith2020"

Its folder has the layout of a user's own folder: ``algorithm/``, ``dataset/``, ``reading/``,
``experiments/`` and ``results/published/``. Its modules are imported by their full names.
"""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from omtl.util.errors import UserError
from omtl.util.paths import CONF, EXPERIMENTS, PACKAGE, PUBLISHED
from omtl.util.user_folder import module_folders, own_folder

ENTRY_POINTS = "omtl.extensions"
"""The entry point group of extensions."""


class Provider(NamedTuple):
    """Something that adds options and papers.

    Parameters
    ----------
    name : str
        What to call it in a message.
    conf : Path
        The folder with a folder for each group of options.
    experiments : Path
        The folder with a folder for each paper.
    published : Path
        The folder of published numbers.
    package : str
        The package of its modules, if it is an extension.
    """

    name: str
    conf: Path
    experiments: Path
    published: Path
    package: str = ""

    @staticmethod
    def of_folder(name: str, folder: Path, package: str = "") -> Provider:
        """Return the provider with the layout of a user's own folder."""
        experiments, published = folder / "experiments", folder / "results" / "published"
        return Provider(name, folder, experiments, published, package)


OURS = Provider("conf/", CONF, EXPERIMENTS, PUBLISHED)


@lru_cache
def extensions() -> tuple[Provider, ...]:
    """Return the installed extensions, sorted by name.

    Raises
    ------
    UserError
        If the package that one names is not there.
    """
    from importlib.metadata import entry_points  # help does without

    found = []
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda point: point.name):
        package = point.value.partition(":")[0]
        try:
            spec = find_spec(package)
        except ImportError:
            spec = None
        if "." in package or spec is None or not spec.submodule_search_locations:
            raise UserError(
                f"extension {point.name!r} names {point.value!r}, which is not an installed "
                "package; install it again, or uninstall it"
            )
        folder = Path(spec.submodule_search_locations[0])
        found.append(Provider.of_folder(f"extension {point.name}", folder, package))
    return tuple(found)


def providers() -> list[Provider]:
    """Return all providers: the package, the extensions, and the user's own folder."""
    mine = own_folder()
    if mine is None or mine.resolve() in (CONF, CONF.parent):
        return [OURS, *extensions()]
    return [OURS, *extensions(), Provider.of_folder("your own folder", mine)]


def provider_of(path: Path) -> Provider:
    """Return the provider of the file of an option."""
    found = (each for each in providers() if path.is_relative_to(each.conf))
    return max(found, key=lambda each: len(each.conf.parts))


def extension_of(path: Path) -> str | None:
    """Return the package of the extension that a file belongs to, or None."""
    found = (each.package for each in extensions() if path.is_relative_to(each.conf))
    return next(found, None)


def is_ours(name: str) -> bool:
    """Whether a module is of the project."""
    return name.partition(".")[0] in ("omtl", "data_fetchers")


def module_file(name: str) -> Path | None:
    """Return the file of a module of the project, an extension or the user's own, or None."""
    top, place = name.partition(".")[0], name.replace(".", "/")
    if is_ours(name):
        folders = [PACKAGE.parent]
    else:
        added = [each.conf.parent for each in extensions() if each.package == top]
        folders = [*added, *module_folders()]
    files = (
        folder / path for folder in folders for path in (f"{place}.py", f"{place}/__init__.py")
    )
    return next(filter(Path.is_file, files), None) if name else None


def added_module(name: str) -> Path | None:
    """Return the file of a module of an extension or of the user's own, or None."""
    return None if is_ours(name) else module_file(name)
