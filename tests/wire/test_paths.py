"""Addresses and methods that `/v1` does not have (contract 6.19): each refused in the envelope."""

from __future__ import annotations

import pytest
from django.test import Client

NOWHERE = ["/v1", "/v1/", "/v1/nope", "/v1/client-runs/", "/v1//runs", "/v1/client-tools/refund_card", "/v1/runs/x/y/z"]


@pytest.mark.parametrize("path", NOWHERE)
def test_an_unknown_address_is_told_before_any_token_is_asked_for(path: str) -> None:
    reply = Client().get(path)
    assert (reply.status_code, reply.json()["error"]["code"]) == (404, "unknown_path")
    head = Client().head(path)
    assert (head.status_code, head.content) == (404, b"")


@pytest.mark.parametrize("path", NOWHERE)
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
def test_at_an_unknown_address_other_methods_are_not_allowed(path: str, method: str) -> None:
    reply = Client().generic(method, path, "{}", content_type="application/json")
    assert (reply.status_code, reply.json()["error"]["code"]) == (405, "method_not_allowed")
    assert reply.headers["Allow"] == "GET,HEAD"
