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

The collection's labelled files have at most 1,000 reviews of a class: those that
`data_fetchers.sentiment16` comes from have 900 negative and 1,000 positive ones of baby, and 1,000
of each class of most domains. Here more of the negative ones are missing: of 100 reviews drawn from
each domain 82% are positive, and with `at_most` 1,000 of a class 73%.

The training files of music and video are not used, because we had no copy to take their hashes
from.

Licence: unstated.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from data_fetchers._catalogue import catalogued, fetched
from data_fetchers._shared import checked_choices, lines_of, review_tasks
from omtl.data.streams import Tasks, in_given_order
from omtl.util.errors import UserError

NAME, LICENCE, CITATION, FILES = catalogued(
    "sentiment25", "blitzer2007biographies", "yu2018diverse"
)

CERTAIN = {"t2": ("-1",), "t4": ("-1", "1"), "t5": ("1",)}
"""For each set of files, the labels that no review with 3 stars has."""
DOMAINS = tuple(dict.fromkeys(file.path.split(".")[0] for file in FILES))
FEW = ("tools_hardware",)
"""The domains with fewer than 100 reviews."""


def parse(text: str, labels: Collection[str]) -> dict[str, float]:
    """Return the label of each text of a file, in the file's order.

    Parameters
    ----------
    text : str
        Content of a file.
    labels : collection of {"-1", "1"}
        The labels to keep.
    """
    reviews = (line.rsplit("\t", 1) for line in lines_of(text))
    return {review: float(label) for review, label in reviews if label in labels}


def load(
    *,
    domains: Sequence[str] | None = None,
    rest: str | None = None,
    value: str = "count",
    ngrams: int | Collection[int] = 1,
    at_most: int | None = None,
) -> Tasks:
    """Download the files if necessary, and make a task of each domain.

    Parameters
    ----------
    domains : sequence of str, optional
        The domains, in the tasks' order; default: all with 100 reviews or more.
    rest : str, optional
        Name of one more task that has the reviews of all further domains; default: no such task.
    value : {"count", "presence", "frequency", "tfidf"}
        The entries, as in `data_fetchers._shared.weighted`.
    ngrams : int or collection of int
        The lengths of the features, in words: 1, 2, or both.
    at_most : int, optional
        Maximum number of reviews of a class of a task, the first ones; default: all.

    Returns
    -------
    Tasks
        X : csr_array of shape (52402, 112860) by default, a column for each feature of the domains'
        reviews, sorted by name. The rows of a domain are in the order of the files, each text at
        its first occurrence.

    Raises
    ------
    DataMissing
        If a file is available nowhere.
    UserError
        An option is wrong, or the parsed counts are not as expected.
    """
    large = [name for name in DOMAINS if name not in FEW]
    names = checked_choices(NAME, "domains", large if domains is None else domains, DOMAINS)
    if at_most is not None and at_most < 1:
        raise UserError(f"{NAME}: at_most must be 1 or more, not {at_most}.")

    reviews = {}
    for name in DOMAINS if rest else names:
        labels: dict[str, float] = {}
        for stars, certain in CERTAIN.items():
            contents = fetched(NAME, FILES, f"{name}.{stars}.*")
            labels |= parse(b"".join(contents).decode(), certain)
        reviews[name] = [*labels.items()]
    tasks = review_tasks(NAME, reviews, value, ngrams)
    if rest:
        number = [names.index(name) if name in names else len(names) for name in tasks.names]
        tasks = replace(tasks, task=np.array(number)[tasks.task], names=(*names, rest))
    if at_most is None:
        return tasks
    of_class = [
        own[tasks.y[own] == label][:at_most]
        for own in in_given_order(tasks)
        for label in (-1.0, 1.0)
    ]
    return tasks.taken(np.sort(np.concatenate(of_class)))
