"""What the product is set up with for the bench: people, a runtime, and realistic tools."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

DRIVE_TOKEN: Final = "dt_" + "0123456789abcdef" * 2
TOOL: Final = "refund_card"
OTHER_TOOLS: Final = ("wire_payout", "close_dispute", "ship_parcel")
DECLARATION: Final = """
name = "NAME"
effect = "write"
trust_completion = true
idempotency_key = ["order_id", "amount_cents"]
require_equal = ["order_id", "amount_cents"]

[input_schema]
type = "object"
required = ["order_id", "amount_cents", "currency", "reason"]
additionalProperties = false

[input_schema.properties.order_id]
type = "string"
minLength = 8
maxLength = 64

[input_schema.properties.amount_cents]
type = "integer"
minimum = 1
maximum = 10000000

[input_schema.properties.currency]
type = "string"
enum = ["EUR", "USD", "GBP"]

[input_schema.properties.reason]
type = "string"
maxLength = 500

[output_schema]
type = "object"
required = ["refund_id", "order_id", "amount_cents", "status"]

[output_schema.properties.refund_id]
type = "string"
minLength = 4

[output_schema.properties.order_id]
type = "string"

[output_schema.properties.amount_cents]
type = "integer"

[output_schema.properties.status]
type = "string"
enum = ["succeeded", "pending"]
"""
INPUT: Final = '{"amount_cents":12900,"currency":"EUR","order_id":"ORDER","reason":"The parcel came back unopened."}'
OUTPUT: Final = '{"amount_cents":12900,"order_id":"ORDER","refund_id":"re_ORDER","status":"succeeded"}'
PAYLOAD: Final = (
    '{"effect":"write","idempotency_key":"sha256:0f5b1a0c8e7d64b2930f1c5d8e2ab34767f0915d2c3b4a5968778695a4b3c2d1",'
    f'"input":{INPUT.replace("ORDER", "ord_000000000001")},"performed_by":"client","seq":1,"tool":"{TOOL}"}}'
)


@dataclass(frozen=True)
class Staged:
    """What the product's database holds before anything is measured."""

    runtime_token: str
    cookie: str
    """Of Noor's session."""
    publication: int


def stage() -> Staged:
    """Migrate, make the cast and the runtime, publish the tools, sign Noor in."""
    from tests.wire.stage import Stage

    made = Stage()
    made.declare({name: DECLARATION.replace("NAME", name) for name in (TOOL, *OTHER_TOOLS)}, "86400")

    from django.conf import settings
    from django.core.management import call_command
    from django.db import connections
    from django.test import Client

    from tests.people.factories import PASSWORD

    call_command("collectstatic", interactive=False, verbosity=0)
    client = Client(SERVER_NAME="127.0.0.1")
    if not client.login(username="noor", password=PASSWORD):
        raise RuntimeError("Noor cannot sign in")
    made.workspace.refresh_from_db()
    cookie = f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
    connections.close_all()
    return Staged(made.runtime_token, cookie, made.workspace.last_publication)
