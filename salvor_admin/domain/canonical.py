"""The two spellings of a JSON value that digests rest on: Salvor's own form, and RFC 8785. Never mixed."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, NoReturn

from salvor_admin.domain.strict_json import Json, fits

_string = json.encoder.encode_basestring


def _no_json(value: object) -> NoReturn:
    raise TypeError(f"{type(value).__name__} is no JSON value")


# JSONEncoder.encode builds one of these for every call.
_chunks = json.encoder.c_make_encoder(None, _no_json, _string, None, ":", ",", True, False, False)  # type: ignore[attr-defined]
_LONG_INTEGER = re.compile(r"[:,\[]-?[0-9]{19}")


def _encode(value: Json) -> str:
    return "".join(_chunks(value, 0))


def text(value: Json) -> str:
    """Salvor's canonical text (contract 7.4)."""
    quick = _encode(value)
    # Python pads a small exponent to two digits, and keeps integers that are doubles here.
    if "e-0" in quick or type(value) is int or _LONG_INTEGER.search(quick) is not None:
        return _slow(value)
    return quick


def _slow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{_string(name)}:{_slow(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_slow, value)) + "]"
    if isinstance(value, float):
        return _double(value)
    if isinstance(value, int) and not isinstance(value, bool) and not fits(value):
        return _double(float(value))
    return _encode(value)


def _double(number: float) -> str:
    spelt = repr(number)
    mantissa, e, exponent = spelt.partition("e-")
    if not e:
        return spelt
    if int(exponent) == 5:
        sign, digits = ("-", mantissa[1:]) if mantissa[0] == "-" else ("", mantissa)
        return f"{sign}0.0000{digits.replace('.', '')}"
    return f"{mantissa}e-{int(exponent)}"


def digest(text: str) -> str:
    """SHA-256 over the text's UTF-8 bytes, as `sha256:` and lower-case hex (contract 7.1)."""
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def equal(a: Json, b: Json) -> bool:
    """Whether two read values are the same free value: an int never equals a float, 0.0 equals -0.0 (contract 7.5)."""
    if type(a) is str and type(b) is str:
        return a == b
    if type(a) is int and type(b) is int and fits(a) and fits(b):
        return a == b
    return equality_text(a) == equality_text(b)


def equality_text(value: Json) -> str:
    """A text that two values share when, and only when, they are `equal`."""
    spelt = text(value)
    return text(_unsigned_zeros(value)) if "-0.0" in spelt else spelt


def _unsigned_zeros(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _unsigned_zeros(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_unsigned_zeros(inner) for inner in value]
    return 0.0 if isinstance(value, float) and value == 0 else value


# --- RFC 8785 --------------------------------------------------------------------------------------------------------


def rfc8785(value: Json) -> str:
    """The RFC 8785 text; integers beyond 2^53 keep all their digits."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{_string(name)}:{rfc8785(value[name])}" for name in names) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(rfc8785, value)) + "]"
    if isinstance(value, float):
        return _ecmascript(value)
    return _encode(value)


def _ecmascript(number: float) -> str:
    """A double as ECMAScript spells it."""
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    mantissa, _, exponent = repr(abs(number)).partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = fraction.rstrip("0")
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    if len(digits) <= point <= 21:
        return f"{sign}{digits}{'0' * (point - len(digits))}"
    if 0 < point <= 21:
        return f"{sign}{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    rest = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{rest}e{point - 1:+d}"
