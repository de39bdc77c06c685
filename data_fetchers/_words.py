"""Tokenised texts as counts of their words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy import sparse

VALUES = ("count", "presence")


def features(text: Sequence[str], ngrams: Sequence[int]) -> Counter[str]:
    """Return the number of occurrences of each word and each pair of adjacent words in a text."""
    found: Counter[str] = Counter()
    for length in ngrams:
        shifted = [text[start:] for start in range(length)]
        found.update("_".join(words) for words in zip(*shifted, strict=False))
    return found


def bag_of_words(
    texts: Sequence[Sequence[str]], ngrams: Sequence[int], value: str
) -> sparse.csr_array:
    """Return the counts of the words of tokenised texts.

    Parameters
    ----------
    texts : sequence of sequence of str
        The tokens of each text.
    ngrams : sequence of int
        The lengths of the features, in words.
    value : {"count", "presence"}
        Whether an entry is the number of occurrences in the text, or 1.

    Returns
    -------
    csr_array of shape (n_texts, n_features)
        One column per feature, sorted by name.
    """
    counted = [features(text, ngrams) for text in texts]
    column = {name: k for k, name in enumerate(sorted(set().union(*counted)))}
    X = sparse.csr_array(
        (
            np.array([n for one in counted for n in one.values()], dtype=np.float64),
            np.array([column[name] for one in counted for name in one], dtype=np.int32),
            np.cumsum([0, *map(len, counted)], dtype=np.int32),
        ),
        shape=(len(counted), len(column)),
    )
    if value == "presence":
        X.data[:] = 1.0
    X.sort_indices()
    return X
