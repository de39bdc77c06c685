"""Write tables, figures, data sets, records of runs and citations in standard formats.

Examples
--------
omtl export dom-table1 --to paper
omtl export dom-fig2
omtl export landmine --to data
omtl export .omtl/sweeps --by-repeat --to runs
omtl export dom-table1 dom-fig2 --to paper --ro-crate
omtl export --bibtex algorithm=coml dataset=landmine
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from omtl.commands._options import ONE_DRAW, REQUEST, flag, option, refuse_ignored, tell_written

GROUP = "manage"
FILES = (option("--to", type=Path, default=Path()), flag("ro-crate"), flag("by-repeat"))
OPTIONS = (option("what", nargs="+", metavar="WHAT"), flag("bibtex"), *(*FILES, *REQUEST, ONE_DRAW))


def run(what: Sequence[str], bibtex: bool, **given: Any) -> None:
    """Write files from the store, the published results or records, or print citations.

    Parameters
    ----------
    what
        tables, figures, data sets, folders with records of runs; with --bibtex, overrides
    bibtex
        only print the citations for a run with these overrides (as for omtl run)
    to
        where to write; default: the current folder
    ro_crate
        also write ro-crate-metadata.json, which describes each file
    by_repeat
        of records of runs, write one row per repeat instead of one per run
    **given
        The options that several commands have.
    """
    from omtl.api import exports

    if bibtex:
        refuse_ignored((*FILES, *REQUEST, ONE_DRAW), given, "--bibtex only prints citations")
        print(exports.citations(what), end="")
        return
    kept = [exports.is_records(name) for name in what]
    if not any(kept):
        why = "a row for each repeat is for records of runs; a table's are in its .repeats.csv"
        refuse_ignored(FILES, given, why, "by_repeat")
    if all(is_kept or exports.is_data(name) for name, is_kept in zip(what, kept, strict=True)):
        why = "a data set is exported as its config has it, and records as they were run"
        refuse_ignored((*REQUEST, ONE_DRAW), given, why)
    for said, paths in exports.export(what, given.pop("to"), **given):
        print(said)
        tell_written(paths)
