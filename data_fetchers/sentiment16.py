"""Reviews of sixteen kinds, labelled by sentiment: tokenised texts.

The data of Liu, Qiu and Huang (2017), "FDU-MTL": about 2,000 labelled reviews of each of 14 kinds
of Amazon's products, from the multi-domain sentiment data set of Blitzer, Dredze and Pereira
(2007), and of films from IMDB and MR. A task is a domain, with the authors' training and test
reviews together. A line is a review: 1 or 0 for positive or negative, a tab, and its tokens with
spaces between them.

Licence: unstated.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from data_fetchers._checks import chosen
from data_fetchers._files import listed
from data_fetchers._words import VALUES, lengths, lines, review_tasks
from data_fetchers.fetch import RemoteFile, fetch, pinned
from omtl.data.streams import Tasks
from omtl.util.errors import UserError

NAME = "sentiment16"
LICENCE = "unstated"
CITATION = """\
@inproceedings{liu2017adversarial,
  author = {Liu, Pengfei and Qiu, Xipeng and Huang, Xuanjing},
  title = {Adversarial Multi-task Learning for Text Classification},
  booktitle = {Proceedings of the 55th Annual Meeting of the Association for Computational
               Linguistics},
  pages = {1--10},
  year = {2017}
}
"""

FOLDER = "sentiment"
"""The folder of the files, shared with the same collection's other version."""

_COMMIT = "b57b4c14340db1ca7bffb5d9737b7c2601dc8df2"
FILES: tuple[RemoteFile, ...] = listed(
    NAME, lambda path: pinned("ccsasuke/man", _COMMIT, f"data/{path}")
)

REVIEWS = {
    "MR": (1014, 986),
    "apparel": (1000, 1000),
    "baby": (900, 1000),
    "books": (1000, 1000),
    "camera_photo": (998, 999),
    "dvd": (1000, 1000),
    "electronics": (998, 1000),
    "health_personal_care": (1000, 1000),
    "imdb": (1006, 994),
    "kitchen_housewares": (1000, 1000),
    "magazines": (970, 1000),
    "music": (1000, 1000),
    "software": (915, 1000),
    "sports_outdoors": (1000, 1000),
    "toys_games": (1000, 1000),
    "video": (1000, 1000),
}
"""Numbers of negative and positive reviews of each domain."""
LABELS = {"0": -1.0, "1": 1.0}
AMAZON = tuple(name for name in REVIEWS if name not in ("MR", "imdb"))
"""The domains that are kinds of Amazon's products."""


def parse(texts: Iterable[str]) -> list[list[tuple[str, float]]]:
    """Return the text and the label, -1 or +1, of each review of each file.

    Parameters
    ----------
    texts : iterable of str
        Contents of ``.task.train`` and ``.task.test`` files.

    Raises
    ------
    UserError
        If a line has another format.
    """
    found = []
    for number, text in enumerate(texts, start=1):
        reviews = []
        for at, line in lines(text):
            label, tab, review = line.partition("\t")
            if not tab or label.strip() not in LABELS:
                raise UserError(
                    f"{NAME}: line {at} of file {number} is not '0' or '1', a tab and a "
                    f"review: {line[:60]!r}."
                )
            reviews.append((review, LABELS[label.strip()]))
        found.append(reviews)
    return found


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
        The domains, in the tasks' order; default: those of ``AMAZON``.
    value : {"count", "presence"}
        Whether an entry is the number of occurrences in the review, or 1.
    ngrams : int or collection of int
        The lengths of the features, in words: 1, 2, or both.

    Returns
    -------
    Tasks
        X : csr_array of shape (n_reviews, n_features), a column for each feature, sorted by name.
        The rows of a task are its training reviews and then its test reviews, as the files have
        them.

    Raises
    ------
    DataMissing
        If a file is available nowhere.
    UserError
        An option is wrong, or the parsed counts are not as expected.
    """
    names = chosen(NAME, "domains", AMAZON if domains is None else domains, REVIEWS)
    chosen(NAME, "value", [value], VALUES)
    features = lengths(NAME, ngrams)

    wanted = [f"fdu-mtl/{name}.task.{part}" for name in names for part in ("train", "test")]
    by_path = {file.path: file for file in FILES}
    # A few files contain bytes that are not UTF-8; Latin-1 maps every byte to a character.
    parsed = parse(
        fetch(FOLDER, by_path[path], home=home).read_bytes().decode("latin-1") for path in wanted
    )
    parts = zip(parsed[::2], parsed[1::2], strict=True)
    reviews = {name: train + test for name, (train, test) in zip(names, parts, strict=True)}
    return review_tasks(NAME, reviews, REVIEWS, features, value)
