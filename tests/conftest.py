"""The cast, and no test reaches beyond this machine."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings

from salvor_admin.people import services as people
from salvor_admin.people.access import Actor
from salvor_admin.people.models import Workspace
from tests.people.factories import Cast


def pytest_configure() -> None:
    # Making the cast should not cost half a second a head.
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


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


@pytest.fixture(scope="session", autouse=True)
def plain_static() -> Iterator[None]:
    """Style and script straight from `static/`, so that no test waits for collectstatic."""
    plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    with override_settings(STORAGES={**settings.STORAGES, "staticfiles": plain}):
        yield


@pytest.fixture
def workspace(db: None) -> Workspace:
    return people.create_workspace(key="payments-eu", name="Payments EU")


@pytest.fixture
def other_workspace(db: None) -> Workspace:
    return people.create_workspace(key="logistics")


@pytest.fixture
def cast(workspace: Workspace) -> Cast:
    """Ada writes, Grace reviews, Pat publishes, Noor settles, Root administers."""
    return Cast(workspace)


@pytest.fixture
def ada(cast: Cast) -> Actor:
    return cast.actor("ada")


@pytest.fixture
def grace(cast: Cast) -> Actor:
    return cast.actor("grace")


@pytest.fixture
def pat(cast: Cast) -> Actor:
    return cast.actor("pat")


@pytest.fixture
def noor(cast: Cast) -> Actor:
    return cast.actor("noor")


@pytest.fixture
def root(cast: Cast) -> Actor:
    return cast.actor("root")


@pytest.fixture
def kim(other_workspace: Workspace) -> Actor:
    """An outsider: every right, in another workspace."""
    return Cast(other_workspace, {"kim": ["author", "reviewer", "publisher", "settler", "admin"]}).actor("kim")
