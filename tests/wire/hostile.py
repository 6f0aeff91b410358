"""Bodies that nobody sends in good faith: valid ones with a value replaced, a member lost or doubled, bytes upset."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

_VECTORS = Path(__file__).parent.parent / "vectors" / "salvor" / "json_reading.json"
_CASES: list[dict[str, Any]] = json.loads(_VECTORS.read_text(encoding="utf-8"))["cases"]
_HOLE = "\x1ahole\x1a"
_HOLE_TEXT = json.dumps(_HOLE).encode()


def _recorded(name: str) -> list[bytes]:
    plain = [case[f"{name}_text"].encode("utf-8", "surrogatepass") for case in _CASES if f"{name}_text" in case]
    return plain + [base64.b64decode(case[f"{name}_base64"]) for case in _CASES if f"{name}_base64" in case]


#: The recorded kinds: values and whole bodies that were put before the real server.
VALUES = _recorded("value")
BODIES = _recorded("body")
_OWN = [
    *(
        b"0 -0 -0.0 1.0 1e2 1E400 -1e400 1e-400 9223372036854775808 18446744073709551615 18446744073709551616 -1".split()
    ),
    *(b"true false null {} [] \"\" NaN Infinity -Infinity 01 +1 .5 1. 0x10 1_000 'a' undefined".split()),
    *[b"[" * depth + b"]" * depth for depth in (122, 123, 124, 125, 126, 127, 128, 5000)],
    *[b'{"a":' * depth + b"1" + b"}" * depth for depth in (122, 125, 128, 5000)],
    b'"\\u0000"',
    b'"\\ud800"',
    b'"\\udc00\\ud800"',
    b'"\xed\xa0\x80"',
    b'"\xff"',
    b'"\x00"',
    b'"\\x"',
    b'"\xe2\x80\xae\xe2\x80\x8b"',
    b'{"":""}',
    b'{"a":1,"a":2}',
    b'{"__proto__":1,"__salvor_error":{"message":1}}',
    b'{"__salvor_error":{"attempts":1,"is_error":true,"kind":"handler","message":"m"}}',
    b"[1,1]",
    b"9" * 5000,
    b"0." + b"1" * 5000,
    b"1e" + b"9" * 5000,
    b"[" + b"0," * 50_000 + b"0]",
    b'"' + b"a" * 200_000 + b'!"',
    b'"' + b"\\u0041" * 20_000 + b'"',
    b'{"' + b'k":1,"'.join(str(n).encode() for n in range(5_000)) + b'":1}',
    b'"2026-03-04T10:15:30Z"',
    b'"9999-12-31T23:59:59-01:00"',
    b'"0000-01-01T00:00:00+00:01"',
    b'"2016-12-31T23:59:60Z"',
    b'"00000000-0000-0000-0000-000000000000"',
    b'"urn:uuid:00000000-0000-0000-0000-000000000000"',
]


def _spelt(value: Any, ascii_only: bool) -> bytes:
    return json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")


_free = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=8,
)
fragments = (
    st.sampled_from(VALUES)
    | st.sampled_from(_OWN)
    | st.builds(_spelt, _free, st.booleans())
    | st.binary(max_size=12)
    | st.builds(lambda digits, exponent: f"{digits}e{exponent}".encode(), st.integers(), st.integers(-500, 500))
)


def _can_be_read(raw: bytes) -> bool:
    try:
        json.loads(raw)
    except (ValueError, RecursionError):
        return False
    return True


readable = st.builds(
    _spelt, _free.filter(lambda value: _can_be_read(_spelt(value, True))), st.booleans()
) | st.sampled_from([raw for raw in [*VALUES, *_OWN] if _can_be_read(raw)])


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    if isinstance(value, dict):
        for key, member in value.items():
            yield from _places(member, (*path, key))
    elif isinstance(value, list):
        for at, member in enumerate(value):
            yield from _places(member, (*path, at))


def _put(value: Any, path: tuple[Any, ...], replacement: Any) -> Any:
    if not path:
        return replacement
    if isinstance(value, dict):
        return {key: _put(member, path[1:], replacement) if key == path[0] else member for key, member in value.items()}
    return [_put(member, path[1:], replacement) if at == path[0] else member for at, member in enumerate(value)]


@st.composite
def aimed(draw: st.DrawFn, body: Any, path: tuple[Any, ...]) -> bytes:
    """The body with any JSON at all where any JSON may stand, so that what comes after the reading is met as well."""
    before, after = json.dumps(_put(body, path, _HOLE)).encode().split(_HOLE_TEXT)
    return before + draw(readable) + after


@st.composite
def spoilt(draw: st.DrawFn, body: Any) -> bytes:
    """A body that would be taken, made into one that perhaps is not."""
    raw = json.dumps(body).encode()
    how = draw(st.sampled_from(["value", "value", "value", "values", "lost", "doubled", "bytes", "cut", "else"]))
    if how in {"value", "values"}:
        value = body
        holes = [draw(st.sampled_from(list(_places(body)))) for _ in range(1 if how == "value" else 2)]
        for path in sorted(holes, key=len, reverse=True):
            value = _put(value, path, _HOLE)
        parts = json.dumps(value).encode().split(_HOLE_TEXT)
        raw = parts[0] + b"".join(draw(fragments) + part for part in parts[1:])
    elif how in {"lost", "doubled"} and isinstance(body, dict) and body:
        key = draw(st.sampled_from(sorted(body)))
        if how == "lost":
            raw = json.dumps({other: member for other, member in body.items() if other != key}).encode()
        else:
            raw = raw[:-1] + b"," + json.dumps(key).encode() + b":" + draw(fragments) + b"}"
    elif how == "bytes":
        at = draw(st.integers(0, len(raw)))
        raw = raw[:at] + draw(st.binary(min_size=1, max_size=6)) + raw[at + draw(st.integers(0, 3)) :]
    elif how == "cut":
        raw = raw[: draw(st.integers(0, len(raw)))]
    elif how == "else":
        raw = draw(fragments | st.sampled_from(BODIES))
    return raw
