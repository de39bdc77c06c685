"""Options shared by several commands, and how paths are printed."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import Any

AUTO_HELP = "; auto (default): as many of these as each verdict needs"

FLAGS = {
    "one-draw": "shuffle one draw of synthetic data, as the papers do; default: many draws",
    "dry-run": "show how many units would be computed and roughly how long that takes, then exit",
    "times": "replace the times in results/ with those just measured; default: keep them",
    "all": "include the cells that take hours; default: they are missing, with the reason",
    "json": "print JSON, for scripts",
    "full": "show all notes, not a summary",
}
"""Options without a value that several commands have, with their help."""

REQUEST = ("reading", "repeats", "seed", "selection")
PARALLEL = ("parallel", "jobs", "address")
"""The names of the options of `add_request_options` and `add_parallel_options`."""

ASKED = (*REQUEST, *PARALLEL, "one_draw", "times")
"""The options that a request for a table or figure consists of, if a command has them."""

MOST = 100_000
"""The largest count that an option takes; of more repeats, planning alone takes minutes."""


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


def listed_names(given: str | None) -> tuple[str, ...]:
    """Return the names of a list such as ``a,b``; none where it is not given."""
    return tuple(name.strip() for name in (given or "").split(",") if name.strip())


def add_run_options(command: argparse.ArgumentParser, auto: bool = False) -> None:
    """Add the options that say what to run, and how; `auto` is as in `add_request_options`."""
    add_request_options(command, auto)
    add_parallel_options(command)


def add_request_options(command: argparse.ArgumentParser, auto: bool = False) -> None:
    """Add the options that say which numbers of a table or figure are wanted.

    With `auto` as many repeats are played as the verdicts need, unless a number is given.
    """
    from omtl.experiment.descriptions import CLOSEST, READINGS

    command.add_argument(
        "--reading",
        default=CLOSEST,
        help=f"{', '.join(READINGS)}, or a name in conf/reading; default: {CLOSEST}",
    )
    command.add_argument(
        "--repeats",
        type=auto_or_count if auto else count_of_repeats,
        default="auto" if auto else None,
        help="a number of the paper's repeats, for each of which some tables play several; paper: "
        f"as many as published{AUTO_HELP if auto else ' (default)'}",
    )
    command.add_argument(
        "--seed", type=natural, default=0, help="seed of shuffles and draws; default: 0"
    )
    command.add_argument(
        "--selection",
        help="the rule that chooses hyper-parameters, in conf/selection; default: the table's own",
    )


def add_parallel_options(command: argparse.ArgumentParser) -> None:
    """Add what says by which workers units are computed."""
    command.add_argument("--jobs", type=positive, help="number of workers; default: one per core")
    command.add_argument(
        "--parallel",
        default="threads",
        help="threads (default), processes, serial, dask, ray, or a name in conf/parallel",
    )
    command.add_argument(
        "--address",
        help="address of a cluster's scheduler, for --parallel dask or ray; see docs/cluster.md",
    )


def add_flags(command: argparse.ArgumentParser, *names: str, **own: str) -> None:
    """Add options without a value: some of the `FLAGS`, and the command's own with their help."""
    for name, help_text in [*((name, FLAGS[name]) for name in names), *own.items()]:
        command.add_argument(f"--{name.replace('_', '-')}", action="store_true", help=help_text)


def refuse_ignored(
    options: argparse.Namespace,
    add_options: Callable[[argparse.ArgumentParser], None],
    why: str,
    *names: str,
) -> None:
    """Report options, added by a command's `add_options`, that would have no effect.

    Raises
    ------
    UserError
        If one of these names has another value than its default.
    """
    from omtl.util.errors import UserError

    parser = argparse.ArgumentParser()
    add_options(parser)
    for name in names:
        if getattr(options, name) != parser.get_default(name):
            raise UserError(f"{why}; leave --{name.replace('_', '-')} out")


def given_request(options: argparse.Namespace) -> dict[str, Any]:
    """Return which numbers are wanted, as `omtl.api.tables.RequestOptions`."""
    given = {name: getattr(options, name) for name in ASKED if hasattr(options, name)}
    return given | ({"slow": options.all} if hasattr(options, "all") else {})


def given_parallel(options: argparse.Namespace) -> dict[str, Any]:
    """Return by which workers units are computed."""
    return {name: getattr(options, name) for name in PARALLEL}


def print_json(content: Any) -> None:
    """Print JSON, with infinity as ``"inf"`` and NaN as null."""
    from omtl.util.result_files import strict_json

    print(strict_json(content))


def tell_written(paths: Iterable[Any]) -> None:
    """Print the files that were written, relative to the project's folder."""
    from omtl.util.paths import ROOT

    shown = [str(path.relative_to(ROOT) if path.is_relative_to(ROOT) else path) for path in paths]
    print("written: " + " ".join(shown))
