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

from data_fetchers._catalogue import cited, listed
from data_fetchers._checks import checked_choices, read_lines
from data_fetchers._features import Review, count_ngrams, ngram_lengths, review_tasks
from data_fetchers.fetch import fetch
from omtl.data.streams import Tasks

NAME = "sentiment16"
LICENCE = "unstated"
CITATION = cited("liu2017adversarial")
FOLDER = "sentiment"
"""The folder of the files, shared with the same collection's other version."""
FILES = listed(NAME)

DOMAINS = tuple(dict.fromkeys(Path(file.path).name.split(".")[0] for file in FILES))
FILMS = ("MR", "imdb")
"""The domains that are no kinds of Amazon's products."""
LABELS = {"0": -1.0, "1": 1.0}


def parse(text: str, lengths: Sequence[int] = (1,)) -> list[Review]:
    """Return the features and the label of each review of a file.

    Parameters
    ----------
    text : str
        Content of a ``.task.train`` or ``.task.test`` file.
    lengths : sequence of int
        The lengths of the features, in words.

    Raises
    ------
    UserError
        If a line has another format.
    """

    def read(line: str) -> Review:
        label, review = line.split("\t", 1)
        return count_ngrams(review, lengths), LABELS[label.strip()]

    return read_lines(NAME, text, read, "'0' or '1', a tab and a review")


def load(
    *,
    home: Path | None = None,
    domains: Sequence[str] | None = None,
    value: str = "count",
    ngrams: int | Collection[int] = 1,
) -> Tasks:
    """Download the files if necessary, and make a task of each domain.

    Parameters
    ----------
    home : Path, optional
        The folder of all data sets, as in `data_fetchers.fetch.fetch`.
    domains : sequence of str, optional
        The domains, in the tasks' order; default: all kinds of Amazon's products.
    value : {"count", "presence", "frequency", "tfidf"}
        The entries, as in `data_fetchers._features.weighted`.
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
    lengths = ngram_lengths(NAME, ngrams)
    by_path = {file.path: file for file in FILES}
    reviews: dict[str, list[Review]] = {name: [] for name in names}
    for name, own in reviews.items():
        for part in ("train", "test"):
            file = by_path[f"fdu-mtl/{name}.task.{part}"]
            # A few files contain bytes that are not UTF-8; Latin-1 maps every byte to a character.
            text = fetch(FOLDER, file, home=home).read_bytes().decode("latin-1")
            own += parse(text, lengths)
    return review_tasks(NAME, reviews, value)
