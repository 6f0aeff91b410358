"""The value that stands for a failed call."""

from __future__ import annotations

from typing import Any

import pytest

from salvor_admin.domain import canonical, sentinels


def test_a_failure_is_recorded_in_the_references_shape() -> None:
    # contract 8
    assert canonical.text(sentinels.failure("card declined")) == (
        '{"__salvor_error":{"attempts":1,"is_error":true,"kind":"handler","message":"card declined"}}'
    )


RECOGNISED = [
    ({"__salvor_error": {"message": ""}}, True),
    (sentinels.failure("x", "invalid_input"), True),
    ({"__salvor_error": {"message": 5}}, False),
    ({"__salvor_error": "x"}, False),
    ({"__salvor_error": {"message": "x"}, "more": 1}, False),
    ({"__salvor_suspend": {"message": "x"}}, False),
    ([{"__salvor_error": {"message": "x"}}], False),
    (None, False),
]


@pytest.mark.parametrize(("value", "is_one"), RECOGNISED)
def test_a_failure_is_recognised_as_the_sdk_does(value: Any, is_one: bool) -> None:
    assert sentinels.is_failure(value) is is_one
