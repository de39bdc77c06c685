"""The bytes at an address, stored in a file; a broken connection is resumed."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import IO, Any

import requests
import urllib3
from tqdm import tqdm

from data_fetchers.fetch import CHUNK, SourceError, WrongBytesError

CONNECT_TIMEOUT = 10.0
"""Seconds to wait for a connection."""
READ_TIMEOUT = 30.0
"""Seconds of silence after which a server counts as stalled."""
RETRY_DELAYS = (0.5, 2.0)
"""Seconds to wait before each further try of an address after a transient fault."""

# Faults of an address, and whether a retry may help. The first match counts.
_NETWORK_FAULTS: tuple[tuple[type[Exception], str, bool], ...] = (
    (urllib3.exceptions.NewConnectionError, "cannot be reached", False),
    (urllib3.exceptions.SSLError, "its certificate is not accepted", False),
    (urllib3.exceptions.ProxyError, "the proxy does not let it through", False),
    (urllib3.exceptions.ConnectTimeoutError, "no connection in time", True),
    (urllib3.exceptions.ReadTimeoutError, "stalled", True),
    (urllib3.exceptions.ProtocolError, "the connection broke", True),
)
_TRANSIENT_STATUSES = frozenset({408, 425, 429, *range(500, 600)})


def _diagnosis(fault: Exception) -> tuple[str, bool]:
    """Return in a few words why a request failed, and whether to retry it."""
    if isinstance(fault, requests.HTTPError) and fault.response is not None:
        status = fault.response.status_code
        return f"{status} {fault.response.reason or ''}".rstrip(), status in _TRANSIENT_STATUSES
    cause: object = fault
    if isinstance(fault, requests.RequestException) and fault.args:
        cause = fault.args[0]
    if isinstance(cause, urllib3.exceptions.MaxRetryError):
        cause = cause.reason
    for kind, text, transient in _NETWORK_FAULTS:
        if isinstance(cause, kind):
            return text, transient
    return f"{type(fault).__name__}: {fault}", False


def download(url: str, path: Path, limit: int, shown: str) -> bool:
    """Store the bytes at an address in a file.

    Parameters
    ----------
    url : str
    path : Path
        The file.
    limit : int
        Maximum number of bytes.
    shown : str
        What is downloaded, for the progress bar.

    Returns
    -------
    bool
        Whether a broken connection was resumed, so that two versions may be mixed.

    Raises
    ------
    SourceError
        If the address does not yield all bytes, or more than `limit`.
    """
    delays = iter(RETRY_DELAYS)
    resumed = False
    bar = tqdm(desc=shown, unit="B", unit_scale=True, leave=False, disable=None)
    with path.open("wb") as file, bar:
        while True:
            try:
                _append(url, file, limit, bar)
            except (requests.RequestException, urllib3.exceptions.HTTPError) as fault:
                reason, transient = _diagnosis(fault)
                if not transient:
                    raise SourceError(reason) from fault
                delay = next(delays, None)
                if delay is None:
                    raise SourceError(f"{reason} ({len(RETRY_DELAYS) + 1} tries)") from fault
                time.sleep(delay)
                resumed = file.tell() > 0
            else:
                return resumed


def _append(url: str, file: IO[bytes], limit: int, bar: Any) -> None:
    """Store the bytes that a file lacks, or all if the server does not send a part."""
    position = file.tell()
    # A content encoding chosen by the server would change the positions of the bytes.
    headers = {"Accept-Encoding": "identity"}
    if position:
        headers["Range"] = f"bytes={position}-"
    timeout = (CONNECT_TIMEOUT, READ_TIMEOUT)
    with requests.get(url, headers=headers, stream=True, timeout=timeout) as response:
        response.raise_for_status()
        start = 0
        if response.status_code == requests.codes.partial_content:
            stated = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
            start = int(stated[1]) if stated else position
        if start > position:
            raise SourceError(f"answered from byte {start} when asked for {position}")
        file.seek(start)
        file.truncate()
        bar.total = start + (response.raw.length_remaining or 0) or None
        while chunk := response.raw.read(CHUNK, decode_content=False):
            file.write(chunk)
            if file.tell() > limit:
                raise WrongBytesError(f"more than {limit} bytes")
            bar.update(file.tell() - bar.n)
