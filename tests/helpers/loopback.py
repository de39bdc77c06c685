"""Importing this closes the network to this process, but for the loopback."""

from __future__ import annotations

import socket
import sys


def own_address() -> str:
    """Return this machine's address in its network, which ray's head has; nothing is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("198.51.100.1", 9))
        except OSError:
            return ""
        return str(probe.getsockname()[0])


THIS_MACHINE = ("", "localhost", "::1", socket.gethostname(), own_address())


def loopback_only(event: str, arguments: tuple) -> None:
    """Refuse connections to other machines, and asking for their addresses."""
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        host = arguments[1][0]
    elif event == "socket.getaddrinfo":
        host = arguments[0]
    else:
        return
    name = host.decode() if isinstance(host, bytes) else str(host or "")
    if not name.startswith("127.") and name not in THIS_MACHINE:
        raise RuntimeError(f"a test may not reach {name}")


sys.addaudithook(loopback_only)
