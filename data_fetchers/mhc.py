"""Peptides and how strongly they bind to MHC class I molecules.

The IEDB benchmark of Peters and others (2006): 48,828 measured affinities (IC50, in nM) of peptides
of 8 to 11 residues to 48 alleles, human, macaque, mouse and chimpanzee. A task is an allele; a
peptide is a binder if its IC50 is under a threshold. The data have no labels; 500 nM is the usual
threshold. An IC50 measured as a bound (``>`` or ``<``) counts as the bound.

The file is ``predictions_smm.txt`` with CRLF line ends. The other known public copies have LF line
ends and therefore another hash; the benchmark's own page has no address for this file.

Licence: unstated.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from itertools import product

import numpy as np
import pandas as pd

from data_fetchers._catalogue import catalogued, fetched
from data_fetchers._shared import check_counts, checked_choices, in_tasks
from omtl.data.streams import Tasks
from omtl.util.errors import UserError

NAME, LICENCE, CITATION, FILES = catalogued("mhc", "peters2006community")

VALUES = ("count", "presence")
AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"
LENGTHS = (8, 9, 10, 11)
BINDER_NM = 500.0


def short_name(allele: str) -> str:
    """Return an allele's name in options: 'A0201' for 'HLA A*0201', else as in the file."""
    if not allele.startswith("HLA "):
        return allele
    return allele.removeprefix("HLA ").replace("*", "")


def parse(content: bytes) -> pd.DataFrame:
    """Return the table of affinities, in the file's order, with alleles called as in options."""
    table = pd.read_csv(io.BytesIO(content), sep="\t")
    return table.assign(allele=table["allele"].map(short_name))


def bigrams(peptides: Sequence[str], value: str = "count") -> np.ndarray:
    """Return the bigram features of peptides.

    Parameters
    ----------
    peptides : sequence of str
        Residues, one letter each.
    value : {"count", "presence"}
        Whether an entry is the number of occurrences of the pair, or 1 if it occurs.

    Returns
    -------
    ndarray of shape (n_peptides, 400), float64
        A column for each pair of adjacent residues, in alphabetical order: AA, AC, ..., YY.
    """
    from sklearn.feature_extraction.text import CountVectorizer  # it loads slowly

    pairs = ["".join(pair) for pair in product(AMINO_ACIDS, repeat=2)]
    counted = CountVectorizer(
        analyzer="char", ngram_range=(2, 2), lowercase=False, vocabulary=pairs, dtype=np.float64
    )
    counts = counted.transform(peptides).toarray()
    return counts if value == "count" else np.minimum(counts, 1.0)


def load(
    *,
    alleles: Sequence[str] | None = None,
    lengths: Sequence[int] | None = None,
    threshold_nm: float = BINDER_NM,
    value: str = "count",
) -> Tasks:
    """Download the file if necessary, and make a task of each allele.

    Parameters
    ----------
    alleles : sequence of str, optional
        The alleles in the tasks' order, a human one as 'A0201', another as the file spells it;
        else all, in the file's order.
    lengths : sequence of int, optional
        The lengths of the peptides to keep, in residues; else all.
    threshold_nm : float
        A peptide is a binder, with label +1, if its IC50 is below this, in nM.
    value : {"count", "presence"}
        As in `bigrams`.

    Returns
    -------
    Tasks
        X : ndarray of shape (n_peptides, 400), 48,828 peptides in all, as in `bigrams`. The rows of
        a task are in the file's order.

    Raises
    ------
    DataMissing
        If the file is available nowhere.
    UserError
        An option is wrong, an allele has no peptide of these lengths, or the parsed counts are not
        as expected.
    """
    kept = checked_choices(NAME, "lengths", lengths, LENGTHS)
    checked_choices(NAME, "value", [value], VALUES)
    if not threshold_nm > 0:
        raise UserError(f"{NAME}: threshold_nm must be above 0, not {threshold_nm}.")

    table = parse(fetched(NAME, FILES)[0])
    check_counts(NAME, _counts(table))
    peptides, allele = table["sequence"], table["allele"]
    names = checked_choices(NAME, "alleles", alleles, allele.unique().tolist())
    is_kept = peptides.str.len().isin(kept)
    rows = [np.flatnonzero(is_kept & (allele == name)) for name in names]
    for name, own in zip(names, rows, strict=True):
        if not own.size:
            raise UserError(
                f"{NAME}: the allele {name} has no peptides of {', '.join(map(str, kept))} "
                "residues: choose other lengths, or leave it out."
            )
    order, task = in_tasks(rows)
    y = np.where(table["ic50"].to_numpy()[order] < threshold_nm, 1.0, -1.0)
    return Tasks(bigrams(peptides.iloc[order].tolist(), value), y, task, names)


def _counts(table: pd.DataFrame) -> dict[str, int]:
    """Return the numbers of peptides and of binders."""
    binders = table[table["ic50"] < BINDER_NM]
    return dict(
        Counter("peptides of " + table["sequence"].str.len().astype(str) + " residues")
        + Counter(table["allele"] + ": peptides")
        + Counter(binders["allele"] + ": binders")
    )
