"""What to cite: the papers of learners, as BibTeX, and those of data sets."""

from __future__ import annotations

from collections.abc import Iterable

from omtl.experiment.schema import read_yaml
from omtl.experiment.specs import AlgorithmSpec, DataSetSpec
from omtl.util.bibliography import BIBLIOGRAPHY, bibtex_entries
from omtl.util.errors import UserError
from omtl.util.paths import EXPERIMENTS

PAPERS = {
    path.parent.name: read_yaml(path)["cites"] for path in sorted(EXPERIMENTS.glob("*/paper.yaml"))
}
"""The reproduced papers, by the names of their folders in ``experiments/``."""


def bibtex(
    algorithms: Iterable[AlgorithmSpec],
    datasets: Iterable[DataSetSpec],
    papers: Iterable[str] = (),
) -> str:
    """Return the BibTeX entries for everything that a run uses, sorted by key.

    Parameters
    ----------
    algorithms, datasets : iterable of Spec
    papers : iterable of str
        Names of papers; a user's own has no key, and is left out.

    Raises
    ------
    UserError
        If a key is not in the bibliography.
    """
    known = bibtex_entries(BIBLIOGRAPHY.read_text(encoding="utf-8"))
    used = {key: known[key] for key in (PAPERS[paper] for paper in papers if paper in PAPERS)}
    for algorithm in algorithms:
        for key in algorithm.cites:
            if key not in known:
                raise UserError(
                    f"algorithm {algorithm.name}: cites {key!r}, which "
                    f"omtl/reproduction/{BIBLIOGRAPHY.name} does not have"
                )
            used[key] = known[key]
    for dataset in datasets:
        used |= bibtex_entries(dataset.fetcher.CITATION)
    return "\n\n".join(used[key] for key in sorted(used)) + "\n"
