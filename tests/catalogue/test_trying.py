"""The try-out says what `/v1` would say, by the same rules."""

from __future__ import annotations

import json
from typing import Any

import pytest

from salvor_admin.catalogue import trying
from salvor_admin.catalogue.trying import SAMPLE_RUN, Sample
from salvor_admin.domain import client_tools
from salvor_admin.domain.client_tools import ClientTool
from tests.reviews.factories import refund_card

INPUT = '{"order_id":"ORD-7781","amount_cents":5000}'
REPORT = '{"amount_cents":5000,"provider_refund_id":"re_1"}'


def tool(**changes: Any) -> ClientTool:
    return client_tools.from_document(refund_card(**changes))


def said(sample: Sample, **changes: Any) -> list[str]:
    """Each step as its code, or as its tone where nothing is refused."""
    return [step.code or step.tone for step in trying.tried(tool(**changes), sample)]


CASES: dict[str, tuple[Sample, dict[str, Any], list[str]]] = {
    "a report that fits and keeps its pin": (Sample(INPUT, REPORT), {}, ["ok", "ok", "ok", "ok", "ok"]),
    "an identity of the position": (
        Sample(INPUT, REPORT), {"idempotency_key": None}, ["ok", "ok", "ok", "ok"]
    ),
    "an input that does not fit": (Sample('{"order_id":"x","amount_cents":0}', REPORT), {}, ["bad_request", "stop"]),
    "an input that is no JSON": (Sample('{"order_id":', REPORT), {}, ["bad_request"]),
    "a pin that came back otherwise": (
        Sample(INPUT, '{"amount_cents":4800,"provider_refund_id":"re_1"}'),
        {},
        ["ok", "ok", "ok", "client_completion_refused", "warn"],
    ),
    "a pin spelt otherwise": (
        Sample('{"order_id":"x","amount_cents":5}', '{"amount_cents":5.0,"provider_refund_id":"re_1"}'),
        {"output_schema": {"type": "object", "required": ["amount_cents"]}},
        ["ok", "ok", "ok", "client_completion_refused", "warn"],
    ),
    "a report that does not fit": (Sample(INPUT, '{"amount_cents":5000}'), {}, ["ok", "ok", "ok", "bad_request", "warn"]),
    "a tool that is not trusted": (
        Sample(INPUT, REPORT), {"trust_completion": False}, ["ok", "ok", "ok", "client_completion_refused", "warn"]
    ),
    "no completion yet": (Sample(INPUT), {}, ["ok", "ok", "ok", "warn"]),
    "a failure": (Sample(INPUT, "card expired", True), {}, ["ok", "ok", "ok", "ok"]),
    "a failure of a tool that is not trusted": (
        Sample(INPUT, "card expired", True),
        {"trust_completion": False},
        ["ok", "ok", "ok", "client_completion_refused", "warn"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_steps_are_what_the_ledger_would_say(case: str) -> None:
    sample, changes, codes = CASES[case]
    assert said(sample, **changes) == codes


def test_a_refused_step_carries_the_status_of_the_wire() -> None:
    steps = trying.tried(tool(), Sample(INPUT, '{"amount_cents":4800,"provider_refund_id":"re_1"}'))
    assert [(step.code, step.status) for step in steps if step.code] == [("client_completion_refused", 403)]


def test_the_key_is_shown_with_the_text_it_is_the_hash_of() -> None:
    (step,) = [step for step in trying.tried(tool(), Sample(INPUT)) if step.json]
    assert json.loads(step.json) == {"order_id": "ORD-7781", "run": SAMPLE_RUN, "tool": "refund_card"}
    assert step.more.startswith("sha256:")
