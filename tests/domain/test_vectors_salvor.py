"""The recorded vectors of the reference, as far as they are pure; `exceeds.json` names the ones we mean to miss."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from salvor_admin.domain import canonical, client_tools, keys, schemas, sentinels, strict_json
from salvor_admin.domain.refusals import Refusal

TESTS = Path(__file__).parent.parent
VECTORS = TESTS / "vectors" / "salvor"
EXCEEDS = json.loads((TESTS / "exceeds.json").read_text(encoding="utf-8"))

Case = dict[str, Any]


def cases_of(name: str) -> list[Case]:
    return list(json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))["cases"])


# Each judge says how we differ from what was recorded; None: not at all. A case it cannot judge it leaves out.


def declaration(case: Case) -> str | None:
    raw = base64.b64decode(case["toml_base64"]) if "toml_base64" in case else case["toml_text"].encode()
    try:
        tool = client_tools.from_toml(raw)
    except Refusal as refusal:
        if case["loads"]:
            return f"refused: {refusal}"
        told = refusal.message
        lost = [part for part in case["must_contain"] if part not in told and part not in {"tool.toml", "x.json"}]
        surplus = [part for part in case.get("must_not_contain", []) if part in told]
        at_line = refusal.details.get("line")
        if "line" in case and at_line is not None and case["fault"] not in FAULTS_WITHOUT_A_LINE:
            surplus += [] if at_line == case["line"] else [f"line {at_line}"]
        return f"told otherwise: {told} (lost {lost}, surplus {surplus})" if lost or surplus else None
    if not case["loads"]:
        return "accepted"
    text = canonical.text({"client_tools": [client_tools.listing_entry(tool)]})
    return None if text == case["client_tools_text"] else f"listed as {text}"


# The reference names line 1 for a key that is nowhere, and the place where it gave up for depth.
FAULTS_WITHOUT_A_LINE = {"missing key", "too deep"}


def number(case: Case) -> str | None:
    try:
        value = strict_json.read(case["input_text"].encode())
    except Refusal as refusal:
        return None if case["status"] == 400 == {"bad_request": 400}[refusal.code] else f"refused: {refusal}"
    if case["status"] != 200:
        return "accepted"
    tool = client_tools.ClientTool("t", client_tools.Effect.WRITE, {}, idempotency_key=("n",))
    key, _ = keys.idempotency_key(tool, run_id="4a1c7d52-8e0b-4f6d-9a37-2b5c1e9f0d44", seq=1, input={"n": value})
    told = (canonical.text(value), key)
    return None if told == (case["log_text"], case["key"]) else f"spelt {told}"


def idempotency(case: Case) -> str | None:
    try:
        tool = client_tools.from_document(
            {
                "name": case["tool"],
                "effect": case["effect"],
                "idempotency_key": case["key_fields"],
                "input_schema": {"required": case["key_fields"]},
            }
        )
        value = strict_json.read(case["input_text"].encode())
        if found := schemas.violation(tool.input_schema, value):
            raise Refusal("bad_request", f"`{tool.name}`: input_schema: {found.text}")
        key, text = keys.idempotency_key(tool, run_id=case["run"], seq=case["seq"], input=value)
    except Refusal as refusal:
        expected = case["expected"]
        if expected.get("code") == refusal.code and all(part in refusal.message for part in expected["must_contain"]):
            return None
        return f"refused: {refusal}"
    told = (key, text, canonical.text(value))
    recorded = (
        case["expected"].get("key"),
        case.get("canonical_text", text),
        case.get("recorded_input_text", canonical.text(value)),
    )
    return None if told == recorded else f"told {told}"


def equality(case: Case) -> str | None:
    a, b = (strict_json.read(case[side].encode()) for side in ("a_text", "b_text"))
    told = (canonical.equal(a, b), canonical.equal(b, a), canonical.text(a) == canonical.text(b))
    same = case["intent_repost"] == 200
    return None if told == (same, same, case["same_content_key"]) else f"told {told}"


def schema(case: Case) -> str | None:
    declared, value = (strict_json.read(case[side].encode()) for side in ("schema_text", "instance_text"))
    subset = schemas.subset_violation(declared, value)
    if schemas.schema_problem(declared) is None or subset is not None:
        told = ("refuses", subset.path, subset.keyword) if subset else ("accepts", None, None)
        if told != (case["reference"], case.get("path"), case.get("keyword")):
            return f"the small checker told {told}"
        if subset and (lost := [part for part in case["must_contain"] if part not in subset.text]):
            return f"the text {subset.text} lacks {lost}"
    found = schemas.violation(declared, value)
    return f"refused: {found.text}" if found and case["reference"] == "accepts" else None


def json_value(case: Case) -> str | None:
    if "value_is" in case:
        raw = b'"' + b"x" * 100_000 + b'"' if "string" in case["value_is"] else b"[" * 100_000
    else:
        raw = base64.b64decode(case["value_base64"]) if "value_base64" in case else case["value_text"].encode()
    recorded = case["intent_input"]
    try:
        value = strict_json.read_members(b'{"seq":1,"tool":"t","input":' + raw + b"}", {"seq", "tool", "input"})[
            "input"
        ]
        if strict_json.depth(value) > strict_json.MAX_VALUE_DEPTH:
            raise Refusal("bad_request", "too deep")
    except Refusal as refusal:
        return None if recorded.get("code") == refusal.code else f"refused: {refusal}"
    if recorded["status"] != 200 or recorded["log_status"] != 200:
        return "accepted"
    told = canonical.text(value)
    return None if told == recorded.get("written_text", told) else f"written {told}"


MEMBERS = {
    "/v1/client-runs": ("agent", "input", "run_id", "record_prompts"),
    "client-tool-intent": ("seq", "tool", "input"),
    "client-tool-completion": ("seq", "output", "error"),
    "resolve": ("output",),
    "abandon": ("reason",),
    "events": ("events",),
}
# Refused by the reading alone, before anything is known of the members' meaning.
UNREADABLE = (
    "BOM first",
    "trailing text",
    "trailing second object",
    "NUL byte after",
    "not JSON",
    "body is a string",
    "body is JSON null",
    "UTF-16",
    "run_id twice",
    "events twice",
    "only white space",
)


def json_body(case: Case) -> str | None:
    endpoint = case["endpoint"].split()[1]
    order = MEMBERS.get(endpoint) or MEMBERS[endpoint.rsplit("/", 1)[1]]
    raw = base64.b64decode(case["body_base64"]) if "body_base64" in case else case["body_text"].encode()
    try:
        strict_json.read_members(raw, order, array_order=order)
    except Refusal as refusal:
        return f"refused: {refusal}" if case["status"] < 300 and raw else None
    return "accepted" if case["status"] == 400 and any(part in case["name"] for part in UNREADABLE) else None


def reading(case: Case) -> str | None:
    return json_value(case) if case["name"].startswith("value:") else json_body(case)


def sentinel(case: Case) -> str | None:
    error = strict_json.read(case["body_text"].encode())["error"]
    told = sentinels.failure(error["message"], error.get("kind") or "handler")
    recorded = strict_json.read(case["events_text"][0].encode())["payload"]["output"]
    return (
        None if canonical.text(told) == canonical.text(recorded) and sentinels.is_failure(recorded) else f"told {told}"
    )


JUDGES: dict[str, tuple[Callable[[Case], str | None], Callable[[Case], bool]]] = {
    "declarations": (declaration, lambda case: "toml_text" in case or "toml_base64" in case),
    "canonical_numbers": (number, lambda case: case["where"] == "free value"),
    "idempotency_keys": (idempotency, lambda case: "run" in case),
    "free_json_equality": (equality, lambda case: True),
    "schema_subset": (schema, lambda case: True),
    "json_reading": (reading, lambda case: case["name"].startswith("value:") or "endpoint" in case),
    "sentinels": (
        sentinel,
        lambda case: case["kind"] == "completion" and case["status"] == 200 and '"error":{' in case["body_text"],
    ),
}


@pytest.mark.parametrize("name", JUDGES)
def test_each_vector_is_met_unless_a_bullet_says_why_not(name: str) -> None:
    judge, can_judge = JUDGES[name]
    listed = EXCEEDS["cases"].get(name, {})
    unlisted, met = {}, []
    for case in filter(can_judge, cases_of(name)):
        difference = judge(case)
        if difference is not None and case["name"] not in listed:
            unlisted[case["name"]] = difference
        elif difference is None and case["name"] in listed:
            met.append(case["name"])
    assert unlisted == {}
    assert met == [], "listed in exceeds.json, and met"


def test_most_vectors_have_a_pure_part() -> None:
    assert {name: sum(map(can_judge, cases_of(name))) for name, (_, can_judge) in JUDGES.items()} == {
        "declarations": 253,
        "canonical_numbers": 290,
        "idempotency_keys": 161,
        "free_json_equality": 76,
        "schema_subset": 448,
        "json_reading": 244,
        "sentinels": 16,
    }


def test_only_cases_that_exist_are_listed_and_only_under_bullets_that_exist() -> None:
    for name, listed in EXCEEDS["cases"].items():
        path = VECTORS / f"{name}.json"
        if path.exists():
            assert set(listed) <= {case["name"] for case in cases_of(name)}
        assert set(listed.values()) <= set(EXCEEDS["bullets"])
