"""Reviews of 25 kinds of Amazon's products, labelled by sentiment: tokenised texts.

The multi-domain sentiment data set of Blitzer, Dredze and Pereira (2007) as Yu and others (2018)
prepared it for learning from few examples, "ARSC": texts in lower case, as tokens with spaces
between them, without the most frequent function words. A task is a domain. A line is a review: its
tokens, a tab, and 1 or -1.

The reviews of a domain are divided among three sets of files, each with its own threshold of stars.
``t4`` has 1 for a review with 4 or 5 stars and -1 for 1 or 2 stars; ``t2`` has -1 for 1 star only,
and ``t5`` has 1 for 5 stars only. The files do not contain the stars: 5,866 texts occur in more
than one set, and no labels contradict these thresholds. ``load`` uses all reviews that certainly
have more or fewer than 3 stars: those of ``t4``, the -1 of ``t2`` and the 1 of ``t5``. So reviews
with 1 and 5 stars have twice their share. A text that occurs more than once in a domain is used
once.

The training files of music and video are not used, because we had no copy to take their hashes
from.

Licence: unstated.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from data_fetchers._checks import chosen
from data_fetchers._files import listed
from data_fetchers._words import VALUES, lengths, lines, review_tasks
from data_fetchers.fetch import RemoteFile, fetch, pinned
from omtl.data.streams import Tasks
from omtl.util.errors import UserError

NAME = "sentiment25"
LICENCE = "unstated"
CITATION = """\
@inproceedings{blitzer2007biographies,
  author = {Blitzer, John and Dredze, Mark and Pereira, Fernando},
  title = {Biographies, {Bollywood}, Boom-boxes and Blenders: Domain Adaptation for Sentiment
           Classification},
  booktitle = {Proceedings of the 45th Annual Meeting of the Association of Computational
               Linguistics},
  pages = {440--447},
  year = {2007}
}
@inproceedings{yu2018diverse,
  author = {Yu, Mo and Guo, Xiaoxiao and Yi, Jinfeng and Chang, Shiyu and Potdar, Saloni and Cheng,
            Yu and Tesauro, Gerald and Wang, Haoyu and Zhou, Bowen},
  title = {Diverse Few-Shot Text Classification with Multiple Metrics},
  booktitle = {Proceedings of the 2018 Conference of the North American Chapter of the Association
               for Computational Linguistics: Human Language Technologies},
  pages = {1206--1215},
  year = {2018}
}
"""

_COMMIT = "7417f3d7fec58a31150678213491cb4a2d290917"
FILES: tuple[RemoteFile, ...] = listed(
    NAME,
    lambda path: pinned("Gorov/DiverseFewShot_Amazon", _COMMIT, f"Amazon_few_shot/{path}"),
)

CERTAIN = {"t2": ("-1",), "t4": ("-1", "1"), "t5": ("1",)}
"""For each set of files, the labels that no review with 3 stars has."""
REVIEWS = {
    "apparel": (727, 4531),
    "automotive": (86, 328),
    "baby": (497, 1864),
    "beauty": (243, 1363),
    "books": (316, 2471),
    "camera_photo": (504, 2858),
    "cell_phones_service": (204, 319),
    "computer_video_games": (180, 946),
    "dvd": (376, 2434),
    "electronics": (587, 1993),
    "gourmet_food": (109, 769),
    "grocery": (181, 1340),
    "health_personal_care": (764, 3064),
    "jewelry_watches": (159, 959),
    "kitchen_housewares": (425, 1858),
    "magazines": (374, 1386),
    "music": (234, 2625),
    "musical_instruments": (27, 154),
    "office_products": (32, 201),
    "outdoor_living": (181, 689),
    "software": (473, 750),
    "sports_outdoors": (562, 2514),
    "tools_hardware": (5, 40),
    "toys_games": (1410, 5887),
    "video": (306, 2142),
}
"""Numbers of negative and positive reviews of each domain."""
OF_100 = tuple(name for name, counts in REVIEWS.items() if sum(counts) > 100)
"""The domains with more than 100 reviews: all but tools_hardware."""


def parse(text: str, labels: Collection[str]) -> dict[str, float]:
    """Read a file's reviews, one per line.

    Parameters
    ----------
    text : str
        Content of a file.
    labels : collection of {"-1", "1"}
        The labels to keep.

    Returns
    -------
    dict of str to float
        The label of each text, in the file's order.

    Raises
    ------
    UserError
        If a line has another format.
    """
    found: dict[str, float] = {}
    for at, line in lines(text):
        review, tab, label = line.rpartition("\t")
        if not tab or label not in ("-1", "1"):
            raise UserError(
                f"{NAME}: line {at} of a file is not a review, a tab and '1' or '-1': "
                f"{line[:60]!r}."
            )
        if label in labels:
            found[review] = float(label)
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
        The domains, in the tasks' order; default: those of ``OF_100``.
    value : {"count", "presence"}
        Whether an entry is the number of occurrences in the review, or 1.
    ngrams : int or collection of int
        The lengths of the features, in words: 1, 2, or both.

    Returns
    -------
    Tasks
        X : csr_array of shape (n_reviews, n_features), a column for each feature, sorted by name.
        The rows of a task are in the order of the files, each text at its first occurrence.

    Raises
    ------
    DataMissing
        If a file is available nowhere.
    UserError
        An option is wrong, or the parsed counts are not as expected.
    """
    names = chosen(NAME, "domains", OF_100 if domains is None else domains, REVIEWS)
    chosen(NAME, "value", [value], VALUES)
    features = lengths(NAME, ngrams)

    reviews: dict[str, dict[str, float]] = {name: {} for name in names}
    for file in FILES:
        domain, stars, _ = file.path.split(".")
        if domain in reviews:
            text = fetch(NAME, file, home=home).read_bytes().decode()
            reviews[domain] |= parse(text, CERTAIN[stars])
    pairs = {name: own.items() for name, own in reviews.items()}
    return review_tasks(NAME, pairs, REVIEWS, features, value)
