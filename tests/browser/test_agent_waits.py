"""A LangChain agent stops at a payout nobody may believe, and goes on after a person settled it in the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import salvor
from playwright.sync_api import expect
from salvor.langchain import SalvorMiddleware, ToolNeedsResolution

from tests.browser.pages import Visit
from tests.people.factories import Cast
from tests.wire.test_langchain import ASK, CONFIG, Desk, runtime_token

__all__ = ["runtime_token"]


def test_an_agent_goes_on_with_what_a_person_recorded_in_the_page(
    runtime_token: str, cast: Cast, visit: Callable[..., Visit], live_server: Any
) -> None:
    noor = cast.actor("noor")
    with salvor.Client(live_server.url, runtime_token) as client:
        first = Desk(SalvorMiddleware(client))
        with pytest.raises(ToolNeedsResolution):
            first.agent.invoke(ASK, CONFIG)

        page = visit(noor, script=False).goto(f"/w/{noor.workspace_key}/inbox/")
        page.locator(".queue-link", has_text="wire_payout").first.click()
        page.get_by_role("button", name="Claim").click()
        page.get_by_text("The output as JSON instead").click()
        page.locator("[name=use_raw]").check()
        page.locator("[name=raw]").fill('{"transfer_id": "tr_1 (seen)", "amount_cents": 900}')
        page.get_by_label("In your words").fill("The bank shows it.")
        page.locator("input[name=permanent][value=landed]").check()
        page.get_by_role("button", name="Settle as landed").click()
        expect(page.get_by_role("heading", name="Receipt")).to_be_visible()

        second = Desk(SalvorMiddleware(client))
        answer = second.agent.invoke(ASK, CONFIG)["messages"][-1].content
    assert "tr_1 (seen)" in answer, "it goes on with what the person saw, not with its own word"
    assert (first.performed, second.performed) == (["refund_card", "wire_payout"], [])
