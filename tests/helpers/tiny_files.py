"""Tiny hand-made files of the data sets, and the constants that go with so few tasks."""

from __future__ import annotations

import bz2
import gzip
import io
import struct
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import yaml
from scipy import sparse
from scipy.io import savemat

from data_fetchers import data_set

GOLDEN = Path(__file__).parents[1] / "golden" / "tiny_sets.yaml"


def mat(**variables: object) -> bytes:
    """Return a MATLAB file of these variables."""
    file = io.BytesIO()
    savemat(file, variables)
    return file.getvalue()


def npz(**arrays: object) -> bytes:
    """Return a file of NumPy arrays."""
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def cells(*arrays: object) -> np.ndarray:
    """Return arrays as MATLAB's cells."""
    row = np.empty((1, len(arrays)), dtype=object)
    for at, array in enumerate(arrays):
        row[0, at] = array
    return row


def fields(*labels: list[int]) -> bytes:
    """Return a file of landmines; place i of field k has the features k + i / 10 and 1."""
    seen = [
        np.array([[k + i / 10, 1.0] for i in range(len(field))])
        for k, field in enumerate(labels, start=1)
    ]
    return mat(feature=cells(*seen), label=cells(*(np.array([field]).T for field in labels)))


def group(number: int, letters: list[int]) -> bytes:
    """Return a file of recordings; recording i of group g has the features g and i / 10."""
    fea = np.array([[number, at / 10] for at in range(len(letters))])
    return mat(fea=fea, gnd=np.array(letters, dtype=np.uint8)[:, None])


def r_file(score: np.ndarray, users: Sequence[str], films: Sequence[str]) -> bytes:
    """Return the bytes of an R file with one matrix of integers, 0 being NA (R's XDR format)."""

    def ints(*numbers: int) -> bytes:
        return struct.pack(f">{len(numbers)}i", *numbers)

    def text(value: str) -> bytes:
        return ints(0x40009, len(value)) + value.encode()

    def symbol(value: str) -> bytes:
        return ints(1) + text(value)

    def texts(values: Sequence[str]) -> bytes:
        return ints(16, len(values)) + b"".join(map(text, values))

    end = ints(254)
    numbers = [int(one) or -(2**31) for one in score.T.ravel()]
    matrix = ints(0x20D, len(numbers), *numbers)
    matrix += ints(0x402) + symbol("dim") + ints(13, 2, *score.shape)
    matrix += ints(0x402) + symbol("dimnames") + ints(19, 2) + texts(users) + texts(films) + end
    whole = b"RDX2\nX\n" + ints(2, 0x30000, 0x20300) + ints(0x402) + symbol("m") + matrix + end
    return gzip.compress(whole)


SCORE = np.array(
    [
        [1, 6, 0, 0, 4],
        [0, 5, 2, 4, 0],
        [3, 3, 3, 0, 0],
        [6, 0, 1, 2, 5],
        [0, 0, 0, 4, 4],
    ]
)
USERS = ("7", "23", "24", "71", "74")
FILMS = ("1", "2", "3", "8", "1648")
IN_FIRST = np.array(
    [[1, 0, 1, 0, 0], [1, 1, 1, 1, 1], [1, 0, 1, 0, 1], [0, 0, 0, 1, 1], [0, 1, 1, 1, 0]]
)
"""Which of the ratings are in the first of EachMovie's two files."""

TERMS = np.array([[1, 0, 2, 0], [0, 3, 0, 0], [0, 1, 1, 0], [5, 0, 0, 0], [1, 1, 1, 0]])
DOCUMENTS = np.column_stack([TERMS, [1, 1, 1, 2, 3], [104, 630, 104, 418, 107]])
IMAGES = {
    "feat": np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]),
    "class_labels": np.array([[1], [2], [2]], dtype=np.uint8),
    "binary_predicates": np.array([[1, 0, 1], [0, 1, 1]], dtype=np.uint8),
    "attribute_names": np.array([["Male", "Young", "Smiling"]], dtype=object),
}
PUPILS = np.arange(3 * 28).reshape(3, 28)
SPAM = np.array([[0], [1]], np.uint8)
WORDS = [
    sparse.csc_array(np.array(rows, dtype=float))
    for rows in ([[1, 3, 0, 0], [0, 0, 2, 0]], [[0, 1, 1, 0], [4, 0, 0, 0]])
]
COMPUTERS = np.arange(2 * 16 * 15).reshape(32, 15), -np.arange(2 * 4 * 15).reshape(8, 15)


def texts(name: str) -> dict[str, bytes]:
    """Return the text files of a data set."""
    found = yaml.safe_load(GOLDEN.read_text(encoding="utf-8"))["texts"].get(name, {})
    encoding = "latin-1" if name == "sentiment16" else "utf-8"
    contents = {path: text.encode(encoding) for path, text in found.items()}
    return {p: bz2.compress(each) if p.endswith("bz2") else each for p, each in contents.items()}


BINARY = {
    "landmine": {"LandmineData.mat": fields([0, 1, 0], [1], [1, 0])},
    "spam": {"emails.mat": mat(X=cells(*WORDS), Y=cells(SPAM, SPAM))},
    "isolet": {"Isolet1.mat": group(1, [1, 2, 2]), "isolet5.mat": group(5, [2, 1, 1, 2])},
    "tdt2": {"TDT2.mat": mat(fea=sparse.csc_array(DOCUMENTS, dtype=np.float64))},
    "pubfig_attributes": {"pubfig_data.mat": mat(**IMAGES)},
    "school": {
        "school.mat": mat(
            X=cells(PUPILS[:2], PUPILS[2:]), Y=cells(np.array([[5], [6]]), np.array([[7]]))
        )
    },
    "lenk": {"lenk_data.mat": mat(Traindata=COMPUTERS[0], Testdata=COMPUTERS[1])},
    "nc24": {"synthetic.npz": npz(xs=[[[0.5, 2.0], [1.0, 3.0]]], ys=[[1.0, -1.0]])},
    "eachmovie": {
        "first.RData": r_file(SCORE * IN_FIRST, USERS, FILMS),
        "second.RData": r_file(SCORE * (1 - IN_FIRST), USERS, FILMS),
    },
}
TEXTS = ("mhc", "news20", "sentiment", "sentiment16", "sentiment25")
FILES = {data_set(name): BINARY.get(name, {}) | texts(name) for name in (*BINARY, *TEXTS)}
"""The files of each data set."""

CONSTANTS: list[tuple[ModuleType, str, Any]] = [
    (data_set("isolet"), "GROUPS", ("isolet1", "isolet5")),
    (data_set("landmine"), "FIRST_DESERT", 3),
    (data_set("landmine"), "SUBSETS", {"all": (1, 2, 3), "osmtl19": (1, 3)}),
    (data_set("tdt2"), "N_CATEGORIES", 3),
    (data_set("sentiment"), "DOMAINS", ("books", "dvd")),
    (data_set("sentiment16"), "DOMAINS", ("a", "imdb")),
    (data_set("sentiment25"), "DOMAINS", ("a", "b", "tools_hardware")),
    (data_set("eachmovie"), "RATED", 3),
    (data_set("eachmovie"), "N_USERS", 2),
]
"""What the modules say of their whole files, for the tiny ones."""
