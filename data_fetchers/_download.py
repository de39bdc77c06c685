"""The bytes at an address as one stream, resumed where a connection breaks."""

from __future__ import annotations

import io
import re
import time
from typing import Any

import requests
import urllib3

CONNECT_TIMEOUT = 10.0
"""Seconds to wait for a connection."""
READ_TIMEOUT = 30.0
"""Seconds of silence after which a server counts as stalled."""
RETRY_DELAYS = (0.5, 2.0)
"""Seconds to wait before each further try of an address after a transient fault."""
CHUNK = 1 << 16
"""Bytes read at a time."""


class SourceError(Exception):
    """A source does not yield the file; the text says why in a few words."""


class WrongBytesError(SourceError):
    """A source yields the wrong bytes."""


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


class Download(io.RawIOBase):
    """The bytes at an address as one stream, resumed when a connection breaks.

    Attributes
    ----------
    resumed : bool
        Whether more than one connection was used.
    """

    def __init__(self, url: str) -> None:
        self.resumed = False
        self._url = url
        self._position = 0
        self._to_skip = 0
        self._response: requests.Response | None = None
        self._delays = iter(RETRY_DELAYS)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            try:
                chunk = self._next(len(buffer))
            except (requests.RequestException, urllib3.exceptions.HTTPError) as fault:
                self._hang_up()
                reason, transient = _diagnosis(fault)
                if not transient:
                    raise SourceError(reason) from fault
                delay = next(self._delays, None)
                if delay is None:
                    raise SourceError(f"{reason} ({len(RETRY_DELAYS) + 1} tries)") from fault
                time.sleep(delay)
            else:
                buffer[: len(chunk)] = chunk
                return len(chunk)

    def close(self) -> None:
        self._hang_up()
        super().close()

    def _next(self, size: int) -> bytes:
        response = self._response or self._call()
        while self._to_skip:
            skipped = response.raw.read(min(self._to_skip, CHUNK), decode_content=False)
            if not skipped:
                raise WrongBytesError("shorter when asked again")
            self._to_skip -= len(skipped)
        chunk = response.raw.read(size, decode_content=False)
        self._position += len(chunk)
        return chunk

    def _call(self) -> requests.Response:
        # A content encoding chosen by the server would change the positions of the bytes.
        headers = {"Accept-Encoding": "identity"}
        if self._position:
            headers["Range"] = f"bytes={self._position}-"
            self.resumed = True
        response = requests.get(
            self._url, headers=headers, stream=True, timeout=(CONNECT_TIMEOUT, READ_TIMEOUT)
        )
        self._response = response
        response.raise_for_status()
        start = 0
        if response.status_code == requests.codes.partial_content:
            stated = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
            start = int(stated[1]) if stated else self._position
        if start > self._position:
            raise SourceError(f"answered from byte {start} when asked for {self._position}")
        self._to_skip = self._position - start
        return response

    def _hang_up(self) -> None:
        if self._response is not None:
            self._response.close()
            self._response = None
