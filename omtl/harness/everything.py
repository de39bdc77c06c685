"""Reproducing everything: all tables under both readings, all figures, the ledgers; summed up."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rich.console import Console

from omtl.errors import UserError, WriteError
from omtl.harness import ledger, plan, reproduce
from omtl.harness.honesty import honest_rule, write_honesty
from omtl.harness.reproduce import Wanted
from omtl.harness.selection import HONEST
from omtl.harness.store import Store
from omtl.harness.summary import Summary


def reproduce_everything(
    wanted: Wanted, store: Store, console: Console, dear: bool = False
) -> Summary:
    """Reproduce all tables, as written and as published, and all figures as wanted.

    Tables that are chosen in hindsight are also made by the honest rule, and compared with it;
    the counts are of those by the papers' rules. A reading of a table that is `too_dear`, by its
    description, is left out unless `dear`.

    What fails is told on standard error and in the summary; the rest goes on.
    """
    summary = Summary()

    def attempt(what: str, job: Callable[..., Any], *arguments: Any) -> Any:
        try:
            done = job(*arguments)
        except WriteError:
            raise  # the others could not be kept either
        except UserError as fault:
            told = str(fault)
        except Exception as fault:  # the fault of one must leave the others alone
            told = f"{type(fault).__name__}: {fault}"
        else:
            if getattr(done, "broken", False):
                summary.failures.append(f"{what}: units failed, as its notes tell")
            return done
        summary.failures.append(f"{what}: {told}")
        print(f"omtl: {what}: {told}", file=sys.stderr)
        return None

    def test(name: str, wanted: Wanted) -> None:
        what = f"statistics of {name}, {wanted.reading}"
        attempt(what, reproduce.reproduce_statistics, name, wanted, store)

    for name in plan.descriptions("table"):
        description = plan.describe("table", name)
        for reading in ledger.READINGS:
            under = replace(wanted, reading=reading)
            account = summary.of(description["paper"], reading)
            what = f"{name}, {reading}"
            why = description.get("too_dear", {}).get(reading)
            if why and not dear:
                summary.left_out.append(f"{what}: {why}")
                continue
            done = attempt(what, reproduce.reproduce_table, name, under, store, console)
            if done is None:
                continue
            account.verdicts.update(s.verdict for s in done.scored if not s.cell.is_ours)
            account.claims.update(done.claims["outcome"])
            if any(scored.values.size for scored in done.scored):
                test(name, under)
            own = description["selection"]
            if wanted.selection is None and honest_rule(own) != own:
                fair = replace(under, selection=HONEST)
                attempt(f"{what}, {HONEST}", reproduce.reproduce_table, name, fair, store, console)
    for name in plan.descriptions("figure"):
        account = summary.of(plan.describe("figure", name)["paper"], wanted.reading)
        account.figures += 1
        made = attempt(name, reproduce.reproduce_figure, name, wanted, store)
        if made is None:
            continue
        account.drawn += 1
        account.claims.update(made.claims["outcome"])
        if len(made.claims):
            test(name, wanted)
    attempt("claims", ledger.write_ledgers)
    if wanted.selection is None and wanted.seed == 0:
        attempt("honesty", write_honesty, store, wanted.repeats)
    return summary
