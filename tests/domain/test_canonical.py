"""The two spellings of a JSON value."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from salvor_admin.domain import canonical, strict_json

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)

# From contract 7.4.
SPELT = [
    (5000.0, "5000.0"),
    (0.00001, "0.00001"),
    (0.000012345, "0.000012345"),
    (-0.00001, "-0.00001"),
    (1e15, "1000000000000000.0"),
    (1e16, "1e+16"),
    (1e-6, "1e-6"),
    (1.2345e-6, "1.2345e-6"),
    (1e-10, "1e-10"),
    (-0.0, "-0.0"),
    (18446744073709551615, "18446744073709551615"),
    (18446744073709551616, "1.8446744073709552e+19"),
    ([-9223372036854775809], "[-9.223372036854776e+18]"),
    ("e-05 \x7f\u2028/é\x1f\b", '"e-05 \x7f\u2028/é\\u001f\\b"'),
    ({"é": 1, "\uffff": 2, "\U0001f600": 3, "Z": 4, "a": 1e-7}, '{"Z":4,"a":1e-7,"é":1,"\uffff":2,"\U0001f600":3}'),
]


@pytest.mark.parametrize(("value", "text"), SPELT)
def test_the_reference_spells_values_so(value: Any, text: str) -> None:
    assert canonical.text(value) == text


@settings(max_examples=40, deadline=None)
@given(values)
@example({"a": [1e-7, {"b": -0.0}]})
def test_canonical_text_reads_back_to_the_same_text(value: Any) -> None:
    text = canonical.text(value)
    assert canonical.text(strict_json.read(text.encode())) == text


@settings(max_examples=40, deadline=None)
@given(values)
def test_equality_is_reflexive_and_symmetric_and_agrees_with_the_text(value: Any) -> None:
    again = strict_json.read(json.dumps(value).encode())
    assert canonical.equal(value, value)
    assert canonical.equal(value, again) and canonical.equal(again, value)
    assert canonical.text(value) == canonical.text(again)


@settings(max_examples=40, deadline=None)
@given(values, values)
def test_values_with_different_texts_differ_unless_a_zero_has_lost_its_sign(a: Any, b: Any) -> None:
    one, other = canonical.text(a), canonical.text(b)
    assert canonical.equal(a, b) == canonical.equal(b, a)
    if "-0.0" not in one + other:
        assert canonical.equal(a, b) == (one == other)


APART = [(1, 1.0), (0, -0.0), (True, 1), ([1], [1.0]), ({"a": 1}, {"a": 1, "b": 2}), ("-0.0", "0.0"), (None, False)]


@pytest.mark.parametrize(("a", "b"), APART)
def test_an_integer_never_equals_a_double(a: Any, b: Any) -> None:
    assert not canonical.equal(a, b)


def test_zeros_of_both_signs_are_equal_and_spelt_differently() -> None:
    assert canonical.equal({"a": [0.0, ":-0.0,"]}, {"a": [-0.0, ":-0.0,"]})
    assert canonical.text(0.0) != canonical.text(-0.0)


def test_a_digest_is_over_the_utf_8_bytes() -> None:
    # contract 7.6, V10
    text = '{"order_id":"é","run":"5691f3d0-d4aa-45b9-9875-2127c31e039e","tool":"refund_card"}'
    assert canonical.digest(text) == "sha256:2f625b3c6bf8cfa54f8005fda1ad0281c4515df339e05ec9992fdded6dccf41e"


def test_what_is_no_json_is_not_spelt() -> None:
    with pytest.raises(TypeError):
        canonical.text({"a": {1, 2}})
    with pytest.raises(ValueError):
        canonical.text(float("nan"))


# Appendix B of RFC 8785, and the sorting example of its section 3.2.3.
RFC_8785 = [
    (0.0, "0"),
    (-0.0, "0"),
    (5e-324, "5e-324"),
    (-5e-324, "-5e-324"),
    (1.7976931348623157e308, "1.7976931348623157e+308"),
    (9007199254740992.0, "9007199254740992"),
    (295147905179352830000.0, "295147905179352830000"),
    (9.999999999999997e22, "9.999999999999997e+22"),
    (1e23, "1e+23"),
    (1.0000000000000001e23, "1.0000000000000001e+23"),
    (999999999999999700000.0, "999999999999999700000"),
    (999999999999999900000.0, "999999999999999900000"),
    (1e21, "1e+21"),
    (9.999999999999997e-7, "9.999999999999997e-7"),
    (0.000001, "0.000001"),
    (333333333.3333332, "333333333.3333332"),
    (333333333.33333325, "333333333.33333325"),
    (-0.0000033333333333333333, "-0.0000033333333333333333"),
    (1424953923781206.2, "1424953923781206.2"),
    ([1, 1.0, 1e0, 1e20, 1e-7, 1.5], "[1,1,1,100000000000000000000,1e-7,1.5]"),
    (9007199254740993, "9007199254740993"),
    (2**68, "295147905179352825856"),
    ({"\ufb33": 1, "\U0001f600": 2, "\r": 3, "1": 4}, '{"\\r":3,"1":4,"\U0001f600":2,"\ufb33":1}'),
    ("\u2028\x7f/", '"\u2028\x7f/"'),
]


@pytest.mark.parametrize(("value", "text"), RFC_8785)
def test_rfc_8785_spells_values_so(value: Any, text: str) -> None:
    assert canonical.rfc8785(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_rfc_8785_spelling_of_a_double_reads_back(number: float) -> None:
    assert float(canonical.rfc8785(number)) == number
