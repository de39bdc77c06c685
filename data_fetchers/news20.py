"""Messages of newsgroups on computers, recreation, science and talk.

The training part of 20 Newsgroups (Lang, 1995) in Rennie's and Rifkin's preprocessing, as LIBSVM
has it: 15,935 messages as counts of 62,061 words, each of one of 20 newsgroups. A task is a
hierarchy of newsgroups: comp, rec, sci or talk; an example's class is its newsgroup. The newsgroups
misc.forsale, alt.atheism and soc.religion.christian belong to none of the four. LIBSVM's test part
(3,993 messages) is not included.

The file numbers the newsgroups without naming them, and not alphabetically. We inferred their names
by comparing, for each word, the number of documents per newsgroup with those in 20news-bydate; no
exchange of two names comes closer.

This set has classes rather than labels of -1 and +1, because similarities are learnt from it, so
``load`` returns `omtl.data.streams.Classes`; with the option `pairing`, it has ten tasks that each
separate one newsgroup's messages from another's, as in the OMTL paper (section 5.1). That paper
takes its ten tasks from Raina, Ng and Koller (2006), with 11,269 training and 7,505 test messages:
all of the version of 20 Newsgroups that is split by date. It does not say which newsgroups are
paired.

Licence: unstated.
"""

from __future__ import annotations

import bz2
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from data_fetchers._catalogue import catalogued, fetched
from data_fetchers._shared import (
    check_counts,
    checked_choices,
    in_tasks,
    most_common,
    on_components,
    svmlight,
    weighted,
)
from omtl.data.streams import Classes, Tasks
from omtl.util.errors import UserError

NAME, LICENCE, CITATION, FILES = catalogued("news20", "lang1995newsweeder")
# As distributed by LIBSVM: the bytes are the packed ones.

TASKS = ("comp", "rec", "sci", "talk")
NEWSGROUPS = (
    *("comp.graphics", "comp.os.ms-windows.misc", "comp.sys.ibm.pc.hardware"),
    *("comp.sys.mac.hardware", "comp.windows.x", "sci.crypt", "sci.electronics", "sci.med"),
    *("sci.space", "misc.forsale", "rec.autos", "rec.motorcycles", "rec.sport.baseball"),
    *("rec.sport.hockey", "talk.politics.misc", "talk.politics.guns", "talk.politics.mideast"),
    *("talk.religion.misc", "alt.atheism", "soc.religion.christian"),
)
"""The newsgroups, from number 1 on."""
PAIRINGS = {"far": np.arange(20).reshape(2, 10).T, "near": np.arange(20).reshape(10, 2)}
"""The newsgroups of each task of pairs, from 0."""


def load(
    *,
    tasks: Sequence[str] | None = None,
    value: str = "count",
    per_newsgroup: int | None = None,
    message_draw: int | None = None,
    words: int | None = None,
    components: int | None = None,
    pairing: str | None = None,
) -> Classes | Tasks:
    """Download the file if necessary, and make a task of each hierarchy or of each pair.

    Parameters
    ----------
    tasks : sequence of str, optional
        The hierarchies, in the tasks' order; else all, in the order of ``TASKS``.
    value : {"count", "presence", "frequency", "tfidf"}
        The entries, as in `data_fetchers._shared.weighted`.
    per_newsgroup : int, optional
        Number of messages per newsgroup to include, the first in the file; default: all.
    message_draw : int, optional
        Include messages drawn at random instead of the first: draw 0, 1, ..., each the same at
        every call.
    words : int, optional
        Number of words to include, those in most of the included messages; default: all.
    components : int, optional
        Number of principal axes of the included messages to project onto; default: the words
        themselves.
    pairing : {"far", "near"}, optional
        Make tasks of pairs of newsgroups instead, of all messages and words: newsgroup k, in
        LIBSVM's numbering, with k + 10; or the first with the second, the third with the fourth,
        and so on.

    Returns
    -------
    Classes
        X : csr_array of shape (n_messages, 62061 or `words`), or ndarray of shape
        (n_messages, `components`). The label is the newsgroup's number, from 1, as
        ``NEWSGROUPS`` names them. The rows of a task are in the file's order. For pairs it is
        `Tasks` with X of shape (15935, 62061), in the file's order; +1 is the first of a pair.

    Raises
    ------
    DataMissing
        If the file is available nowhere.
    UserError
        An option is wrong, or the parsed counts are not as expected.
    """
    names = checked_choices(NAME, "tasks", tasks, TASKS)
    if per_newsgroup is not None and per_newsgroup < 1:
        raise UserError(f"{NAME}: per_newsgroup={per_newsgroup} must be a positive number.")
    if pairing is not None:
        checked_choices(NAME, "pairing", [pairing], PAIRINGS)
        if any(
            option is not None for option in (tasks, per_newsgroup, message_draw, words, components)
        ):
            raise UserError(f"{NAME}: with pairing, set of all other options only value.")

    # A line is a message: its newsgroup's number, and word:count for each of its words.
    X, number = svmlight(bz2.decompress(fetched(NAME, FILES)[0]))
    label = number.astype(np.int64)
    found = {"messages": X.shape[0], "words": X.shape[1], "nonzeros": X.nnz}
    found |= {f"messages of {name}": np.sum(label == k) for k, name in enumerate(NEWSGROUPS, 1)}
    check_counts(NAME, found)
    if pairing is not None:
        return _paired(weighted(NAME, X, value), label, PAIRINGS[pairing])
    rng = None if message_draw is None else np.random.default_rng(message_draw)
    hierarchy = np.array([newsgroup.split(".")[0] for newsgroup in NEWSGROUPS])[label - 1]
    of_tasks = [np.flatnonzero(hierarchy == name) for name in names]
    order, task = in_tasks([_some_of_each(label, own, per_newsgroup, rng) for own in of_tasks])
    X = weighted(NAME, X[order], value)
    if words is not None:
        X = most_common(NAME, X, words)
    if components is not None:
        return Classes(on_components(NAME, X, components), label[order], task, names)
    return Classes(X, label[order], task, names)


def _some_of_each(
    label: np.ndarray, rows: np.ndarray, n: int | None, rng: np.random.Generator | None
) -> np.ndarray:
    """Return n rows of each label, the first or drawn ones, in order."""
    of_each = [rows[label[rows] == each] for each in np.unique(label[rows])]
    if rng is not None:
        of_each = [rng.permutation(rows) for rows in of_each]
    return np.sort(np.concatenate([rows[:n] for rows in of_each]))


def _paired(X: sparse.csr_array, label: np.ndarray, pairs: np.ndarray) -> Tasks:
    """Return a task for each pair of newsgroups."""
    task, side = np.divmod(np.argsort(pairs, axis=None)[label - 1], 2)
    names = tuple(f"{NEWSGROUPS[a]} / {NEWSGROUPS[b]}" for a, b in pairs)
    return Tasks(X, np.where(side == 0, 1.0, -1.0), task, names)
