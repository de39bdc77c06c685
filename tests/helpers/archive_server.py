"""A local server that answers as it is told, and archives to serve."""

from __future__ import annotations

import hashlib
import io
import socket
import struct
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from data_fetchers import _download
from data_fetchers.fetch import RemoteFile

BODY = bytes(range(256)) * 512
"""More than one read's worth, and a different byte at every place of a page."""


@dataclass(frozen=True)
class Reply:
    """What the server answers to one request.

    Parameters
    ----------
    body : bytes
        What it declares the length of, and sends.
    status : int
        The HTTP status.
    ranges : bool
        Whether it heeds a Range header.
    cut : int, optional
        Send so many bytes only, and then hang up.
    reset : bool
        Hang up with a reset.
    stall : bool
        Keep silent instead of hanging up.
    headers : dict
        Further headers.
    """

    body: bytes = BODY
    status: int = 200
    ranges: bool = True
    cut: int | None = None
    reset: bool = False
    stall: bool = False
    headers: dict[str, str] = field(default_factory=dict)


class Server(ThreadingHTTPServer):
    """Replies to each path's requests in order, the last reply for ever, and notes them all."""

    daemon_threads = True
    # A cut reply makes the client hang up first, which is no news.
    handle_error = staticmethod(lambda *_: None)  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies: dict[str, list[Reply]] = {}
        self.requests: list[tuple[str, str | None]] = []
        self.closing = threading.Event()

    def serve(self, path: str, *replies: Reply) -> str:
        self.replies[path] = list(replies)
        return self.url(path)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_port}{path}"

    def asked(self, path: str) -> list[str | None]:
        """Return the Range headers of the requests for a path."""
        return [wanted for asked, wanted in self.requests if asked == path]


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        wanted = self.headers.get("Range")
        self.server.requests.append((self.path, wanted))
        replies = self.server.replies.get(self.path, [Reply(b"", 404)])
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        body, status = reply.body, reply.status
        headers = dict(reply.headers)
        if wanted and reply.ranges and status == 200:
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            headers["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
            body, status = body[start:], 206
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body if reply.cut is None else body[: reply.cut])
        self.wfile.flush()
        if reply.stall:
            self.server.closing.wait()
        if reply.reset:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        server.closing.set()
        server.shutdown()


def remote(*sources: str, body: bytes = BODY, path: str = "folder/file.txt") -> RemoteFile:
    return RemoteFile(path, hashlib.sha256(body).hexdigest(), len(body), sources)


def tar(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for info, content in members:
            archive.addfile(info, io.BytesIO(content))
    return packed.getvalue()


def member(name: str, content: bytes = BODY, **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(content)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, content


@pytest.fixture
def plain_surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set no variables of ours, and wait for no server."""
    for name in ("OMTL_DATA", "OMTL_DATA_MIRROR", "OMTL_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(_download, "RETRY_DELAYS", (0.0, 0.01))
    monkeypatch.setattr(_download, "READ_TIMEOUT", 0.2)


def files_in(folder: Path) -> list[str]:
    """Return the files below a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())
