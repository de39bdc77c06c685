"""Reproducing everything: all tables under both readings, all figures, the ledgers; summed up."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rich.console import Console

from omtl.errors import UserError
from omtl.harness import ledger, plan, reproduce
from omtl.harness.reproduce import Wanted
from omtl.harness.store import Store
from omtl.harness.summary import Summary


def reproduce_everything(wanted: Wanted, store: Store, console: Console) -> Summary:
    """Reproduce all tables, as written and as published, and all figures as wanted.

    What fails is told on standard error and in the summary; the rest goes on.
    """
    summary = Summary()

    def attempt(what: str, job: Callable[..., Any], *arguments: Any) -> Any:
        try:
            done = job(*arguments)
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
        for reading in ledger.READINGS:
            under = replace(wanted, reading=reading)
            account = summary.of(plan.describe("table", name)["paper"], reading)
            what = f"{name}, {reading}"
            done = attempt(what, reproduce.reproduce_table, name, under, store, console)
            if done is None:
                continue
            account.verdicts.update(scored.verdict for scored in done.scored)
            account.claims.update(done.claims["outcome"])
            if any(scored.values.size for scored in done.scored):
                test(name, under)
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
    return summary
