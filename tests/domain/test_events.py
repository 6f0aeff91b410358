"""Events: contract 3 and the transcripts append-02, -08, -09, -15, quirk-02."""

from __future__ import annotations

import json
from typing import Any

import pytest

from salvor_admin.domain import events, strict_json
from salvor_admin.domain.events import Event, Kind
from salvor_admin.domain.refusals import Refusal

RUN = "0d5f4b7e-3c1a-4a2e-9b55-6f0c2a7d9e10"


def envelope_text(kind: str, payload: str, *, seq: str = "0") -> str:
    return (
        f'{{"run_id":"{RUN}","seq":{seq},"schema_version":1,"recorded_at":"1970-01-01T00:00:00Z",'
        f'"event":{{"kind":"{kind}","payload":{payload}}}}}'
    )


def read_envelope(text: str) -> events.Envelope:
    members = strict_json.read_members(f'{{"events":[{text}]}}'.encode(), ("events",))
    return events.read_envelope(members["events"][0])


def read(kind: str, payload: str) -> Event:
    return read_envelope(envelope_text(kind, payload)).event


def assert_refused(text: str) -> None:
    with pytest.raises(Refusal) as refused:
        read_envelope(text)
    assert refused.value.code == "bad_request"


def test_an_envelope_is_read_with_its_run_position_and_version() -> None:
    read_one = read_envelope(envelope_text("RandomObserved", '{"value":5}', seq="3"))
    assert (read_one.run_id, read_one.seq, read_one.schema_version) == (RUN, 3, 1)
    assert read_one.event == Event(Kind.RANDOM_OBSERVED, {"value": 5})


@pytest.mark.parametrize("seq", ["1.0", '"1"', "-1", "1e0", "null", "18446744073709551616", "-0", "true"])
def test_a_position_is_a_whole_number_written_as_one(seq: str) -> None:
    assert_refused(envelope_text("RandomObserved", '{"value":1}', seq=seq))


def test_the_greatest_position_is_read() -> None:
    text = envelope_text("RandomObserved", '{"value":1}', seq="18446744073709551615")
    assert read_envelope(text).seq == 18446744073709551615


@pytest.mark.parametrize("name", ["run_id", "seq", "schema_version", "recorded_at", "event"])
def test_an_envelope_lacking_a_member_is_refused(name: str) -> None:
    members = json.loads(envelope_text("SleepCompleted", "{}"))
    del members[name]
    assert_refused(json.dumps(members))


@pytest.mark.parametrize(
    "event",
    [
        '{"kind":"RandomObserved"}',
        '{"payload":{"value":1}}',
        '{"kind":"Nonsense","payload":{}}',
        '{"kind":"randomobserved","payload":{"value":1}}',
        '{"kind":"RandomObserved","payload":null}',
        '{"kind":"RandomObserved","payload":[5]}',
        '{"kind":"RandomObserved","payload":{"value":1},"payload":{"value":2}}',
        '{"kind":"RandomObserved","payload":{"value":1,"value":2}}',
        '{"kind":"RunCompleted","payload":{"output":1,"output":2}}',
        '{"kind":"RunRedriven","payload":{}}',
        '{"kind":5,"payload":{}}',
        '{"NowObserved":{"now":"2026-01-01T00:00:00Z"}}',
        "null",
        "[]",
    ],
)
def test_a_malformed_event_is_refused(event: str) -> None:
    members = f'"run_id":"{RUN}","seq":1,"schema_version":1,"recorded_at":"1970-01-01T00:00:00Z"'
    assert_refused(f'{{{members},"event":{event}}}')


def test_unknown_members_are_dropped_at_every_level() -> None:
    members = f'"run_id":"{RUN}","seq":1,"schema_version":1,"recorded_at":"1970-01-01T00:00:00Z","a":1,"a":2'
    text = f'{{{members},"event":{{"x":1,"payload":{{"value":5,"y":1,"y":2}},"kind":"RandomObserved"}}}}'
    assert read_envelope(text).event == Event(Kind.RANDOM_OBSERVED, {"value": 5})


def test_an_array_is_read_as_an_envelopes_members_in_order() -> None:
    text = f'["{RUN}",1,1,"1970-01-01T00:00:00Z",["RandomObserved",{{"value":5}}]]'
    assert read_envelope(text).event == Event(Kind.RANDOM_OBSERVED, {"value": 5})
    assert_refused(f'["{RUN}",1,1,"1970-01-01T00:00:00Z"]')


@pytest.mark.parametrize("recorded_at", ['"1970-01-01T00:00:00"', '"1970-01-01"', "0", '"10000-01-01T00:00:00Z"'])
def test_a_recorded_at_that_is_no_instant_is_refused(recorded_at: str) -> None:
    text = envelope_text("SleepCompleted", "{}").replace('"1970-01-01T00:00:00Z"', recorded_at)
    assert_refused(text)


@pytest.mark.parametrize(
    ("kind", "given", "kept"),
    [
        ("RunStarted", '{"input":null,"agent_def_hash":"h"}', '{"agent_def_hash":"h","input":null}'),
        ("RunStarted", '{"agent_def_hash":"h","input":1,"labels":null}', '{"agent_def_hash":"h","input":1}'),
        ("RunStarted", '{"agent_def_hash":"h","input":1,"labels":{}}', '{"agent_def_hash":"h","input":1,"labels":{}}'),
        (
            "RunStarted",
            '{"agent_def_hash":"h","input":1,"driven_by":"server","labels":{"b":"1","a":"2","b":"3"}}',
            '{"agent_def_hash":"h","input":1,"labels":{"a":"2","b":"3"},"driven_by":"server"}',
        ),
        ("NowObserved", '{"now":"2026-03-04T10:15:30.250Z"}', '{"now":"2026-03-04T10:15:30.25Z"}'),
        ("RandomObserved", '{"value":18446744073709551615}', '{"value":18446744073709551615}'),
        (
            "Suspended",
            '{"kind":"signal","input_schema":true,"reason":"r"}',
            '{"reason":"r","input_schema":true,"kind":"signal"}',
        ),
        ("Suspended", '{"kind":null,"input_schema":true,"reason":"r"}', '{"reason":"r","input_schema":true}'),
        ("Resumed", '{"input":{"b":1,"a":2}}', '{"input":{"a":2,"b":1}}'),
        ("SleepStarted", '{"wake_at":"2999-01-01T00:00:00+01:00"}', '{"wake_at":"2999-01-01T00:00:00+01:00"}'),
        ("SleepCompleted", '{"x":1}', "{}"),
        (
            "BudgetExceeded",
            '{"budget":{"kind":"steps","limit":20},"observed":21}',
            '{"budget":{"kind":"steps","limit":20.0},"observed":21.0}',
        ),
        ("RunAbandoned", '{"reason":null}', "{}"),
        (
            "RunAbandoned",
            '{"unresolved_write":{"tool":"t","seq":9,"x":1},"reason":"r"}',
            '{"reason":"r","unresolved_write":{"seq":9,"tool":"t"}}',
        ),
        (
            "ToolCallRequested",
            '{"effect":"write","input":1,"tool":"t","seq":1}',
            '{"seq":1,"tool":"t","input":1,"effect":"write","idempotency_key":null}',
        ),
        (
            "ToolCallCompleted",
            '{"output":null,"settled_by":"operator","seq":1}',
            '{"seq":1,"output":null,"settled_by":"operator"}',
        ),
        (
            "ModelCallRequested",
            '{"performed_by":"client","request_body":null,"request_hash":"h","seq":1}',
            '{"seq":1,"request_hash":"h","performed_by":"client"}',
        ),
        (
            "ModelCallCompleted",
            '{"usage":{"input_tokens":1,"output_tokens":4294967295,"cached":9},"response":1,"seq":1}',
            '{"seq":1,"response":1,"usage":{"input_tokens":1,"output_tokens":4294967295}}',
        ),
    ],
)
def test_a_payload_is_kept_in_the_contracts_order_without_what_is_absent(kind: str, given: str, kept: str) -> None:
    assert read(kind, given).ordered_payload_text() == kept


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("RunStarted", '{"agent_def_hash":5,"input":1}'),
        ("RunStarted", '{"agent_def_hash":"h"}'),
        ("RunStarted", '{"agent_def_hash":"h","input":1,"labels":{"k":5}}'),
        ("RunStarted", '{"agent_def_hash":"h","input":1,"labels":{"k":null}}'),
        ("RunStarted", '{"agent_def_hash":"h","input":1,"driven_by":"me"}'),
        ("RandomObserved", '{"value":-1}'),
        ("RandomObserved", '{"value":1.0}'),
        ("RandomObserved", '{"value":18446744073709551616}'),
        ("NowObserved", '{"now":1767225600}'),
        ("NowObserved", '{"now":"2026-03-04T10:15:30+0200"}'),
        ("Suspended", '{"reason":"x","input_schema":true,"kind":"gate"}'),
        ("Resumed", "{}"),
        ("SleepStarted", '{"wake_at":"9999-12-31T23:59:59-01:00"}'),
        ("BudgetExceeded", '{"budget":{"kind":"time","limit":1},"observed":1}'),
        ("BudgetExceeded", '{"budget":{"kind":"steps","limit":"1"},"observed":1}'),
        ("BudgetExceeded", '{"budget":{"kind":"steps","limit":1,"limit":2},"observed":1}'),
        ("BudgetExceeded", '{"budget":{"kind":"steps","limit":1},"observed":true}'),
        ("RunFailed", '{"error":{}}'),
        ("ToolCallRequested", '{"seq":1,"tool":"t","input":1,"effect":"Write"}'),
        ("ModelCallCompleted", '{"seq":1,"response":1,"usage":{"input_tokens":4294967296,"output_tokens":0}}'),
        ("ModelCallCompleted", '{"seq":1,"response":1,"usage":{"input_tokens":1}}'),
    ],
)
def test_a_payload_that_breaks_its_kinds_shape_is_refused(kind: str, payload: str) -> None:
    assert_refused(envelope_text(kind, payload))


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ('{"n":5000,"b":[1,2]}', '{"b":[1, 2], "n":5000}', True),
        ('{"n":5000}', '{"n":5000.0}', False),
        ('{"n":5000}', '{"n":5e3}', False),
        ("[1,2]", "[2,1]", False),
        ("0.0", "-0.0", True),
        ("0", "-0", False),
        ("1.0", "1.00", True),
    ],
)
def test_free_values_compare_by_spelling_class_not_by_text(one: str, other: str, same: bool) -> None:
    assert (
        events.is_same(read("RunCompleted", f'{{"output":{one}}}'), read("RunCompleted", f'{{"output":{other}}}'))
        is same
    )


def test_one_moment_in_two_offsets_is_one_event() -> None:
    here, there = '{"now":"2026-03-04T10:15:30+02:00"}', '{"now":"2026-03-04T08:15:30Z"}'
    assert events.is_same(read("NowObserved", here), read("NowObserved", there))


def test_empty_labels_are_not_absent_labels() -> None:
    bare, empty = '{"agent_def_hash":"h","input":1}', '{"agent_def_hash":"h","input":1,"labels":{}}'
    assert not events.is_same(read("RunStarted", bare), read("RunStarted", empty))


def test_a_stored_event_reads_back_as_it_was() -> None:
    event = read("RunCompleted", '{"output":{"b":1.0,"a":[1,-0,1e16,"é"]}}')
    again = events.stored(event.kind.value, event.payload_text())
    assert again.payload_text() == '{"output":{"a":[1,-0.0,1e+16,"é"],"b":1.0}}'
    assert events.is_same(event, again)


@pytest.mark.parametrize(
    ("labels", "bound"),
    [
        ({f"k{number}": "v" for number in range(17)}, "16"),
        ({f"k{number}": "v" * 300 for number in range(17)}, "16"),
        ({"k" * 65: "v"}, "64"),
        ({"é" * 33: "v"}, "64"),
        ({"k": "v" * 257}, "256"),
        ({"k": "€" * 86}, "256"),
    ],
)
def test_label_bounds_are_bytes_and_the_count_is_looked_at_first(labels: dict[str, str], bound: str) -> None:
    fault = events.label_fault(labels)
    assert fault is not None
    assert bound in fault


def test_labels_at_their_bounds_are_kept() -> None:
    labels: dict[str, Any] = {f"k{number}": "v" for number in range(14)}
    labels |= {"é" * 32: "€" * 85 + "v", "": ""}
    assert events.label_fault(labels) is None
