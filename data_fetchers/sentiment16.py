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
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from data_fetchers._checks import chosen, expect_counts
from data_fetchers._words import VALUES, bag_of_words
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

_REPO = "ccsasuke/man"
_COMMIT = "b57b4c14340db1ca7bffb5d9737b7c2601dc8df2"
_HASHES = (
    (
        "MR.task.test",
        47_573,
        "82ec2a6d570978d173240dfd655c25e151761d7d0ace365725745a361e6fabea",
    ),
    (
        "MR.task.train",
        191_447,
        "a6f222085a50061dd560c3beafc968679abae74683e3d18a66b619c5e2d178dc",
    ),
    (
        "apparel.task.test",
        127_187,
        "8e591ec14fa0e3d26837b9a40c99d3a93b49f47e7a3fbe4d0afe1b4e1dd45439",
    ),
    (
        "apparel.task.train",
        519_173,
        "589702d71eded8ca23907acf6e434f203c8c6feb09737106f77f03707641ffc3",
    ),
    (
        "baby.task.test",
        220_031,
        "8763bb4b8bbf83b93b6aab03706719fc742fb7d89830a6bd95ea1c2490ea58f7",
    ),
    (
        "baby.task.train",
        849_433,
        "0d884186f3aef0e12dafac0a875887fe631de0df992b15158ab177763882bf57",
    ),
    (
        "books.task.test",
        351_857,
        "b451ac03e48b599bf35dd1a450158389e1ac9018950e95c631053ac14a5b10ad",
    ),
    (
        "books.task.train",
        1_517_583,
        "40c4c5971165b9e0a509a60472c3bf06c8e1430d4944833141eb3c34d986b65e",
    ),
    (
        "camera_photo.task.test",
        258_814,
        "3fdea0837d6c41f04720dce8d2e690bbdeb5019ecac749f8f38472ac1dcfa439",
    ),
    (
        "camera_photo.task.train",
        1_077_961,
        "425bf93c303b2f38d2f53649508ea9e55d0114679ecb00fda5c2c15ebbe9e708",
    ),
    (
        "dvd.task.test",
        402_497,
        "762e6e030892375eda4f211be58624a3bb6a07c966901c79b803837d21fca4b5",
    ),
    (
        "dvd.task.train",
        1_581_172,
        "47334240d9cef76ac5f15a10f9082c3d2c6e7f9a9bb0478a3800ede2a0300771",
    ),
    (
        "electronics.task.test",
        222_978,
        "a4d2e7d2a5b8b501a6611e45e1b241aa0d601388b79265cfc94c203cb52f8b8c",
    ),
    (
        "electronics.task.train",
        918_340,
        "bb2f28c4a20e3d075dd71ff049970bd445f4d47bcc8404a68eb03850413a8da7",
    ),
    (
        "health_personal_care.task.test",
        173_498,
        "07f289177da7ebe71f1ac2ee3d5a25f190913e2a11116f0fb55862e01b60a331",
    ),
    (
        "health_personal_care.task.train",
        736_321,
        "384f1ec3d76a2f755844cac4bd7725b86bc79910dae60fc33f133e380f827b4a",
    ),
    (
        "imdb.task.test",
        486_414,
        "dc708b7338157a6be56a1ded26abd97f82284d0e736876a6b833ad59e8a2cd53",
    ),
    (
        "imdb.task.train",
        2_254_776,
        "16dd91ee7aebde130cfeb4d1c58bfe221ad87f1862fdb8ae694693eec3432caa",
    ),
    (
        "kitchen_housewares.task.test",
        193_578,
        "86bcc015f7cfa773880951830ac6161dc2b8717e8a69773ca11a5bd6529b2020",
    ),
    (
        "kitchen_housewares.task.train",
        762_961,
        "df5c9e8473b084a6b252dfbb5e074adcaacb9638a882fee3f20d62d747f45d6f",
    ),
    (
        "magazines.task.test",
        263_233,
        "620ecd0ccd7b7f73483b8cdcef5ca07dff92e2d57c9cf4b6e9f7d669a681f6c3",
    ),
    (
        "magazines.task.train",
        1_027_102,
        "d4805a9f094c1c7befa64bc42ea846261b1290a2fd120c46f45c9e89faf782ae",
    ),
    (
        "music.task.test",
        275_218,
        "54a157c56930b9e587b6b955fe4b2e3258d2f70d0d58ccbbf40a4bfd846ee204",
    ),
    (
        "music.task.train",
        1_170_332,
        "f0b41243475c16391a02e91d87710ed87d68927d4d77f526a3d2369a98ac572e",
    ),
    (
        "software.task.test",
        270_384,
        "3b92617a5b3ad618b7aaab98546d49c2a69f46dedbceb4ec14dee1cbb4ff02d3",
    ),
    (
        "software.task.train",
        1_137_236,
        "a050cb3ea22b94b21ce70acff3a23eabd1f39307bd862d6c0cc23170eb4830f4",
    ),
    (
        "sports_outdoors.task.test",
        216_957,
        "77394d7c91fbc69cc16bfaf79f1f945999fe2d8e0fc536f1f79d17089e611f49",
    ),
    (
        "sports_outdoors.task.train",
        827_286,
        "062ac0e2fb04a81c1f06f15b219634810a323a2ee187750e2f479030ebad0326",
    ),
    (
        "toys_games.task.test",
        194_694,
        "6ee304a53f25697ee96bcb60fe07cc36d282ef343c3e0f8ae09df669ec39b116",
    ),
    (
        "toys_games.task.train",
        785_692,
        "bb8404d3b48ab02bca2a75bb1e245297aac36b8143a81549f6485b4c2d24dd10",
    ),
    (
        "video.task.test",
        341_154,
        "8de7a49ee3001409c9049b1f52949d78c7875cb92e031b43f5cef681dfd341e4",
    ),
    (
        "video.task.train",
        1_304_633,
        "2867b3e5fffc44132aa61ff49dd608eeacc503b2c9c2133680f0cb4a7a258f3e",
    ),
)
FILES: tuple[RemoteFile, ...] = tuple(
    RemoteFile(
        f"fdu-mtl/{name}", sha256, n_bytes, (pinned(_REPO, _COMMIT, f"data/fdu-mtl/{name}"),)
    )
    for name, n_bytes, sha256 in _HASHES
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
AMAZON = tuple(name for name in REVIEWS if name not in ("MR", "imdb"))
"""The domains that are kinds of Amazon's products."""


@dataclass(frozen=True)
class Reviews:
    """Parsed reviews: the tokens of each, its label (-1 or +1), and the index of its text."""

    tokens: list[list[str]]
    y: np.ndarray
    text: np.ndarray


def parse(texts: Iterable[str]) -> Reviews:
    """Read reviews, one per line.

    Parameters
    ----------
    texts : iterable of str
        Contents of ``.task.train`` and ``.task.test`` files.

    Raises
    ------
    UserError
        If a line has another format.
    """
    tokens: list[list[str]] = []
    labels: list[float] = []
    sources: list[int] = []
    for number, text in enumerate(texts):
        # Not splitlines: it also splits at characters that may occur within a review.
        for at, line in enumerate(text.removesuffix("\n").split("\n"), start=1):
            label, tab, review = line.partition("\t")
            if not tab or label.strip() not in ("0", "1"):
                raise UserError(
                    f"{NAME}: line {at} of file {number + 1} is not '0' or '1', a tab and a "
                    f"review: {line[:60]!r}."
                )
            labels.append(1.0 if label.strip() == "1" else -1.0)
            tokens.append(review.split())
            sources.append(number)
    return Reviews(tokens, np.array(labels), np.array(sources, dtype=np.int64))


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
    lengths = chosen(NAME, "ngrams", [ngrams] if isinstance(ngrams, int) else ngrams, (1, 2))

    wanted = [f"fdu-mtl/{name}.task.{part}" for name in names for part in ("train", "test")]
    by_path = {file.path: file for file in FILES}
    # A few files contain bytes that are not UTF-8; Latin-1 maps every byte to a character.
    reviews = parse(
        fetch(FOLDER, by_path[path], home=home).read_bytes().decode("latin-1") for path in wanted
    )
    task = reviews.text // 2
    expect_counts(NAME, _expected(names), _counts(names, reviews.y, task))

    X = bag_of_words(reviews.tokens, lengths, value)
    return Tasks(X, reviews.y, task, tuple(names))


def _expected(names: Sequence[str]) -> dict[str, int]:
    signs = ("negative", "positive")
    return {
        f"{name}: {sign}": n for name in names for sign, n in zip(signs, REVIEWS[name], strict=True)
    }


def _counts(names: Sequence[str], y: np.ndarray, task: np.ndarray) -> dict[str, int]:
    return {
        f"{name}: {sign}": int(np.sum((task == k) & (y * label > 0)))
        for k, name in enumerate(names)
        for sign, label in (("negative", -1.0), ("positive", 1.0))
    }
