"""No test reaches beyond this machine."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(scope="session", autouse=True)
def no_network() -> Iterator[None]:
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in {socket.AF_INET, socket.AF_INET6}:
            host = str(address[0])
            if host != "localhost" and not ipaddress.ip_address(host).is_loopback:
                raise RuntimeError(f"A test reached out to {address}; tests stay on this machine.")
        connect(self, address)

    patch = pytest.MonkeyPatch()
    patch.setattr(socket.socket, "connect", guarded)
    yield
    patch.undo()
