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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import numpy as np

from data_fetchers._checks import by_name, chosen, expect_counts
from data_fetchers._sampling import in_tasks
from data_fetchers.fetch import RemoteFile, fetch, pinned
from omtl.data.streams import Tasks
from omtl.util.errors import UserError

NAME = "mhc"
LICENCE = "unstated"
CITATION = """\
@article{peters2006community,
  author = {Peters, Bjoern and Bui, Huynh-Hoa and Frankild, Sune and Nielsen, Morten and
            Lundegaard, Claus and Kostem, Emrah and others},
  title = {A Community Resource Benchmarking Predictions of Peptide Binding to {MHC-I} Molecules},
  journal = {PLoS Computational Biology},
  volume = {2},
  number = {6},
  pages = {e65},
  year = {2006}
}
"""

FILES: tuple[RemoteFile, ...] = (
    RemoteFile(
        "predictions_smm.txt",
        "0257c5db91150e1b1622704b2d6697c7322397963ac39b1cc0e7b3b55d525ddb",
        2_403_737,
        (
            pinned(
                "laurasansc/algorithms_bioinformatics",
                "33f509b76919724252b6bdae903e33fec7c33d54",
                "data/raw/predictions_smm.txt",
            ),
        ),
    ),
)

VALUES = ("count", "presence")
AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"
COLUMNS = ("species", "allele", "length", "cv", "sequence", "inequality", "ic50", "smm")
BINDER_NM = 500.0
PEPTIDES_BY_LENGTH = {8: 1619, 9: 32302, 10: 13660, 11: 1247}
PEPTIDES_AND_BINDERS = {
    "Patr A*0901": (89, 77),
    "Patr B*0101": (132, 24),
    "HLA A*0101": (1213, 121),
    "HLA A*0201": (4405, 1708),
    "HLA A*0202": (2503, 1110),
    "HLA A*0203": (2498, 1109),
    "HLA A*0206": (2491, 861),
    "HLA A*0301": (3176, 927),
    "HLA A*1101": (3078, 1166),
    "HLA A*2301": (104, 49),
    "HLA A*2402": (275, 127),
    "HLA A*2403": (254, 29),
    "HLA A*2601": (672, 53),
    "HLA A*2902": (215, 76),
    "HLA A*3001": (669, 77),
    "HLA A*3002": (92, 29),
    "HLA A*3101": (2926, 742),
    "HLA A*3301": (2195, 331),
    "HLA A*6801": (2196, 938),
    "HLA A*6802": (2485, 660),
    "HLA A*6901": (833, 86),
    "HLA B*0702": (1467, 287),
    "HLA B*0801": (708, 21),
    "HLA B*1501": (978, 179),
    "HLA B*1801": (118, 47),
    "HLA B*2705": (969, 56),
    "HLA B*3501": (913, 257),
    "HLA B*4001": (1078, 40),
    "HLA B*4002": (118, 39),
    "HLA B*4402": (119, 44),
    "HLA B*4403": (119, 34),
    "HLA B*4501": (114, 49),
    "HLA B*5101": (421, 109),
    "HLA B*5301": (431, 153),
    "HLA B*5401": (432, 125),
    "HLA B*5701": (59, 11),
    "HLA B*5801": (988, 104),
    "Mamu A*01": (1678, 582),
    "Mamu A*02": (845, 374),
    "Mamu A*11": (1176, 397),
    "Mamu B*01": (753, 81),
    "Mamu B*17": (843, 128),
    "H-2 Db": (437, 92),
    "H-2 Dd": (160, 31),
    "H-2 Kb": (703, 230),
    "H-2 Kd": (246, 72),
    "H-2 Kk": (352, 167),
    "H-2 Ld": (102, 16),
}
"""For each allele, in the file's order: number of peptides, and of those under 500 nM."""


def short_name(allele: str) -> str:
    """Return an allele's name in options: 'A0201' for 'HLA A*0201', else as in the file."""
    if not allele.startswith("HLA "):
        return allele
    return allele.removeprefix("HLA ").replace("*", "")


@dataclass(frozen=True)
class Measurements:
    """Parsed affinities, one per row of the file.

    Parameters
    ----------
    allele : ndarray of shape (n_rows,), str
        The alleles as the file spells them.
    peptide : ndarray of shape (n_rows,), str
        The peptides' residues, one letter each.
    ic50 : ndarray of shape (n_rows,), float64
        The affinities, in nM; the lower, the stronger.
    """

    allele: np.ndarray
    peptide: np.ndarray
    ic50: np.ndarray


def parse(text: str) -> Measurements:
    """Read the table of affinities.

    Parameters
    ----------
    text : str
        The file's content: column names, then one line per measurement, separated by tabs.

    Returns
    -------
    Measurements
        The measurements in the file's order.

    Raises
    ------
    UserError
        If a line has another format.
    """
    header, *lines = text.splitlines() or [""]
    if tuple(header.split("\t")) != COLUMNS:
        raise UserError(f"{NAME}: line 1 must have the columns {' '.join(COLUMNS)}: {header!r}.")
    alleles: list[str] = []
    peptides: list[str] = []
    ic50: list[float] = []
    for at, line in enumerate(lines, start=2):
        try:
            _, allele, _, _, peptide, _, affinity, _ = line.split("\t")
            ic50.append(float(affinity))
        except ValueError as fault:
            raise UserError(
                f"{NAME}: line {at} must have {len(COLUMNS)} columns, with a number as ic50: "
                f"{line!r}."
            ) from fault
        alleles.append(allele)
        peptides.append(peptide)
    return Measurements(
        np.array(alleles, dtype=np.str_), np.array(peptides, dtype=np.str_), np.array(ic50)
    )


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

    Raises
    ------
    UserError
        If a letter is none of the 20 amino acids'.
    """
    column = {pair: k for k, pair in enumerate(product(AMINO_ACIDS, repeat=2))}
    counts = np.zeros((len(peptides), len(column)))
    for row, peptide in zip(counts, peptides, strict=True):
        if not set(peptide) <= set(AMINO_ACIDS):
            raise UserError(
                f"{NAME}: the peptide {peptide!r} has other letters than {AMINO_ACIDS}."
            )
        for pair in pairwise(peptide):
            row[column[pair]] += 1.0
    return counts if value == "count" else np.minimum(counts, 1.0)


def load(
    *,
    home: Path | None = None,
    alleles: Sequence[str] | None = None,
    lengths: Sequence[int] | None = None,
    threshold_nm: float = BINDER_NM,
    value: str = "count",
) -> Tasks:
    """Download the file if necessary, and make a task of each allele.

    Parameters
    ----------
    home : Path, optional
        The folder of all data sets, as in `data_fetchers.fetch.fetch`.
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
        X : ndarray of shape (n_peptides, 400), as in `bigrams`. The rows of a task are in the
        file's order.

    Raises
    ------
    DataMissing
        If the file is available nowhere.
    UserError
        An option is wrong, an allele has no peptide of these lengths, or the parsed counts are not
        as expected.
    """
    spelt = {short_name(allele): allele for allele in PEPTIDES_AND_BINDERS}
    names = chosen(NAME, "alleles", alleles, spelt)
    kept = chosen(NAME, "lengths", lengths, PEPTIDES_BY_LENGTH)
    chosen(NAME, "value", [value], VALUES)
    if not threshold_nm > 0:
        raise UserError(f"{NAME}: threshold_nm must be above 0, not {threshold_nm}.")

    measured = parse(fetch(NAME, FILES[0], home=home).read_text(encoding="ascii"))
    spellings, number = np.unique(measured.allele, return_inverse=True)
    n_binders = np.bincount(number, measured.ic50 < BINDER_NM)
    pairs = zip(np.bincount(number), n_binders, strict=True)
    length = np.strings.str_len(measured.peptide)
    expect_counts(
        NAME,
        _counts(PEPTIDES_BY_LENGTH, PEPTIDES_AND_BINDERS),
        _counts(Counter(length.tolist()), dict(zip(spellings.tolist(), pairs, strict=True))),
    )

    right_length = np.isin(length, kept)
    rows = [np.flatnonzero((measured.allele == spelt[name]) & right_length) for name in names]
    for name, row in zip(names, rows, strict=True):
        if not row.size:
            raise UserError(
                f"{NAME}: the allele {name} has no peptides of {', '.join(map(str, kept))} "
                "residues: choose other lengths, or leave it out."
            )
    order, task = in_tasks(rows)
    y = np.where(measured.ic50[order] < threshold_nm, 1.0, -1.0)
    return Tasks(bigrams(measured.peptide[order].tolist(), value), y, task, names)


def _counts(by_length: Mapping[int, int], by_allele: Mapping[str, Any]) -> dict[str, int]:
    of_length = {f"peptides of {n} residues": count for n, count in by_length.items()}
    return of_length | by_name(by_allele, "peptides", "binders")
