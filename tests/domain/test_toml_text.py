"""TOML as the reference reads it."""

from __future__ import annotations

from typing import Any

import pytest

from salvor_admin.domain import toml_text
from salvor_admin.domain.refusals import Refusal

READ = [
    (b"\xef\xbb\xbfa = 1\r\n", {"a": 1}),
    (b"a = -0", {"a": 0}),
    (b"a = 9223372036854775807", {"a": 2**63 - 1}),
    (b"a = -inf", {"a": float("-inf")}),
    (b"a = 1e308", {"a": 1e308}),
    (b"a = " + b"[" * 79 + b"]" * 79, None),
    (b"[" + b".".join([b"a"] * 79) + b"]\n" + b".".join([b"b"] * 79) + b" = 1", None),
    (b'a = "[[[' + b"[" * 200 + b'" # ' + b"[.." * 200, {"a": "[[[" + "[" * 200}),
    (b'a = """\n[' + b"[" * 100 + b'"""', {"a": "[" * 101}),
]


@pytest.mark.parametrize(("raw", "table"), READ)
def test_what_the_reference_reads_is_read(raw: bytes, table: Any) -> None:
    read = toml_text.read(raw)
    assert table is None or read == table


REFUSED = [
    (b"\xff", "not_utf8"),
    (b"a = 9223372036854775808", "not_toml"),
    (b"a = [1, {b = -9223372036854775809}]", "not_toml"),
    (b"a = " + b"9" * 5000, "not_toml"),
    (b"a = [-" + b"9" * 5000 + b"]", "not_toml"),
    (b"a = 0x" + b"f" * 5000, "not_toml"),
    (b"a = 0b" + b"1" * 20000, "not_toml"),
    (b"a = 1e400", "not_toml"),
    (b"a = " + b"[" * 80 + b"]" * 80, "too_deep"),
    (b"a = " + b"{a=" * 80 + b"1" + b"}" * 80, "too_deep"),
    (b"a = " + b"[" * 5000 + b"]" * 5000, "too_deep"),
    (b".".join([b"a"] * 80) + b" = 1", "too_deep"),
    (b"[" + b".".join([b"a"] * 80) + b"]", "too_deep"),
    (b"a = {" + b".".join([b"b"] * 80) + b" = 1}", "too_deep"),
]


@pytest.mark.parametrize(("raw", "code"), REFUSED)
def test_what_the_reference_refuses_is_refused(raw: bytes, code: str) -> None:
    with pytest.raises(Refusal) as caught:
        toml_text.read(raw)
    assert caught.value.code == code


def test_a_refusal_says_the_line_and_the_column() -> None:
    with pytest.raises(Refusal) as caught:
        toml_text.read(b'name = "a"\neffect = True\n')
    assert caught.value.place == "line 2, column 10"
    assert caught.value.details == {"line": 2, "column": 10}


DOUBLED = [
    (b'name = "a"\nname = "b"', "`name`"),
    (b'name = "a"\n"name" = "b"', "`name`"),
    (b"a = {b = 1, b = 2}", "`b`"),
    (b"[a]\n[a]", "`a`"),
]


@pytest.mark.parametrize(("raw", "named"), DOUBLED)
def test_a_key_that_stands_twice_is_named(raw: bytes, named: str) -> None:
    with pytest.raises(Refusal) as caught:
        toml_text.read(raw)
    assert named in caught.value.message


PLACED = b'# x\n"n\\u0061me" = """a\nb"""\n\nlist = [\n 1, # [\n 2,\n]\n[ table . sub ]\ninner = 1\n[[more]]\n'


@pytest.mark.parametrize(("key", "line"), [("name", 2), ("list", 5), ("table", 9), ("more", 11), ("inner", None)])
def test_the_line_of_a_top_level_key_is_found(key: str, line: int | None) -> None:
    assert toml_text.line_of(PLACED, key) == line
