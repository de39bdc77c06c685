"""Reading archives of NumPy arrays that may be damaged or malicious."""

from __future__ import annotations

import zipfile
from os import PathLike, fspath

import numpy as np

from omtl.util.errors import UserError

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
