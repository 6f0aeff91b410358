"""The idempotency key; worked vectors of contract 7.6."""

from __future__ import annotations

from typing import Any

import pytest

from salvor_admin.domain import keys
from salvor_admin.domain.client_tools import ClientTool
from salvor_admin.domain.effects import Effect
from salvor_admin.domain.refusals import Refusal

RUN = "5691f3d0-d4aa-45b9-9875-2127c31e039e"

WORKED = [
    ("refund_card", (), 3, {"any": 1}, "381c4e1686e70c110679285138a4010ac7493a03fea81135ba3c60950f9e7f53"),
    ("refund_card", (), 1, None, "0694aaa7d0d2d7a5f29179daede2120748d442eda4c8667909e378e090271e2e"),
    (
        "refund_card",
        ("order_id", "amount_cents", "order_id"),
        9,
        {"order_id": "ORD-7781", "amount_cents": 5000, "note": "plays no part"},
        "8e0530b4c6cfbfad3c5ea53c927004e2f4a38239c104c24131b3700de4a5ca81",
    ),
    ("refund_card", ("amount_cents",), 1, {"amount_cents": 5000},
     "b0d72067241dc886bb0d75886eadd6a8d713b86e861566fe54a82244ab8c6bd7"),
    ("refund_card", ("amount_cents",), 1, {"amount_cents": 5000.0},
     "4277c998635f7fc855c080e40aca81944a06ff99b55c18a1db90b3434d846747"),
    ("t", ("n",), 1, {"n": -0.0}, "470f30b99a4bdcd60f90cb5da200040ae467c97857b1e9fdc51bdce6ba725bf2"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "fields", "seq", "value", "digest"), WORKED)
def test_the_key_is_the_one_the_reference_gives(
    name: str, fields: tuple[str, ...], seq: int, value: Any, digest: str
) -> None:
    tool = ClientTool(name, Effect.WRITE, {}, idempotency_key=fields)
    assert keys.idempotency_key(tool, run_id=RUN, seq=seq, input=value)[0] == f"sha256:{digest}"


def test_the_text_that_was_hashed_is_given_too() -> None:
    tool = ClientTool("t", Effect.WRITE, {}, idempotency_key=("n",))
    assert (
        keys.idempotency_key(tool, run_id=RUN, seq=4, input={"n": None})[1] == f'{{"n":null,"run":"{RUN}","tool":"t"}}'
    )


@pytest.mark.parametrize("value", [None, [], "n", {}, {"N": 1}])
def test_a_missing_field_is_named_with_its_tool(value: Any) -> None:
    tool = ClientTool("pay", Effect.WRITE, {}, idempotency_key=("n",))
    with pytest.raises(Refusal) as caught:
        keys.idempotency_key(tool, run_id=RUN, seq=1, input=value)
    assert caught.value.code == "bad_request"
    assert "`pay`" in caught.value.message and "`n`" in caught.value.message
