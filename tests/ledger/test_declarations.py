"""What lists show of a call, made once when it is asked for."""

from __future__ import annotations

import json

import pytest
from django.db import connection

from salvor_admin.domain.client_tools import ClientTool
from salvor_admin.domain.effects import Effect
from salvor_admin.ledger import declarations


@pytest.mark.django_db
def test_a_call_with_thousands_of_long_pins_can_still_be_indexed() -> None:
    pins = tuple(f"pin_{number}" for number in range(6000))
    tool = ClientTool("many", Effect.WRITE, {}, require_equal=pins)
    subject = declarations.subject(tool, {pin: f"{pin} " + "ﷺ" * 300 for pin in pins})
    assert [name for name, _ in json.loads(subject)] == list(pins[: declarations.MOST_FIELDS])
    with connection.cursor() as cursor:
        cursor.execute("SELECT length(call_terms(%s, 'sha256:00'))", [subject])
        assert cursor.fetchone() == (declarations.MOST_FIELDS + 1,)
