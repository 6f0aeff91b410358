from __future__ import annotations

import json
from typing import Any

import pytest

from salvor_admin.domain import tool_ids
from salvor_admin.domain.declarations import CacheTtl
from salvor_admin.domain.providers import offer_file
from salvor_admin.domain.refusals import Refusal
from tests.domain.agentplane_vectors import case_name, cases
from tests.domain.providers.recorded_offers import declared

ENTRY = {"name": "a", "description": "d", "parameters_text": "{}"}


def refused(raw: bytes) -> Refusal:
    with pytest.raises(Refusal) as refusal:
        offer_file.read_offers(raw)
    return refusal.value


@pytest.mark.parametrize("row", cases("rendering"), ids=case_name)
def test_the_recorded_lists_are_read_as_the_declarations_they_are(row: dict[str, Any]) -> None:
    read = offer_file.read_offers(json.dumps(row["tools"]).encode())
    assert read == [declared(tool) for tool in row["tools"]]


def test_an_offering_keeps_its_tool_under_another_name() -> None:
    entry = {"offering": "tool://a/b.c", "named": "other", "description": "", "parameters_text": "true", "cache": "1h"}
    (offer,) = offer_file.read_offers(json.dumps([entry]).encode())
    assert (offer.name, offer.tool, offer.cache) == ("other", tool_ids.parse("tool://a/b.c"), CacheTtl.ONE_HOUR)
    assert offer.parameters is True


def test_an_optional_member_may_be_null() -> None:
    (offer,) = offer_file.read_offers(json.dumps([{**ENTRY, "cache": None, "named": None}]).encode())
    assert (offer.name, offer.cache) == ("a", None)


@pytest.mark.parametrize(
    ("entries", "place"),
    [
        ({}, ""),
        ([7], "/0"),
        ([ENTRY, {**ENTRY, "cashe": "1h"}], "/1/cashe"),
        ([{**ENTRY, "cache": "2h"}], "/0/cache"),
        ([{**ENTRY, "description": None}], "/0/description"),
        ([{**ENTRY, "parameters_text": {}}], "/0/parameters_text"),
        ([{**ENTRY, "offering": "tool://a/b"}], "/0"),
        ([{"description": "d", "parameters_text": "{}"}], "/0"),
        ([{"name": "a", "parameters_text": "{}"}], "/0/description"),
        ([{"name": "a", "description": "d"}], "/0/parameters_text"),
        ([{**ENTRY, "parameters_text": "{"}], "/0/parameters_text"),
        ([{**ENTRY, "parameters_text": '{"a":1,"a":2}'}], "/0/parameters_text"),
        ([{**ENTRY, "parameters_text": '{"x":[{"a":1,"a":2}]}'}], "/0/parameters_text"),
        ([{**ENTRY, "parameters_text": '{},"more":{}'}], "/0/parameters_text"),
        ([{**ENTRY, "parameters_text": "NaN"}], "/0/parameters_text"),
        ([{**ENTRY, "parameters_text": "1e400"}], "/0/parameters_text"),
        ([{**ENTRY, "parameters_text": "[" * 200 + "]" * 200}], "/0/parameters_text"),
        ([{**ENTRY, "description": "a\0b"}], "/0/description"),
    ],
)
def test_what_is_not_understood_is_refused_with_its_place(entries: Any, place: str) -> None:
    refusal = refused(json.dumps(entries).encode())
    assert (refusal.code, refusal.place) == ("offer_file_invalid", place)


@pytest.mark.parametrize("raw", [b"", b"\xff", b"[", b"[" * 100_000])
def test_what_is_no_json_is_refused(raw: bytes) -> None:
    assert refused(raw).code == "offer_file_invalid"


def test_an_offering_that_is_no_reference_is_refused_at_its_place() -> None:
    refusal = refused(json.dumps([{"offering": "tool://a", "description": "", "parameters_text": "{}"}]).encode())
    assert (refusal.code, refusal.place) == ("tool_reference_invalid", "/0/offering")


def test_a_huge_file_is_refused_unread() -> None:
    assert str(offer_file.MOST_BYTES) in refused(b" " * (offer_file.MOST_BYTES + 1)).message


def test_a_huge_schema_is_refused_with_its_size() -> None:
    text = json.dumps({"description": "d" * offer_file.MOST_SCHEMA_BYTES})
    refusal = refused(json.dumps([{**ENTRY, "parameters_text": text}]).encode())
    assert refusal.place == "/0/parameters_text"
    assert str(len(text)) in refusal.message
