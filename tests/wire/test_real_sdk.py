"""The published SDK, sync and async, over everything it offers on this surface, against the served product."""

from __future__ import annotations

import asyncio
import uuid
from datetime import timedelta
from typing import Any

import pytest
from salvor import AsyncClient, Client
from salvor.errors import DivergenceError, LeaseHeldError, SalvorAPIError

from salvor_admin.ledger.models import Intent, Report
from salvor_admin.people import services as people
from salvor_admin.people.models import Workspace
from salvor_admin.runtimes.models import Runtime
from tests.people.factories import Cast
from tests.settlement.factories import INPUT, OUTPUT, a_tool
from tests.wire.peer import a_peer

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def token(workspace: Workspace) -> str:
    return a_peer(workspace).token


@pytest.fixture
def settlers_token(cast: Cast) -> str:
    noor = cast.actor("noor")
    lives = timedelta(hours=1)
    return people.create_personal_token(person=noor.person, scope="decide", lives=lives, actor=noor).token


@pytest.fixture
def client(live_server: Any, token: str) -> Client:
    return Client(live_server.url, token=token)


def begin(run: Any) -> None:
    run.append([run.envelope(0, "RunStarted", agent_def_hash="sha256:desk", input={"thread": "t-1"})])


def test_a_refused_report_is_settled_by_a_person_and_the_sdk_goes_on(
    live_server: Any, client: Client, cast: Cast, settlers_token: str
) -> None:
    a_tool(cast)
    (tool,) = client.list_client_tools()
    assert (tool.name, tool.effect, tool.trust_completion, tool.require_equal) == (
        "refund_card",
        "write",
        True,
        ["amount_cents"],
    )
    assert Runtime.objects.get().loaded_publication == 1
    run = client.open_client_run()
    begin(run)
    asked = run.client_tool_intent(1, "refund_card", INPUT)
    assert not asked.settled
    with pytest.raises(SalvorAPIError) as refused:
        run.client_tool_completion(1, OUTPUT | {"amount_cents": 4800})
    assert (refused.value.status, refused.value.code) == (403, "client_completion_refused")
    assert client.get_run(run.run_id).status.state == "needs_reconciliation"
    assert Report.objects.count() == 1

    person = Client(live_server.url, token=settlers_token)
    assert person.resolve(run.run_id, OUTPUT).status.state == "running"
    with pytest.raises(SalvorAPIError) as dropped:
        run.heartbeat()
    assert dropped.value.code == "unknown_run"

    again = client.open_client_run(run_id=run.run_id)
    told = again.client_tool_intent(1, "refund_card", INPUT)
    assert (told.settled, told.output, told.idempotency_key) == (True, OUTPUT, asked.idempotency_key)
    again.append([again.envelope(3, "RunCompleted", output={"done": True})])
    assert again.release() is True
    assert [event.kind for event in client.stream_events(run.run_id)] == [
        "RunStarted",
        "ToolCallRequested",
        "ToolCallCompleted",
        "RunCompleted",
    ]
    assert client.replay(run.run_id).next_seq == 4
    assert Intent.objects.get().standing == "settled"


def test_model_calls_are_recorded_and_replayed(client: Client) -> None:
    run = client.open_client_run(record_prompts=True)
    begin(run)
    assert not run.client_model_intent(1, "sha256:ask", {"messages": []}).settled
    run.client_model_completion(1, {"text": "hello"}, {"input_tokens": 10, "output_tokens": 3})
    again = run.client_model_intent(1, "sha256:ask")
    assert (again.settled, again.response) == (True, {"text": "hello"})
    with pytest.raises(DivergenceError):
        run.client_model_intent(1, "sha256:other")
    assert run.log(1)[0].payload["request_body"] == {"messages": []}
    (summary,) = client.list_runs()
    assert (summary.run, summary.step_count, summary.usage.input_tokens) == (run.run_id, 1, 10)


def test_leases_sleeps_and_refusals_read_as_the_sdk_knows_them(live_server: Any, client: Client, token: str) -> None:
    run = client.open_client_run(run_id=str(uuid.uuid4()))
    begin(run)
    with pytest.raises(LeaseHeldError) as held:
        Client(live_server.url, token=token).open_client_run(run_id=run.run_id)
    assert 1 <= held.value.lapses_in_seconds <= 60
    assert run.heartbeat() == 60
    assert run.append([run.envelope(0, "RunStarted", agent_def_hash="sha256:desk", input={"thread": "t-1"})]) == [0]
    with pytest.raises(DivergenceError):
        run.append([run.envelope(5, "NowObserved", now="2026-03-04T10:15:30Z")])
    run.append([run.envelope(1, "SleepStarted", wake_at="2999-01-01T00:00:00Z")])
    assert client.get_run(run.run_id).status.state == "sleeping"
    run.append([run.envelope(2, "SleepCompleted")])
    with pytest.raises(SalvorAPIError) as model:
        run.model_step(3, {"model": "m"})
    assert (model.value.status, model.value.code) == (503, "model_executor_unavailable")
    with pytest.raises(SalvorAPIError) as tool:
        run.tool_step(3, "refund_card", INPUT)
    assert (tool.value.status, tool.value.code) == (404, "unknown_tool")
    with pytest.raises(SalvorAPIError) as resumed:
        client.resume(run.run_id)
    assert resumed.value.code == "client_driven_run"
    assert client.abandon(run.run_id, "duplicate").appended_seq == 3
    assert client.list_agents() == []
    assert client.list_graphs() == []
    with pytest.raises(SalvorAPIError) as agent:
        client.start_run("sha256:none", {})
    assert agent.value.code == "unknown_agent"


def test_the_async_client_does_the_same(live_server: Any, token: str, settlers_token: str, cast: Cast) -> None:
    a_tool(cast)

    async def drive() -> Any:
        async with AsyncClient(live_server.url, token=token) as client:
            run = await client.open_client_run()
            await run.append([run.envelope(0, "RunStarted", agent_def_hash="sha256:desk", input=1)])
            asked = await run.client_tool_intent(1, "refund_card", INPUT)
            await run.client_tool_failure(1, "card declined")
            again = await run.client_tool_intent(3, "refund_card", INPUT)
            await run.append([run.envelope(5, "RunCompleted", output=None)])
            await run.release()
            kinds = [event.kind async for event in client.stream_events(run.run_id)]
            return asked, again, kinds, await client.get_run(run.run_id)

    asked, again, kinds, state = asyncio.run(drive())
    assert not asked.settled
    assert again.output["__salvor_error"]["message"] == "card declined"
    assert kinds == [
        "RunStarted",
        "ToolCallRequested",
        "ToolCallCompleted",
        "ToolCallRequested",
        "ToolCallCompleted",
        "RunCompleted",
    ]
    assert state.status.state == "completed"
