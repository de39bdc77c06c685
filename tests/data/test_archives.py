"""Files of one's own that are damaged, strange or hostile end in a sentence."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import data_fetchers
from omtl.util.archives import SEAL, read_arrays, read_sealed, write_sealed
from omtl.util.errors import UserError

HEADER = "label,task,a\n"


def _arrays() -> bytes:
    content = io.BytesIO()
    np.savez_compressed(content, X=np.ones((400, 3)), y=np.tile([-1, 1], 200), task=np.zeros(400))
    return content.getvalue()


def _bomb() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "X.npy",
            b"\x93NUMPY\x01\x00\x76\x00"
            + b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 3), }".ljust(117)
            + b"\n",
        )
    return content.getvalue()


BAD = {
    "header.csv": b"label,task,\xff\xfe\n1,0,2\n",
    "text.csv": HEADER.encode() + b"1,\xff,2\n-1,\xff,3\n",
    "nul.csv": HEADER.encode() + b"a,0,2\na\0,0,3\n",
    "task.csv": HEADER.encode() + b"1,t,2\n-1,t\0,3\n",
    "method.npz": _arrays().replace(b"\0\0\0\x08\0", b"\0\0\0\x63\0"),
    "cut.npz": _arrays()[:200],
    "shape.npz": _bomb(),
    "empty.npz": b"",
    "list.npz": b"PK\x05\x06" + bytes(18),
    "cut.parquet": b"PAR1" + bytes(40),
    "binary.svmlight": b"1 qid:0 1:\xff\n",
    "zero.svmlight": b"1 qid:0 0:1 -3:2\n",
    "wide.svmlight": b"1 qid:0 4294967296:1\n-1 qid:0 1:1\n",
}
"""Files that are no tables."""


@pytest.mark.parametrize("name", BAD)
def test_a_bad_table_is_a_sentence(name: str, tmp_path: Path) -> None:
    """Whatever is wrong with its bytes."""
    (tmp_path / name).write_bytes(BAD[name])
    with pytest.raises(UserError) as fault:
        data_fetchers.load("table_file", path=str(tmp_path / name), labels=["a", "b"])
    assert "\n" not in str(fault.value)
    assert str(tmp_path / name) in str(fault.value)


@pytest.mark.parametrize("column", ["label", "task"])
def test_a_nul_byte_is_told(column: str, tmp_path: Path) -> None:
    """NumPy would take the label or the task for another, and the rows for one's."""
    path = tmp_path / "mine.parquet"
    columns = {"label": ["a", "b", "a"], "task": ["t", "t", "t"], "x": [1.0, 2.0, 3.0]}
    columns[column] = ["a", "b", "a\0"]
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    with pytest.raises(UserError, match="row 3 has "):
        data_fetchers.load("table_file", path=str(path), labels=["a", "b"])


@pytest.mark.parametrize(
    "other",
    [{"w": np.array([1, 3])}, {"w": np.array([1, 2], np.uint64)}, {"v": np.array([1, 2])}],
)
def test_a_sealed_file_has_the_arrays_of_its_hash(
    other: dict[str, np.ndarray], tmp_path: Path
) -> None:
    """Another value, type or name under the same hash is refused."""
    path = tmp_path / "file.npz"
    write_sealed(path, {"w": np.array([1, 2])})
    assert read_sealed(path)["w"].tolist() == [1, 2]
    seal = read_arrays(path)[SEAL]
    np.savez(path, allow_pickle=False, **other, **{SEAL: seal})
    with pytest.raises(UserError, match="not those that its hash is of"):
        read_sealed(path)


def test_pickled_objects_are_not_read(tmp_path: Path) -> None:
    """They could run code."""
    np.savez(tmp_path / "file.npz", allow_pickle=True, X=np.array([{}], dtype=object))
    with pytest.raises(UserError, match="pickled objects, which could run code"):
        read_arrays(tmp_path / "file.npz")
