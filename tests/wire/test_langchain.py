"""A LangChain agent under the published middleware: it performs what it may, stops for a person, and replays the rest."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import salvor
from langchain.agents import create_agent
from langchain.tools import tool
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from salvor.langchain import SalvorMiddleware, ToolNeedsResolution, finish_thread, run_id_for_thread, salvor_error

from salvor_admin.domain.settling import Outcome
from salvor_admin.ledger.models import Intent
from salvor_admin.people import services as people
from salvor_admin.people.models import Workspace
from salvor_admin.people.services import Shell
from salvor_admin.settlement import services as settlement
from tests.people.factories import Cast
from tests.runtimes.factories import a_runtime, a_runtime_token
from tests.settlement.factories import a_tool

pytestmark = pytest.mark.django_db(transaction=True)

THREAD = "order-7781"
#: Contract 9: from the SHA-256 of the thread's id.
RUN = "ae0b11d6-1425-82b1-9efd-d0f6def16f4a"
REFUND = {"order_id": "ORD-7781", "amount_cents": 5000}
PAYOUT = {"iban": "DE02", "amount_cents": 900}
REFUNDED = {"provider_refund_id": "re_3PqT81Kd9f", "amount_cents": 5000}
PAID_OUT = {"transfer_id": "tr_1", "amount_cents": 900}
#: What Noor sees at the bank; the agent's own word is another.
SEEN = {"transfer_id": "tr_1 (seen)", "amount_cents": 900}
ASK = {"messages": [{"role": "user", "content": "Refund ORD-7781, then pay out the rest."}]}
CONFIG: Any = {"configurable": {"thread_id": THREAD}}


class Scripted(BaseChatModel):
    """Asks for the refund, then for the payout, then says so; counts what was paid for."""

    paid: int = 0

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **more: Any) -> Any:
        self.paid += 1
        answers = [message for message in messages if isinstance(message, ToolMessage)]
        usage: Any = {"input_tokens": 10, "output_tokens": 3, "total_tokens": 13}
        said = [
            AIMessage("", tool_calls=[{"name": "refund_card", "args": REFUND, "id": "call_1"}], usage_metadata=usage),
            AIMessage("", tool_calls=[{"name": "wire_payout", "args": PAYOUT, "id": "call_2"}], usage_metadata=usage),
            AIMessage(f"Done: {answers[-1].content if answers else ''}", usage_metadata=usage),
        ][len(answers)]
        return ChatResult(generations=[ChatGeneration(message=said)])


class Desk:
    """An agent with its tools, and how often each was performed."""

    def __init__(self, middleware: SalvorMiddleware) -> None:
        self.performed: list[str] = []
        self.model = Scripted()

        @tool
        def refund_card(order_id: str, amount_cents: int) -> dict[str, Any]:
            """Refund a card."""
            self.performed.append("refund_card")
            return REFUNDED

        @tool
        def wire_payout(iban: str, amount_cents: int) -> dict[str, Any]:
            """Pay out by wire."""
            self.performed.append("wire_payout")
            return PAID_OUT

        self.agent: Any = create_agent(self.model, tools=[refund_card, wire_payout], middleware=[middleware])

    @property
    def counts(self) -> tuple[int, list[str]]:
        return self.model.paid, self.performed


@pytest.fixture
def runtime_token(cast: Cast, workspace: Workspace) -> str:
    """A trusted refund and an untrusted payout are live; a runtime may call them."""
    a_tool(cast)
    amount = {"amount_cents": {"type": "integer"}}
    a_tool(
        cast,
        name="wire_payout",
        trust_completion=False,
        idempotency_key=None,
        input_schema={"type": "object", "required": ["iban", "amount_cents"], "properties": amount},
        output_schema={"type": "object", "required": ["transfer_id", "amount_cents"], "properties": amount},
    )
    return a_runtime_token(runtime=a_runtime(admin=workspace, name="checkout-eu-1"))


def settle_in_the_inbox(cast: Cast) -> None:
    settlement.settle_call(
        intent_id=Intent.objects.get(standing="open").pk,
        actor=cast.actor("noor"),
        outcome=Outcome.LANDED,
        output=SEEN,
        reason="The bank shows it.",
        reason_code="seen_at_provider",
    )


def settle_over_the_wire(cast: Cast, base: str) -> None:
    noor = cast.actor("noor").person
    token = people.create_personal_token(
        person=noor, scope="decide", lives=timedelta(hours=1), actor=Shell(cast.workspace)
    ).token
    with salvor.Client(base, token) as client:
        client.resolve(RUN, SEEN)


def kinds(client: salvor.Client) -> list[str]:
    return [event.kind for event in client.open_client_run(run_id=RUN).log()]


BEFORE = ["RunStarted", *["ModelCallRequested", "ModelCallCompleted", "ToolCallRequested", "ToolCallCompleted"] * 2]
WHOLE = [*BEFORE, "ModelCallRequested", "ModelCallCompleted"]


def story(
    invoke: Callable[[Desk], Any],
    middleware: Callable[[], SalvorMiddleware],
    settle: Callable[[], None],
    finish: Callable[[], Any],
) -> list[Desk]:
    """Each invoke by a process of its own: what it performed and paid for is only what nobody had before it."""
    first = Desk(middleware())
    with pytest.raises(ToolNeedsResolution) as stopped:
        invoke(first)
    assert (stopped.value.run_id, stopped.value.tool, stopped.value.output) == (RUN, "wire_payout", PAID_OUT)
    assert first.counts == (2, ["refund_card", "wire_payout"])

    waiting = Desk(middleware())
    with pytest.raises(salvor.SalvorError) as still:
        invoke(waiting)
    assert getattr(salvor_error(still.value), "code", None) in {"open_intent", "tool_needs_resolution"}
    assert waiting.counts == (0, [])

    settle()
    second = Desk(middleware())
    answer = invoke(second)["messages"][-1]
    assert second.counts == (1, [])
    assert SEEN["transfer_id"] in answer.content, "it went on with what the person saw, not with its own word"

    third = Desk(middleware())
    assert invoke(third)["messages"][-1].content == answer.content
    assert third.counts == (0, [])

    finished = finish()
    assert (finished.run_id, finished.seq) == (RUN, len(WHOLE))
    after = Desk(middleware())
    with pytest.raises(salvor.SalvorError) as over:
        invoke(after)
    assert getattr(salvor_error(over.value), "code", None) == "thread_finished"
    return [first, waiting, second, third, after]


def test_an_agent_stops_for_a_person_goes_on_with_the_answer_and_replays_the_rest(
    runtime_token: str, cast: Cast, live_server: Any
) -> None:
    assert run_id_for_thread(THREAD) == RUN
    with salvor.Client(live_server.url, runtime_token) as client:
        desks = story(
            lambda desk: desk.agent.invoke(ASK, CONFIG),
            lambda: SalvorMiddleware(client),
            lambda: settle_in_the_inbox(cast),
            lambda: finish_thread(client, THREAD),
        )
        assert kinds(client) == [*WHOLE, "RunCompleted"]
        assert client.get_run(RUN).status.state == "completed"
    assert sum(desk.model.paid for desk in desks) == 3
    assert sorted(name for desk in desks for name in desk.performed) == ["refund_card", "wire_payout"]


def test_an_awaited_agent_does_the_same_over_the_asynchronous_client(
    runtime_token: str, cast: Cast, live_server: Any
) -> None:
    with asyncio.Runner() as runner:
        client = salvor.AsyncClient(live_server.url, runtime_token)
        desks = story(
            lambda desk: runner.run(desk.agent.ainvoke(ASK, CONFIG)),
            lambda: SalvorMiddleware(client),
            lambda: settle_over_the_wire(cast, live_server.url),
            lambda: runner.run(finish_thread(client, THREAD)),  # type: ignore[arg-type]
        )
        runner.run(client.close())
    with salvor.Client(live_server.url, runtime_token) as plain:
        assert kinds(plain) == [*WHOLE, "RunCompleted"]
    assert sum(desk.model.paid for desk in desks) == 3
    assert sorted(name for desk in desks for name in desk.performed) == ["refund_card", "wire_payout"]
