"""Opening pages of the catalogue as somebody of the cast."""

from __future__ import annotations

import re
from typing import Any

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from salvor_admin.people.access import Actor


def signed_in(actor: Actor) -> Client:
    client = Client()
    client.force_login(actor.person)
    return client


def path(actor: Actor, route: str, **kwargs: Any) -> str:
    return reverse(route, kwargs={"workspace": actor.workspace_key, **kwargs})


def field_errors(html: str, field: str) -> list[str]:
    """The texts at one field."""
    (slot,) = re.findall(rf'<div id="id_{field}_error"[^>]*>(.*?)</div>', html, re.DOTALL)
    return [re.sub(r"<[^>]+>", "", text).strip() for text in re.findall(r"<p.*?</p>", slot, re.DOTALL)]


def query_count(actor: Actor, where: str) -> int:
    """How many statements the page takes, the frame's included."""
    client = signed_in(actor)
    with CaptureQueriesContext(connection) as captured:
        answer = client.get(where)
    assert answer.status_code == 200, answer.status_code
    return len(captured)
