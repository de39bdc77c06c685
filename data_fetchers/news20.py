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
``load`` returns `data_fetchers.isolet.Classes`.

Licence: unstated.
"""

from __future__ import annotations

import bz2
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from data_fetchers._checks import chosen, expect_counts
from data_fetchers._reduction import components as on_components
from data_fetchers._reduction import most_common
from data_fetchers._sampling import in_tasks
from data_fetchers._words import VALUES, weighted
from data_fetchers.fetch import RemoteFile, fetch, pinned
from data_fetchers.isolet import Classes
from omtl.util.errors import UserError

NAME = "news20"
LICENCE = "unstated"
CITATION = """\
@inproceedings{lang1995newsweeder,
  author = {Lang, Ken},
  title = {{NewsWeeder}: Learning to Filter Netnews},
  booktitle = {Proceedings of the 12th International Conference on Machine Learning},
  pages = {331--339},
  year = {1995}
}
"""

FILES: tuple[RemoteFile, ...] = (
    RemoteFile(
        "news20.bz2",  # as distributed by LIBSVM: the bytes are the packed ones
        "8c79851f6f5fdc5540a0d04a5ab728353c42d26b84e73f93bda301c06c15ffe9",
        2_376_572,
        (
            pinned(
                "konstmish/opt_methods",
                "8a3ae3ab666d916abaa5a61132fb60bb2a059088",
                "optmethods/datasets/news20.bz2",
            ),
            "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/news20.bz2",
        ),
    ),
)

TASKS = ("comp", "rec", "sci", "talk")
NEWSGROUPS = (
    "comp.graphics",
    "comp.os.ms-windows.misc",
    "comp.sys.ibm.pc.hardware",
    "comp.sys.mac.hardware",
    "comp.windows.x",
    "sci.crypt",
    "sci.electronics",
    "sci.med",
    "sci.space",
    "misc.forsale",
    "rec.autos",
    "rec.motorcycles",
    "rec.sport.baseball",
    "rec.sport.hockey",
    "talk.politics.misc",
    "talk.politics.guns",
    "talk.politics.mideast",
    "talk.religion.misc",
    "alt.atheism",
    "soc.religion.christian",
)
"""The newsgroups, from number 1 on."""
MESSAGES = (
    *(797, 780, 797, 796, 796, 797, 799, 798, 799, 792),
    *(798, 797, 798, 798, 799, 799, 800, 799, 799, 797),
)
"""Number of messages of each newsgroup, from number 1 on."""
COUNTS = {"messages": 15_935, "words": 62_061, "words that occur": 60_346, "nonzeros": 1_272_569}


@dataclass(frozen=True)
class Messages:
    """Parsed messages, one per line.

    Parameters
    ----------
    X : csr_array of shape (n_messages, n_words), float64
        Number of occurrences of each word in each message, with sorted indices.
    label : ndarray of shape (n_messages,), int64
        The newsgroup of each message, from 1.
    """

    X: sparse.csr_array
    label: np.ndarray


def parse(text: str) -> Messages:
    """Read messages, a line each: the newsgroup's number, and ``word:count`` for each word.

    Parameters
    ----------
    text : str
        The unpacked file's content. Words are numbered from 1, in ascending order in a line.

    Returns
    -------
    Messages
        The messages in the file's order, over as many words as the greatest number.

    Raises
    ------
    UserError
        If a line has another format.
    """
    words: list[int] = []
    counts: list[int] = []
    ends = [0]
    labels: list[int] = []
    for at, line in enumerate(text.splitlines(), start=1):
        try:
            label, *pairs = line.split()
            labels.append(int(label))
            before = 0
            for pair in pairs:
                word, count = map(int, pair.split(":"))
                if word <= before:
                    raise ValueError("words are not in ascending order from 1")
                words.append(word - 1)
                counts.append(count)
                before = word
        except ValueError as fault:
            raise UserError(
                f"{NAME}: line {at} is not 'newsgroup word:count ...' with ascending words: "
                f"{line[:60]!r}."
            ) from fault
        ends.append(len(words))
    X = sparse.csr_array(
        (
            np.array(counts, dtype=np.float64),
            np.array(words, dtype=np.int32),
            np.array(ends, dtype=np.int32),
        ),
        shape=(len(labels), max(words, default=-1) + 1),
    )
    return Messages(X, np.array(labels, dtype=np.int64))


def newsgroups_of(task: str) -> tuple[int, ...]:
    """Return the numbers of a hierarchy's newsgroups."""
    named = enumerate(NEWSGROUPS, start=1)
    return tuple(number for number, name in named if name.startswith(f"{task}."))


def messages(home: Path | None) -> Messages:
    """Fetch the file if need be, and return all messages."""
    content = bz2.decompress(fetch(NAME, FILES[0], home=home).read_bytes())
    found = parse(content.decode("ascii"))
    of_newsgroup = zip(NEWSGROUPS, MESSAGES, strict=True)
    expected = COUNTS | {f"messages of {name}": count for name, count in of_newsgroup}
    expect_counts(NAME, expected, _counts(found))
    return found


@dataclass(frozen=True)
class Options:
    """The options of the data set.

    Parameters
    ----------
    tasks : sequence of str, optional
        The hierarchies, in the tasks' order; else all, in the order of ``TASKS``.
    value : {"count", "presence"}
        Whether an entry is the number of occurrences in the message, or 1.
    per_newsgroup : int, optional
        Number of messages per newsgroup to include, the first in the file; default: all.
    words : int, optional
        Number of words to include, those in most of the included messages; default: all.
    components : int, optional
        Number of principal axes of the included messages to project onto; default: the words
        themselves.
    """

    tasks: Sequence[str] | None = None
    value: str = "count"
    per_newsgroup: int | None = None
    words: int | None = None
    components: int | None = None


def load(options: Options, *, home: Path | None = None) -> Classes:
    """Download the file if necessary, and make a task of each hierarchy.

    Parameters
    ----------
    options : Options
    home : Path, optional
        The folder of all data sets, as in `data_fetchers.fetch.fetch`.

    Returns
    -------
    Classes
        X : csr_array of shape (n_messages, 62061 or `words`), or ndarray of shape
        (n_messages, `components`). The label is the newsgroup's number, from 1, as
        ``NEWSGROUPS`` names them. The rows of a task are in the file's order.

    Raises
    ------
    DataMissing
        If the file is available nowhere.
    UserError
        An option is wrong, or the parsed counts are not as expected.
    """
    names = chosen(NAME, "tasks", options.tasks, TASKS)
    chosen(NAME, "value", [options.value], VALUES)

    found = messages(home)
    rows = [np.flatnonzero(np.isin(found.label, newsgroups_of(name))) for name in names]
    for number, least in (("per_newsgroup", options.per_newsgroup), ("words", options.words)):
        if least is not None and least < 1:
            raise UserError(f"{NAME}: {number}={least} must be a positive number.")
    if options.per_newsgroup is not None:
        rows = [_first_of_each(found.label, each, options.per_newsgroup) for each in rows]
    order, task = in_tasks(rows)
    X = weighted(found.X[order], options.value)
    if options.words is not None:
        X = most_common(X, options.words)
    if options.components is not None:
        X = on_components(NAME, X, options.components)
    return Classes(X, found.label[order], task, names)


def _first_of_each(label: np.ndarray, rows: np.ndarray, n: int) -> np.ndarray:
    """Return the first n rows of each label, in order."""
    first = [rows[label[rows] == each][:n] for each in np.unique(label[rows])]
    return np.sort(np.concatenate(first))


def _counts(messages: Messages) -> dict[str, int]:
    name_of = dict(enumerate(NEWSGROUPS, start=1))
    return {
        "messages": messages.X.shape[0],
        "words": messages.X.shape[1],
        "words that occur": len(np.unique(messages.X.indices)),
        "nonzeros": messages.X.nnz,
    } | {
        f"messages of {name_of.get(number, f'number {number}')}": count
        for number, count in Counter(messages.label.tolist()).items()
    }
