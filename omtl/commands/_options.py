"""Options of commands, those that several have declared once; and how paths are printed.

An option is called what the function of the API calls it that takes it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from typing import Any

MOST = 100_000
"""The largest count that an option takes; of more repeats, planning alone takes minutes."""


Option = tuple[tuple[str, ...], Mapping[str, Any]]
"""An argument of a command: names and settings, as `add_argument` of argparse takes them."""


def option(*names: str, **settings: Any) -> Option:
    """Return an argument of a command, which `run` describes unless `help` does."""
    if settings.get("nargs") == "*":
        settings.setdefault("default", ())  # without one, argparse calls it required
    return names, settings


def flag(name: str, text: str | None = None, **settings: Any) -> Option:
    """Return an option without a value, which `run` describes unless the text does."""
    return option(f"--{name}", action="store_true", help=text, **settings)


def positive(text: str) -> int:
    """Return a positive whole number.

    Raises
    ------
    argparse.ArgumentTypeError
        If the text is not such a number, or one above `MOST`.
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a positive whole number")
    if int(text) > MOST:
        raise argparse.ArgumentTypeError(f"{text} is more than {MOST}")
    return int(text)


def count_of_repeats(text: str) -> int | None:
    """Return a number of repeats; None for ``paper``, as many as the paper has.

    Raises
    ------
    argparse.ArgumentTypeError
        If the text is neither.
    """
    return None if text == "paper" else positive(text)


def auto_or_count(text: str) -> int | str | None:
    """Return what `count_of_repeats` does, or ``auto``: as many as a verdict needs."""
    return text if text == "auto" else count_of_repeats(text)


def natural(text: str) -> int:
    """Return a non-negative whole number.

    Raises
    ------
    argparse.ArgumentTypeError
        If the text is not such a number.
    """
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is not a non-negative whole number")
    return int(text)


def listed_names(text: str) -> tuple[str, ...]:
    """Return the names of a list such as ``a,b``."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


REPEATS_HELP = (
    "a number of the paper's repeats, for each of which some tables play several; paper: as many "
    "as published"
)

READING = option(
    "--reading",
    help="as_published (default), as_written, as_read, blind, or a name in conf/reading",
)
REPEATS = option("--repeats", type=count_of_repeats, help=f"{REPEATS_HELP} (default)")
AUTO_REPEATS = option(
    "--repeats",
    type=auto_or_count,
    default="auto",
    help=f"{REPEATS_HELP}; auto (default): as many of these as each verdict needs",
)
SEED = option("--seed", type=natural, default=0, help="seed of shuffles and draws; default: 0")
SELECTION = option(
    "--selection",
    help="the rule that chooses hyper-parameters, in conf/selection; default: the table's own",
)
REQUEST = (READING, REPEATS, SEED, SELECTION)
"""Which numbers of a table or figure are wanted (`omtl.tables.request.RequestOptions`)."""

AUTO_REQUEST = (READING, AUTO_REPEATS, SEED, SELECTION)
"""The same of a table, which by default has as many repeats as each verdict needs."""

PARALLEL = (
    option("--jobs", type=positive, help="number of workers; default: one per core"),
    option(
        "--parallel",
        default="threads",
        help="threads (default), processes, serial, dask, ray, or a name in conf/parallel",
    ),
    option(
        "--address",
        help="address of a cluster's scheduler, for --parallel dask or ray; see docs/cluster.md",
    ),
)
"""By which workers units are computed."""

ONE_DRAW = flag(
    "one-draw", "shuffle one draw of synthetic data, as the papers do; default: many draws"
)
DRY_RUN = flag(
    "dry-run",
    "show how many units would be computed and roughly how long that takes, then exit",
)
TIMES = flag("times", "replace the times in results/ with those just measured; default: keep them")
ALL = flag(
    "all",
    "include the cells that take hours; default: they are missing, with the reason",
    dest="slow",
)
JSON = flag("json", "print JSON, for scripts", dest="as_json")


def refuse_ignored(
    options: Iterable[Option], given: Mapping[str, Any], why: str, *names: str
) -> None:
    """Report which of some options, by default all, were given though they have no effect.

    Raises
    ------
    UserError
        With the reason, `why`, if one of them has another value than its default.
    """
    from omtl.util.errors import UserError

    parser = argparse.ArgumentParser()
    actions = [parser.add_argument(*words, **settings) for words, settings in options]
    defaults = {action.dest: action.default for action in actions}
    for name in names or defaults:
        if name in given and given[name] != defaults[name]:
            raise UserError(f"{why}; leave --{name.replace('_', '-')} out")


def print_json(content: Any) -> None:
    """Print JSON, with infinity as ``"inf"`` and NaN as null."""
    from omtl.util.result_files import strict_json

    print(strict_json(content))


def tell_written(paths: Iterable[Any]) -> None:
    """Print the files that were written, relative to the working folder."""
    from omtl.util.paths import shown_path

    print("written: " + (" ".join(map(shown_path, paths)) or "nothing"))
