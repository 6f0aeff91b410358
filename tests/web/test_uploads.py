"""A form with files is held to a size before it is read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from salvor_admin.people.access import Actor

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def small_limits(settings: Any) -> Iterator[None]:
    settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    settings.MOST_UPLOADED = 5000
    yield


def sent(client: Client, path: str, size: int) -> int:
    file = SimpleUploadedFile("a.toml", b"#" * size)
    return client.post(path, {"uploads": file, "username": "ada", "password": "x"}).status_code


@pytest.mark.parametrize("enforced", [False, True], ids=["in the view", "at the CSRF check"])
def test_who_is_not_signed_in_sends_no_large_file(enforced: bool) -> None:
    client = Client(enforce_csrf_checks=enforced)
    client.cookies["csrftoken"] = "a" * 32
    assert sent(client, "/sign-in/", 2000) == 413


def test_who_is_signed_in_sends_files_up_to_the_limit(ada: Actor) -> None:
    client = Client()
    client.force_login(ada.person)
    assert sent(client, f"/w/{ada.workspace_key}/tools/import/", 2000) == 422
    assert sent(client, f"/w/{ada.workspace_key}/tools/import/", 6000) == 413
