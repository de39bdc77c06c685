"""What to cite: the papers of learners, as BibTeX, and those of data sets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import data_fetchers
from omtl.errors import UserError

BIBLIOGRAPHY = Path(__file__).with_name("references.bib")

SOURCES: dict[str, tuple[str, ...]] = {
    "omtl.learners.adagrad.AdaGrad": ("duchi2011adaptive",),
    "omtl.learners.arow.AROW": ("crammer2009adaptive",),
    "omtl.learners.batch.ITL": ("murugesan2016adaptive",),
    "omtl.learners.batch.SHAMO": ("crammer2012learning",),
    "omtl.learners.batch.SMTLExponential": ("murugesan2016adaptive",),
    "omtl.learners.batch.SMTLThreshold": ("murugesan2016adaptive",),
    "omtl.learners.batch.STL": ("murugesan2016adaptive",),
    "omtl.learners.cavallanti.MultiPerceptron": ("cavallanti2010linear",),
    "omtl.learners.coml.COML": ("li2014collaborative",),
    "omtl.learners.dom.DA": ("zhang2018distributed", "duchi2012dual"),
    "omtl.learners.dom.DOM1": ("zhang2018distributed",),
    "omtl.learners.dom.DOM2": ("zhang2018distributed",),
    "omtl.learners.dom.DST": ("zhang2018distributed",),
    "omtl.learners.dom.NS": ("zhang2018distributed",),
    "omtl.learners.gradient.GradientDescent": ("zinkevich2003online",),
    "omtl.learners.lifelong.AKLO": ("shui2018accumulating",),
    "omtl.learners.lifelong.OGD": ("shui2018accumulating", "zinkevich2003online"),
    "omtl.learners.lmnn.MTLMNN": ("parameswaran2010large", "weinberger2009distance"),
    "omtl.learners.majority.Majority": (),
    "omtl.learners.omtl.OMTLCovariance": ("saha2011online",),
    "omtl.learners.omtl.OMTLLogDet": ("saha2011online",),
    "omtl.learners.omtl.OMTLVonNeumann": ("saha2011online",),
    "omtl.learners.osgl.OSGL": ("dekel2007online",),
    "omtl.learners.osgl.OSGLImplicit": ("dekel2007online",),
    "omtl.learners.osmtl.OSMTLExponential": ("murugesan2016adaptive",),
    "omtl.learners.osmtl.OSMTLThreshold": ("murugesan2016adaptive",),
    "omtl.learners.passive_aggressive.PassiveAggressive": ("crammer2006online",),
    "omtl.learners.perceptron.Perceptron": ("rosenblatt1958perceptron",),
    "omtl.learners.rom.ROMPGD": ("zhang2016rom",),
    "omtl.learners.rom.ROMRDA": ("zhang2016rom",),
    "omtl.learners.similarity.OGRSL": ("chechik2010large",),
    "omtl.learners.similarity.OMTRSL": ("hao2017online",),
    "omtl.learners.similarity.OMTRSLActive": ("hao2017online", "cesabianchi2006worst"),
    "omtl.learners.similarity.OMTRSLRandom": ("hao2017online",),
    "omtl.learners.similarity.OSTRSL": ("chechik2010large",),
    "omtl.learners.untrained.Untrained": (),
}
"""The papers of each learner, by their keys in the bibliography; none of those made here."""

PAPERS = {
    "aklo": "shui2018accumulating",
    "dom": "zhang2018distributed",
    "omtrsl": "hao2017online",
    "osmtl": "murugesan2016adaptive",
    "rom": "zhang2016rom",
}
"""The papers that are reproduced, by the names of their folders in ``experiments/``."""


def entries(text: str) -> dict[str, str]:
    """Return the entries of a bibliography by their keys."""
    found = re.findall(r"^(@\w+\{([^,]+),\n.*?^\})", text, flags=re.DOTALL | re.MULTILINE)
    return {key: entry for entry, key in found}


def bibtex(
    learners: Iterable[str], datasets: Iterable[dict[str, Any]], papers: Iterable[str] = ()
) -> str:
    """Return the BibTeX of all that a run uses, by keys sorted.

    Parameters
    ----------
    learners : iterable of str
        Dotted paths; those of a user's own have no entry.
    datasets : iterable of dict
        Resolved configs of data sets.
    papers : iterable of str
        Names of reproduced papers.

    Raises
    ------
    UserError
        If a learner of the project is not in the table of sources.
    """
    known = entries(BIBLIOGRAPHY.read_text(encoding="utf-8"))
    used = {key: known[key] for key in (PAPERS[paper] for paper in papers)}
    for learner in learners:
        if learner.startswith("omtl.") and learner not in SOURCES:
            raise UserError(f"{learner} has no source; write one in omtl/references.py")
        used |= {key: known[key] for key in SOURCES.get(learner, ())}
    for dataset in datasets:
        module = data_fetchers.data_set(dataset.get("module", dataset["name"]))
        used |= entries(module.CITATION)
    return "\n\n".join(used[key] for key in sorted(used)) + "\n"
