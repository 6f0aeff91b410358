"""The recorded vectors over the wire: what is read, what is one value, what a failure leaves in the log."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.differences import EXCEEDS
from tests.wire.peer import Driven, Peer, Reply
from tests.wire.stage import Stage

pytestmark = pytest.mark.django_db
VECTORS = Path(__file__).parent.parent / "vectors" / "salvor"

#: The tools that the recorded cases name.
TOOLS = {
    "t": ("write", "trust_completion = true", "[input_schema]\n[output_schema]"),
    "u": ("write", "", "[input_schema]"),
    "untrusted_open": ("write", "", "[input_schema]\n[output_schema]"),
    "trusted_bare": ("write", "trust_completion = true", "[input_schema]"),
    "pin_a": (
        "write",
        'trust_completion = true\nrequire_equal = ["a"]',
        '[input_schema]\nrequired = ["a"]\n'
        '[output_schema]\ntype = "object"\nrequired = ["a"]\n[output_schema.properties.a]\ntype = "integer"',
    ),
    "pinned": (
        "write",
        'trust_completion = true\nrequire_equal = ["v"]',
        '[input_schema]\nrequired = ["v"]\n[output_schema]\nrequired = ["v"]',
    ),
    "keyed": (
        "write",
        'trust_completion = true\nidempotency_key = ["k"]',
        '[input_schema]\nrequired = ["k"]\n[output_schema]',
    ),
    "ik": (
        "idempotent",
        'trust_completion = true\nidempotency_key = ["k"]',
        '[input_schema]\nrequired = ["k"]\n[output_schema]',
    ),
    "idempotent": ("idempotent", "trust_completion = true", "[input_schema]\n[output_schema]"),
}
BY_WORDS = {
    "write, trusted, empty output_schema": "t",
    "write, not trusted, no output_schema": "u",
    "write, not trusted, empty output_schema": "untrusted_open",
    "write, trusted, no output_schema": "trusted_bare",
    "write, trusted, output_schema {type object, required [a], a integer}, require_equal [a]": "pin_a",
    "write, trusted, empty output_schema, idempotency_key [k]": "keyed",
    "idempotent, trusted, empty output_schema, idempotency_key [k]": "ik",
    "idempotent, trusted, empty output_schema": "idempotent",
}


class Bench:
    def __init__(self, runtime: Peer, person: Peer) -> None:
        self.runtime, self.person = runtime, person

    def at_intent(self, tool: str, input: bytes = b"{}", *, seq: int = 1) -> Driven:
        """A run that ends at an open intent of this tool."""
        run = self.runtime.run()
        for at in range(1, seq):
            assert run.append({"kind": "RandomObserved", "payload": {"value": at}}).status == 200
        reply = ask(run, seq, tool, input)
        assert reply.status == 200, reply.text
        return run

    def resolve(self, run: Driven, body: bytes) -> Reply:
        return self.person.post(f"runs/{run.id}/resolve", body)


@pytest.fixture
def stage(db: None) -> Bench:
    setting = Stage(is_migrated=True)
    setting.declare(
        {
            f"{name}.toml": f'name = "{name}"\neffect = "{effect}"\n{more}\n{schemas}\n'
            for name, (effect, more, schemas) in TOOLS.items()
        }
    )
    return Bench(Peer(setting.runtime_token), Peer(setting.settler_token))


def cases(name: str) -> list[dict[str, Any]]:
    return list(json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))["cases"])


def ask(run: Driven, seq: int, tool: str, input: bytes) -> Reply:
    return run.post("client-tool-intent", b'{"seq":%d,"tool":"%s","input":%s}' % (seq, tool.encode(), input))


def raw_log(run: Driven, from_seq: int = 0) -> str:
    return run.peer.get(f"client-runs/{run.id}/log?from_seq={from_seq}").text


def events_of(run: Driven, from_seq: int) -> list[Any]:
    """The events from a position on, keys once more in any order but numbers as spelt."""
    return [
        spelt(envelope["event"])
        for envelope in json.loads(raw_log(run, from_seq), parse_float=str, parse_int=str)["log"]
    ]


def spelt(value: Any) -> Any:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def spelt_text(text: str) -> Any:
    return spelt(json.loads(text, parse_float=str, parse_int=str))


def differing(name: str, judge: Callable[[dict[str, Any]], str | None]) -> dict[str, str]:
    """How each case differs; `None` from the judge: not at all."""
    return {case["name"]: told for case in cases(name) if (told := judge(case)) is not None}


# --- reading ---------------------------------------------------------------------------------------------------------


def value_of(case: dict[str, Any]) -> bytes:
    if "value_base64" in case:
        return base64.b64decode(case["value_base64"])
    if "value_text" in case:
        return str(case["value_text"]).encode()
    words = case["value_is"]
    if words == "a string of 100000 times x":
        return b'"' + b"x" * 100_000 + b'"'
    assert words == "100000 times [", words
    return b"[" * 100_000


def event_frame(run: Driven) -> tuple[bytes, bytes]:
    event = {"kind": "RunStarted", "payload": {"agent_def_hash": "h", "input": "@"}}
    before, after = json.dumps({"events": [run.envelope(0, event)]}).encode().split(b'"@"')
    return before, after


def told(place: str, expected: dict[str, Any], reply: Reply, run: Driven) -> str | None:
    """Status and code as recorded; and, what was written, in the recorded spelling and readable."""
    if expected["status"] == 200 and expected.get("log_status", 200) == 500:
        return f"{place}: refused, recorded as unreadable" if reply.refusal == (400, "bad_request") else f"{place}: ?"
    if reply.status != expected["status"] or (reply.status != 200 and reply.code != expected["code"]):
        return f"{place}: {reply.status} {reply.text[:100]}"
    if reply.status == 200 and "written_text" in expected and f":{expected['written_text']}" not in raw_log(run):
        return f"{place}: written otherwise"
    return None


def test_values_are_read_wherever_they_stand_as_the_reference_reads_them(stage: Bench) -> None:
    def judge(case: dict[str, Any]) -> str | None:
        if not case["name"].startswith("value:"):
            return None
        value = value_of(case)
        asked = stage.runtime.run()
        begun = stage.runtime.run(begun=False)
        before, after = event_frame(begun)
        reported, resolved = stage.at_intent("t"), stage.at_intent("u")
        seen = [
            told("intent", case["intent_input"], ask(asked, 1, "t", value), asked),
            told("event", case["event_input"], begun.post("events", before + value + after), begun),
            told(
                "completion",
                case["completion_output"],
                reported.post("client-tool-completion", b'{"seq":1,"output":%s}' % value),
                reported,
            ),
            told("resolve", case["resolve_output"], stage.resolve(resolved, b'{"output":%s}' % value), resolved),
        ]
        return next((one for one in seen if one is not None), None)

    listed = {name for name, bullet in EXCEEDS["cases"]["json_reading"].items() if bullet == "depth"}
    found = differing("json_reading", judge)
    assert set(found) == listed, found


def test_whole_bodies_are_read_as_the_reference_reads_them(stage: Bench) -> None:
    def judge(case: dict[str, Any]) -> str | None:
        if not case["name"].startswith("body:"):
            return None
        raw = base64.b64decode(case["body_base64"]) if "body_base64" in case else case["body_text"].encode()
        method, path = case.get("endpoint", "POST /v1/client-runs/{id}/client-tool-intent").split(" ")
        at_write = path.endswith(("resolve", "abandon"))
        at_call = path.endswith("client-tool-completion")
        run = stage.at_intent("u") if at_write else stage.at_intent("t") if at_call else stage.runtime.run()
        body = raw.replace(b"@RUN", run.id.encode()).replace(b"@UPPER", run.id.upper().encode())
        body = body.replace(b"@HEX", run.id.replace("-", "").encode())
        peer = stage.person if at_write else stage.runtime
        reply = peer.send(method, path.removeprefix("/v1/").replace("{id}", run.id), body, drive=run.drive)
        if reply.status != case["status"] or (reply.status >= 400 and reply.code != case["code"]):
            return f"{reply.status} {reply.text[:120]}"
        if "events_after_text" in case:
            key = next((e["event"]["payload"].get("idempotency_key", "") for e in run.log[1:]), "") or ""
            wanted = [spelt_text(text.replace("sha256:{key}", key)) for text in case["events_after_text"]]
            if events_of(run, 1) != wanted:
                return f"written {events_of(run, 1)}"
        return None

    assert differing("json_reading", judge) == {}


# --- equality --------------------------------------------------------------------------------------------------------


def test_two_texts_are_one_value_where_the_reference_holds_them_for_one(stage: Bench) -> None:
    def judge(case: dict[str, Any]) -> str | None:
        a, b = case["a_text"].encode(), case["b_text"].encode()
        seen: dict[str, Any] = {}
        plain = stage.at_intent("t", b'{"v":%s}' % a)
        seen["intent_repost"] = ask(plain, 1, "t", b'{"v":%s}' % b).status
        keyed = stage.at_intent("keyed", b'{"k":%s}' % a)
        seen["keyed_intent_repost"] = ask(keyed, 1, "keyed", b'{"k":%s}' % b).status
        assert keyed.post("client-tool-completion", b'{"seq":1,"output":1}').status == 200
        seen["same_content_key"] = ask(keyed, 3, "keyed", b'{"k":%s}' % b).json.get("settled")
        begun = stage.runtime.run(begun=False)
        before, after = event_frame(begun)
        assert begun.post("events", before + a + after).status == 200
        seen["event_repost"] = begun.post("events", before + b + after).status
        pinned = stage.at_intent("pinned", b'{"v":%s}' % a)
        reply = pinned.post("client-tool-completion", b'{"seq":1,"output":{"v":%s}}' % b)
        seen["pinned_completion"] = reply.status
        lost = [
            part for part in case.get("pinned_must_contain", []) if reply.status == 403 and part not in reply.message
        ]
        resolved = stage.at_intent("pinned", b'{"v":%s}' % a)
        seen["pinned_resolve"] = stage.resolve(resolved, b'{"output":{"v":%s}}' % b).status
        wrong = {name: value for name, value in seen.items() if name in case and case[name] != value}
        return f"{wrong} {lost}" if wrong or lost else None

    assert differing("free_json_equality", judge) == {}


# --- failures --------------------------------------------------------------------------------------------------------


def test_failures_leave_in_the_log_what_the_reference_leaves(stage: Bench) -> None:
    def judge(case: dict[str, Any]) -> str | None:
        tool, input = BY_WORDS[case["tool"]], case["input_text"].encode()
        if case["kind"] == "same content asked again":
            return _asked_again(stage, case, tool, input)
        seq = case["intent_seq"]
        run = stage.at_intent(tool, input, seq=seq)
        body = case["body_text"].encode()
        is_report = case["kind"] == "completion"
        reply = run.post("client-tool-completion", body) if is_report else stage.resolve(run, body)
        if reply.status != case["status"]:
            return f"{reply.status} {reply.text[:120]}"
        wanted = [spelt_text(text) for text in case.get("events_text", [])]
        if events_of(run, seq + 1) != wanted:
            return f"written {events_of(run, seq + 1)}"
        if "status_text" in case and spelt(run.detail["status"]) != spelt(json.loads(case["status_text"])):
            return f"state {run.detail['status']}"
        again = case.get("intent_posted_again")
        if again is not None:
            given = ask(run, seq, tool, input)
            if (given.status, given.json["settled"]) != (again["status"], again["settled"]):
                return f"again {given.text}"
            if again.get("output_text") is not None and spelt(given.json["output"]) != spelt(
                json.loads(again["output_text"])
            ):
                return f"again {given.text}"
        return None

    assert differing("sentinels", judge) == {}


def _asked_again(stage: Bench, case: dict[str, Any], tool: str, input: bytes) -> str | None:
    run = stage.at_intent(tool, input)
    if "first_completion_text" in case:
        first = run.post("client-tool-completion", case["first_completion_text"].encode())
    else:
        first = stage.resolve(run, case["first_resolve_text"].encode())
    if first.status != 200:
        return f"first {first.text}"
    drive = run.drive
    if run.post("heartbeat").status == 404:
        drive = run.peer.open(run.id).json["drive_token"]
    run = Driven(run.peer, run.id, drive)
    reply = ask(run, case["second_intent_seq"], tool, input)
    if (reply.status, reply.json.get("settled")) != (case["status"], case["answer_settled"]):
        return f"{reply.status} {reply.text}"
    if case.get("answer_output_text") is not None and spelt(reply.json["output"]) != spelt(
        json.loads(case["answer_output_text"])
    ):
        return f"answered {reply.text}"
    key = reply.json["idempotency_key"]
    wanted = [
        spelt_text(text.replace("sha256:{key}", key).replace("{run}", run.id).replace('"tool":"k"', f'"tool":"{tool}"'))
        for text in case["events_text"]
    ]
    found = [one.replace(f'"tool": "{tool}"', '"tool": "?"') for one in events_of(run, case["second_intent_seq"])]
    wanted = [re.sub(r'"tool": "\w+"', '"tool": "?"', one) for one in wanted]
    return None if found == wanted else f"written {found} not {wanted}"
