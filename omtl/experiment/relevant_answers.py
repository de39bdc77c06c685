"""The answers of a reading that can affect a data set: those on columns that show it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from omtl.experiment.config import questions, read_yaml
from omtl.experiment.papers import paper_files


def columns_with(paper: str, dataset: str) -> set[str]:
    """Return the names under which a paper's tables and figures show a data set."""
    shown = [
        each
        for pattern, key in (("table*.yaml", "columns"), ("fig*.yaml", "panels"))
        for path in paper_files(pattern)
        if path.parent.name == paper
        for each in read_yaml(path)[key]
    ]
    return {each.get("published", dataset) for each in shown if each["dataset"] == dataset}


def for_dataset(
    reading: Mapping[str, Any], dataset: str, typed: Collection[str] = ()
) -> dict[str, Any]:
    """Return a reading with only its answers that can affect a data set.

    Answers to questions without columns stay, and so do all if the paper does not have the data
    set.

    Parameters
    ----------
    reading : mapping
        A reading's config.
    dataset : str
        A name in ``conf/dataset``.
    typed : collection of str
        Questions whose answers stay in any case, because they were typed.
    """
    shown = columns_with(reading["paper"], dataset) if reading["answers"] else set()
    if not shown:
        return dict(reading)
    asked = questions(reading["paper"])
    moving = {
        question: answer
        for question, answer in reading["answers"].items()
        if question in typed
        or question not in asked
        or not asked[question]["columns"]
        or {*shown, dataset} & {*asked[question]["columns"]}
    }
    return {**reading, "answers": moving}
