"""``omtl compare``: compare a learner with baselines on the same streams, with tests."""

from __future__ import annotations

import argparse
from pathlib import Path

from omtl.commands._options import add_flags, listed_names, print_json, tell_written

GROUP = "test my method"
HELP = "compare a learner with every baseline, with intervals and tests"
EXAMPLES = (
    "compare algorithm=my_learner dataset=landmine",
    "compare algorithm=coml dataset=my_data --only pa,pm repeats=20",
    "compare algorithm=my_learner dataset=landmine,spam,sentiment --to paper/",
    "compare algorithm=my_learner dataset=landmine --with rom_rda_rates --json",
)


def add_options(command: argparse.ArgumentParser) -> None:
    """Add the options that choose what to compare, and on which data."""
    command.add_argument(
        "overrides",
        nargs="+",
        metavar="NAME=VALUE",
        help="the learner and the data, as for omtl run",
    )
    command.add_argument("--with", dest="more", metavar="NAMES", help="add these algorithms: a,b")
    command.add_argument("--only", metavar="NAMES", help="compare with these algorithms only: a,b")
    command.add_argument("--metric", default="error", help="default: error; auc uses selection=cv5")
    command.add_argument(
        "--to",
        type=Path,
        metavar="FOLDER",
        help="also write CSV, LaTeX, learning curves and ranks to this folder",
    )
    add_flags(command, "dry-run", "json")


def run(options: argparse.Namespace) -> None:
    """Compute missing units and print the learner among the others, best first."""
    from omtl.api.comparisons import compare

    only, also = listed_names(options.only) or None, listed_names(options.more)
    sets = [word for word in options.overrides if word.startswith("dataset=")]
    rest = [word for word in options.overrides if word not in sets]
    data = dict.fromkeys(name for word in sets for name in listed_names(word.partition("=")[2]))
    found = compare(None, list(data) or None, *rest, against=only, also=also, metric=options.metric)
    print_json(found.as_json()) if options.json else found.show()
    if options.to is not None:
        paths = found.write(options.to)
        if not options.json:
            tell_written(paths)
