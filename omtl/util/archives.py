"""Files of NumPy arrays: reading damaged or malicious files safely, and sealed files.

A sealed file contains a hash of its arrays. Stored learners have indices of rows and columns that
compiled code does not check, so a file is read only if it is unchanged since it was written. This
protects against damage, not against tampering: a hash can be recomputed.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping
from os import PathLike, fspath
from pathlib import Path

import numpy as np

from omtl.util.errors import UserError
from omtl.util.files import write_whole

SEAL = "sha256"
"""The member of a sealed file that contains its hash."""

MAX_BYTES = 1 << 32
"""Maximum unpacked size of a compressed file, in bytes."""


def read_arrays(path: str | PathLike[str]) -> dict[str, np.ndarray]:
    """Return the arrays of an ``.npz`` file by name, without unpickling objects.

    Raises
    ------
    UserError
        If it is damaged, too large, has an unreadable compression, or has pickled objects.
    OSError
        If it cannot be opened.
    """
    try:
        with zipfile.ZipFile(fspath(path)) as archive:
            n_bytes = sum(member.file_size for member in archive.infolist())
        if n_bytes > MAX_BYTES:
            raise UserError(f"its arrays unpack to {n_bytes} bytes, more than {MAX_BYTES}")
        with np.load(fspath(path), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (OSError, UserError) as fault:
        if isinstance(fault, OSError) and fault.errno is None:  # from a damaged bzip2 stream
            raise UserError(f"it is damaged ({fault})") from fault
        raise
    except zipfile.BadZipFile as fault:
        raise UserError(f"it is no file of NumPy arrays ({fault})") from fault
    except NotImplementedError as fault:
        raise UserError(f"it is compressed in a way that cannot be read ({fault})") from fault
    except Exception as fault:  # from one of the many decoders that a damaged stream may reach
        if "allow_pickle" in str(fault):
            raise UserError(
                "it has pickled objects, which could run code; save arrays of numbers and strings"
            ) from fault
        raise UserError(f"its arrays cannot be read ({' '.join(str(fault).split())})") from fault
    strange = [name for name, array in arrays.items() if not isinstance(array, np.ndarray)]
    if strange:
        raise UserError(f"its member {strange[0]!r} is no array")
    return arrays


def write_sealed(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays and their hash to a file, atomically.

    Raises
    ------
    WriteError
        If it cannot be written.
    """
    for name, array in arrays.items():  # `allow_pickle` of savez is an array before NumPy 2.2
        if array.dtype.hasobject:
            raise ValueError(f"{name} is of Python objects, which only a pickle could keep")
    content = io.BytesIO()
    np.savez(content, **{**arrays, SEAL: np.array(_seal(arrays))})  # type: ignore[arg-type]
    write_whole(path, content.getvalue())


def read_sealed(path: str | PathLike[str]) -> dict[str, np.ndarray]:
    """Return the arrays of a sealed file.

    Raises
    ------
    UserError
        As for `read_arrays`, or if the arrays differ from those that were written.
    OSError
        If it cannot be opened.
    """
    arrays = read_arrays(path)
    stated = arrays.pop(SEAL, None)
    if stated is None or str(stated) != _seal(arrays):
        raise UserError("its arrays are not those that its hash is of")
    return arrays


def _seal(arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256()
    for name, array in sorted(arrays.items()):
        digest.update(repr((name, array.dtype.str, array.shape)).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
