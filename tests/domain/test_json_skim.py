"""Skimming a value: its bytes and where it ends, by the grammar alone (contract 7.5: unknown members are unread)."""

from __future__ import annotations

import pytest

from salvor_admin.domain.json_skim import Skimmer
from salvor_admin.domain.refusals import Refusal

VALUES = {
    "a number beyond every range": b"1e999999",
    "very many digits": b"9" * 5000,
    "bytes that are no UTF-8": b'"\xff\xfe"',
    "half a surrogate pair": b'"\\ud800"',
    "half a pair before an escape": b'"\\ud800\\u0041"',
    "doubled members": b'{"a":1,"a":[2]}',
    "white space": b'{ "a" :\t[ 1 ,\r\n2 ] }',
    "128 deep": b"[" * 128 + b"]" * 128,
    "5000 arrays deep": b"[" * 5000 + b"]" * 5000,
    "5000 arrays deep, with spaces": b"[ " * 5000 + b"1" + b" ]" * 5000,
    "5000 objects deep": b'{"a":' * 5000 + b"[1,2]" + b"}" * 5000,
    "mixed and deep": b'[[1,{"a":[' * 1000 + b"null" + b"]}]]" * 1000,
}
FAULTS = {
    "a word": (b"[1, NaN]", "a value is missing"),
    "a comma too many": (b"[1,]", "a value is missing"),
    "nothing between": (b"[1 2]", "a comma or a closing bracket is missing"),
    "no colon": (b'{"a" 1}', "`:` is missing"),
    "no name": (b"{1:2}", "a member name is missing"),
    "a raw control character": (b'"\x01"', "a value is missing"),
    "an escape there is none of": (b'"\\x"', "a value is missing"),
    "two million openings": (b"[" * 2_000_000, "a value is missing"),
    "deep and closed by the other kind": (b"[" * 5000 + b"}", "a value is missing"),
    "deep and open at the end": (b"[" * 5000 + b"]" * 4999, "a comma or a closing bracket is missing"),
}


@pytest.mark.parametrize("raw", VALUES.values(), ids=VALUES)
def test_a_value_is_skimmed_whole_whatever_it_says(raw: bytes) -> None:
    skimmer = Skimmer(b" " + raw + b" ,1")
    assert skimmer.value() == raw
    assert skimmer.next() == ord(",")


@pytest.mark.parametrize(("raw", "why"), FAULTS.values(), ids=FAULTS)
def test_what_is_no_value_is_refused_with_its_place(raw: bytes, why: str) -> None:
    with pytest.raises(Refusal) as refused:
        Skimmer(raw).value()
    assert refused.value.code == "bad_request"
    assert f"{why} at byte " in refused.value.message
