"""Reading JSON: numbers keep their spelling, and what cannot be read is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salvor_admin.domain import strict_json
from salvor_admin.domain.refusals import Refusal

SEVERAL_NUMBERS = [
    ("1", int),
    ("1.0", float),
    ("1e2", float),
    ("-0", float),
    ("0", int),
    ("9223372036854775808", int),
    ("18446744073709551615", int),
    ("18446744073709551616", float),
    ("-9223372036854775808", int),
    ("-9223372036854775809", float),
]


@pytest.mark.parametrize(("text", "kind"), SEVERAL_NUMBERS)
def test_a_number_is_an_int_only_when_it_is_written_as_one_that_fits_64_bits(text: str, kind: type) -> None:
    value = strict_json.read(text.encode())
    assert type(value) is kind
    assert value == float(text) if kind is float else value == int(text)


def refusal_of(read: Any, raw: bytes, **options: Any) -> Refusal:
    with pytest.raises(Refusal) as caught:
        read(raw, **options)
    assert caught.value.code == "bad_request"
    return caught.value


UNREADABLE = {
    "an empty text": b"",
    "a trailing value": b"1 2",
    "a byte order mark": b"\xef\xbb\xbf1",
    "a byte that is no UTF-8": b'"\xff"',
    "an encoded surrogate": b'"\xed\xa0\x80"',
    "NaN": b"NaN",
    "minus infinity": b"[-Infinity]",
    "a number beyond the doubles": b"1e400",
    "an integer beyond the doubles": b"1" * 400,
    "half a surrogate pair": b'{"a":"\\ud83d"}',
    "half a surrogate pair in a name": b'{"\\uD83D":1}',
    "half a surrogate pair under a name that is given again": b'{"a":"\\ud83d","a":1}',
    "a raw control character": b'"a\nb"',
    "a leading zero": b"01",
    "128 containers": b"[" * 128 + b"]" * 128,
    "128 containers under a name that is given again": b'{"a":' + b"[" * 127 + b"]" * 127 + b',"a":1}',
    "100000 containers": b"[" * 100_000,
}


@pytest.mark.parametrize("raw", UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_is_no_json_is_refused(raw: bytes) -> None:
    refusal_of(strict_json.read, raw)


READABLE = [
    (b' \t\r\n{"a" : [1, 2]} ', {"a": [1, 2]}),
    (b'{"a":1,"a":2}', {"a": 2}),
    (b'"\\ud83d\\ude00"', "\U0001f600"),
    (b'"\\\\ud83d"', "\\ud83d"),
    (b'"\\u0000"', "\0"),
    (b'"\x7f"', "\x7f"),
    (b"5e-999", 0.0),
]


@pytest.mark.parametrize(("raw", "value"), READABLE)
def test_what_is_json_is_read(raw: bytes, value: Any) -> None:
    assert strict_json.read(raw) == value


def test_brackets_in_strings_are_no_depth() -> None:
    text = b'["' + b"[{" * 200 + b'\\"[["]'
    assert strict_json.depth(strict_json.read(text)) == 1


@pytest.mark.parametrize(("value", "depth"), [(1, 0), ([], 1), ({"a": [1, [2]]}, 3), ([[], {"a": {}}], 3)])
def test_depth_counts_containers_inside_each_other(value: Any, depth: int) -> None:
    assert strict_json.depth(value) == depth


KNOWN = ("seq", "tool", "input")


def members(raw: bytes) -> dict[str, Any]:
    return strict_json.read_members(raw, KNOWN, array_order=KNOWN)


BODIES = [
    (b'{"seq":1,"tool":"t"}', {"seq": 1, "tool": "t"}),
    (b'{"seq":1,"x":2}', {"seq": 1}),
    (b'{"seq":1,"x":1e400}', {"seq": 1}),
    (b'{"seq":1,"x":"\xff\\ud800"}', {"seq": 1}),
    (b'{"x":' + b"[" * 5000 + b"]" * 5000 + b',"seq":1}', {"seq": 1}),
    (b'{"x":{"a":[{},[ ],{"b":1}]},"x":[1 , {"c":"}"}],"seq":1}', {"seq": 1}),
    (b'{"\\u0073eq":1}', {"seq": 1}),
    (b'{"input":{"a":1,"a":2}}', {"input": {"a": 2}}),
    (b"{}", {}),
    (b" { } ", {}),
    (b"[]", {}),
    (b'[1,"t"]', {"seq": 1, "tool": "t"}),
    (b'[1,"t",{"a":1,"a":2}]', {"seq": 1, "tool": "t", "input": {"a": 2}}),
]


@pytest.mark.parametrize(("raw", "read"), BODIES)
def test_a_body_gives_its_known_members(raw: bytes, read: dict[str, Any]) -> None:
    assert members(raw) == read


BAD_BODIES = {
    "nothing": b"",
    "null": b"null",
    "a string": b'"x"',
    "an unfinished object": b'{"seq":1',
    "no comma": b'{"seq":1 "tool":"t"}',
    "a comma at the end": b'{"seq":1,}',
    "no colon": b'{"seq" 1}',
    "a number as a name": b"{1:2}",
    "text behind": b'{"seq":1} x',
    "an array with a field too many": b'[1,"t",{},4]',
    "an unfinished array": b"[1,",
    "a known member twice": b'{"seq":1,"seq":1}',
    "a known member twice, once escaped": b'{"seq":1,"\\u0073eq":1}',
    "a bad number in a known member": b'{"seq":1e400}',
    "a known member too deep": b'{"input":' + b"[" * 127 + b"]" * 127 + b"}",
    "no JSON under an unknown name": b'{"x":NaN}',
    "a raw control character under an unknown name": b'{"x":"a\nb"}',
    "a mismatched bracket under an unknown name": b'{"x":[1}}',
    "a name that is no UTF-8": b'{"\xff":1}',
    "half a surrogate pair in a name": b'{"\\ud800":1}',
}


@pytest.mark.parametrize("raw", BAD_BODIES.values(), ids=BAD_BODIES.keys())
def test_a_body_that_is_none_is_refused(raw: bytes) -> None:
    refusal_of(members, raw)


def test_the_refusal_names_the_member_that_stands_twice() -> None:
    refusal = refusal_of(members, b'{"seq":1,"tool":"a","tool":"b"}')
    assert refusal.place == "tool"
    assert "`tool`" in refusal.message


def test_an_array_is_refused_where_no_order_is_known() -> None:
    refusal_of(strict_json.read_members, b"[1]", known=KNOWN)


def test_known_members_further_in_can_be_held_to_standing_once() -> None:
    error = strict_json.read_members(b'{"error":{"message":"a","message":"b","x":1,"x":2}}', {"error"})["error"]
    strict_json.refuse_doubled(error, {"kind"})
    with pytest.raises(Refusal) as caught:
        strict_json.refuse_doubled(error, {"message"}, place="error.message")
    assert (caught.value.code, caught.value.place) == ("bad_request", "error.message")
    assert error == {"message": "b", "x": 2}


NOT_STRICT = [
    (b'{"amount":1,"amount":1000}', "/amount"),
    (b'{"a":[{"b":1,"b":1}]}', "/a/0/b"),
    (b'{"a":[1,NaN]}', "/a/1"),
    (b'{"a":Infinity}', "/a"),
    (b'{"a":1e400}', "/a"),
    (b'{"a":[4999.9999999999999999999]}', "/a/0"),
    (b'{"a":9007199254740993.0}', "/a"),
    (b'{"a":1e-400}', "/a"),
    (b'{"a":-1e-99999999999999999999}', "/a"),
    (b'{"a/b":' + b"9" * 5000 + b"}", "/a~1b"),
    (b'{"a":18446744073709551616}', "/a"),
    (b"[" * 65 + b"]" * 65, "/0" * 64),
    (b"[" * 20_000 + b"]" * 20_000, ""),
    (b"[1,", ""),
    (b'"\xff"', ""),
]


@pytest.mark.parametrize(("raw", "place"), NOT_STRICT)
def test_our_own_surfaces_refuse_what_storage_or_another_reader_would_change(raw: bytes, place: str) -> None:
    assert refusal_of(strict_json.read_strict, raw).place == place


UNSTORABLE = [
    (b'{"j":{"k":"\\ud83d"}}', "/j/k"),
    (b'{"out":"a\\u0000b"}', "/out"),
    (b'{"o":{"a\\u0000":1}}', "/o"),
]


@pytest.mark.parametrize(("raw", "place"), UNSTORABLE)
def test_text_that_reads_but_cannot_be_stored_is_refused_for_that(raw: bytes, place: str) -> None:
    with pytest.raises(Refusal) as caught:
        strict_json.read_strict(raw)
    assert (caught.value.code, caught.value.place) == ("unstorable_text", place)


STRICT = [
    (b'{"a":1,"b":{"a":1}}', {"a": 1, "b": {"a": 1}}),
    (b'"\\\\u0000 and \\\\ud83d"', "\\u0000 and \\ud83d"),
    (b'"\\ud83d\\ude00"', "\U0001f600"),
    (b"[" * 64 + b"]" * 64, json.loads("[" * 64 + "]" * 64)),
    (
        b"[5e3,1.50,0.1,1e-7,0e99999999999999999999,-0.0,1.7976931348623157e308]",
        [5000.0, 1.5, 0.1, 1e-7, 0.0, 0.0, 1.7976931348623157e308],
    ),
]


@pytest.mark.parametrize(("raw", "value"), STRICT)
def test_our_own_surfaces_read_everything_else(raw: bytes, value: Any) -> None:
    assert strict_json.read_strict(raw) == value


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=40, deadline=None)
@given(values, st.dictionaries(st.sampled_from([*KNOWN, "x", "y"]), values))
def test_both_ways_of_reading_a_body_agree(value: Any, body: dict[str, Any]) -> None:
    body["input"] = value
    text = json.dumps(body)
    doubled = text[:-1] + ', "unknown": 1, "unknown": 2}'  # sends the reading its slow way
    expected = {name: inner for name, inner in body.items() if name in KNOWN}
    assert members(text.encode()) == members(doubled.encode()) == expected


@given(st.binary(max_size=40) | st.text(alphabet='[]{}",:\\u0d8e1-.nul ', max_size=40).map(str.encode))
def test_no_bytes_bring_a_reader_down(raw: bytes) -> None:
    for read in (strict_json.read, strict_json.read_strict, members):
        try:
            read(raw)
        except Refusal as refusal:
            assert refusal.code == "bad_request"
