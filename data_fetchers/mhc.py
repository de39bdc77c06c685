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

from collections import Counter
from collections.abc import Sequence
from itertools import product

import numpy as np

from data_fetchers._catalogue import catalogued, fetched
from data_fetchers._shared import check_counts, checked_choices, in_tasks, read_lines
from omtl.data.streams import Tasks
from omtl.util.errors import UserError

NAME, LICENCE, CITATION, FILES = catalogued("mhc", "peters2006community")

VALUES = ("count", "presence")
AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"
COLUMNS = ("species", "allele", "length", "cv", "sequence", "inequality", "ic50", "smm")
LENGTHS = (8, 9, 10, 11)
BINDER_NM = 500.0

Measurement = tuple[str, str, float]
"""An allele as in options (`short_name`), a peptide's residues, and the affinity in nM."""


def short_name(allele: str) -> str:
    """Return an allele's name in options: 'A0201' for 'HLA A*0201', else as in the file."""
    if not allele.startswith("HLA "):
        return allele
    return allele.removeprefix("HLA ").replace("*", "")


def parse(text: str) -> list[Measurement]:
    """Read the table of affinities, in the file's order.

    Parameters
    ----------
    text : str
        The file's content: column names, then one line per measurement, separated by tabs.

    Raises
    ------
    UserError
        If a line has another format.
    """

    def read(line: str) -> Measurement:
        _, allele, _, _, peptide, _, ic50, _ = line.split("\t")
        if not set(peptide) <= set(AMINO_ACIDS):
            raise ValueError(f"other letters than {AMINO_ACIDS}")
        return short_name(allele), peptide, float(ic50)

    header, _, table = text.partition("\n")
    if tuple(header.split("\t")) != COLUMNS:
        raise UserError(f"{NAME}: line 1 must have the columns {' '.join(COLUMNS)}: {header!r}.")
    form = f"{len(COLUMNS)} columns, with amino acids as sequence and a number as ic50"
    return read_lines(NAME, table, read, form, first=2)


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

    measured = parse(fetched(NAME, FILES)[0].decode("ascii").replace("\r\n", "\n"))
    check_counts(NAME, _counts(measured))
    allele, peptides, ic50 = map(np.array, zip(*measured, strict=True))
    names = checked_choices(NAME, "alleles", alleles, tuple(dict.fromkeys(allele.tolist())))
    is_kept = np.isin(np.char.str_len(peptides), kept)
    rows = [np.flatnonzero(is_kept & (allele == name)) for name in names]
    for name, own in zip(names, rows, strict=True):
        if not own.size:
            raise UserError(
                f"{NAME}: the allele {name} has no peptides of {', '.join(map(str, kept))} "
                "residues: choose other lengths, or leave it out."
            )
    order, task = in_tasks(rows)
    y = np.where(ic50[order] < threshold_nm, 1.0, -1.0)
    return Tasks(bigrams(peptides[order].tolist(), value), y, task, names)


def _counts(measured: Sequence[Measurement]) -> dict[str, int]:
    """Return the numbers of peptides and of binders."""
    return dict(
        Counter(f"peptides of {len(peptide)} residues" for _, peptide, _ in measured)
        + Counter(f"{allele}: peptides" for allele, _, _ in measured)
        + Counter(f"{allele}: binders" for allele, _, ic50 in measured if ic50 < BINDER_NM)
    )
