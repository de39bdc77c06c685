"""Reviews of sixteen kinds, labelled by sentiment: tokenised texts.

The data of Liu, Qiu and Huang (2017), "FDU-MTL": about 2,000 labelled reviews of each of 14 kinds
of Amazon's products, from the multi-domain sentiment data set of Blitzer, Dredze and Pereira
(2007), and of films from IMDB and MR. A task is a domain, with the authors' training and test
reviews together. A line is a review: 1 or 0 for positive or negative, a tab, and its tokens with
spaces between them.

Licence: unstated.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from data_fetchers._catalogue import catalogued, fetched
from data_fetchers._shared import Review, checked_choices, lines_of, review_tasks
from omtl.data.streams import Tasks

NAME, LICENCE, CITATION, FILES = catalogued("sentiment16", "liu2017adversarial")
FOLDER = "sentiment"
"""The folder of the files, shared with the same collection's other version."""

DOMAINS = tuple(dict.fromkeys(Path(file.path).name.split(".")[0] for file in FILES))
FILMS = ("MR", "imdb")
"""The domains that are not kinds of Amazon's products."""
LABELS = {"0": -1.0, "1": 1.0}


def parse(text: str) -> list[Review]:
    """Return the text and the label of each review of a file.

    Parameters
    ----------
    text : str
        Content of a ``.task.train`` or ``.task.test`` file.
    """
    reviews = (line.split("\t", 1) for line in lines_of(text))
    return [(review, LABELS[label.strip()]) for label, review in reviews]


def load(
    *,
    domains: Sequence[str] | None = None,
    value: str = "count",
    ngrams: int | Collection[int] = 1,
) -> Tasks:
    """Download the files if necessary, and make a task of each domain.

    Parameters
    ----------
    domains : sequence of str, optional
        The domains, in the tasks' order; default: all kinds of Amazon's products.
    value : {"count", "presence", "frequency", "tfidf"}
        The entries, as in `data_fetchers._shared.weighted`.
    ngrams : int or collection of int
        The lengths of the features, in words: 1, 2, or both.

    Returns
    -------
    Tasks
        X : csr_array of shape (27780, 78817) for Amazon's products and words, a column for each
        feature, sorted by name. The rows of a task are its training reviews and then its test
        reviews, as the files have them.

    Raises
    ------
    DataMissing
        If a file is available nowhere.
    UserError
        An option is wrong, or the parsed counts are not as expected.
    """
    amazon = [name for name in DOMAINS if name not in FILMS]
    names = checked_choices(NAME, "domains", amazon if domains is None else domains, DOMAINS)
    # A few files contain bytes that are not UTF-8; Latin-1 maps every byte to a character.
    reviews = {
        name: parse(b"".join(fetched(FOLDER, FILES, f"*/{name}.task.*")).decode("latin-1"))
        for name in names
    }
    return review_tasks(NAME, reviews, value, ngrams)
