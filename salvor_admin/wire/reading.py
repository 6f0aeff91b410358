"""The operator half of `/v1`: runs as they stand, and what a person decides about them (contract 6.11 to 6.17)."""

from __future__ import annotations

from collections.abc import Iterator

from django.http import HttpResponseBase

from salvor_admin.domain import canonical, run_ids, run_state
from salvor_admin.domain import ledger as rules
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.run_state import RunState
from salvor_admin.ledger import declarations, scenes, selectors
from salvor_admin.ledger.selectors import RunView
from salvor_admin.runtimes import services as runtimes
from salvor_admin.wire import bodies, callers, responses, settling
from salvor_admin.wire.callers import Caller
from salvor_admin.wire.requests import WireRequest, read_number

#: What is compatible with, as capabilities say it.
COMPATIBLE_WITH = "0.10.0"
MOST_RUNS = 10_000


def client_tools(request: WireRequest) -> HttpResponseBase:
    caller = callers.known(request)
    live = declarations.live_tools(caller.workspace_id, caller.publication)
    if caller.runtime_id is not None and (caller.loaded_publication or -1) < live.publication:
        runtimes.record_loaded(runtime_id=caller.runtime_id, publication=live.publication)
    return responses.answer(live.listing)


def capabilities(request: WireRequest) -> HttpResponseBase:
    callers.known(request)
    return responses.answer(f'{{"capabilities":{{"fork":false}},"server":{{"version":"{COMPATIBLE_WITH}"}}}}')


def list_runs(request: WireRequest) -> HttpResponseBase:
    caller = callers.known(request)
    given = request.parameters("limit", "after", "status")
    limit = read_number(given["limit"], "limit", least=1, most=MOST_RUNS) if "limit" in given else None
    state = _state(given["status"]) if "status" in given else None
    after = _after(caller, given["after"]) if "after" in given else None
    views = selectors.runs(caller.workspace_id, state=state, after=after, limit=limit)
    return responses.answer_parts(responses.joined('{"runs":[', map(responses.summary, views), "]}"))


def read_run(request: WireRequest) -> HttpResponseBase:
    return responses.answer_json(responses.detail(_run(request, callers.known(request))))


def replay_run(request: WireRequest) -> HttpResponseBase:
    return responses.answer_json(responses.replay(_run(request, callers.known(request))))


def stream_events(request: WireRequest) -> HttpResponseBase:
    """The events so far, then the end: nothing here is driven by the server, so there is nothing to wait for."""
    caller = callers.known(request)
    from_seq = request.from_seq()
    view = _run(request, caller)
    last = request.http.META.get("HTTP_LAST_EVENT_ID", "")
    if last.isascii() and last.isdecimal() and len(last) <= 20:
        from_seq = int(last) + 1
    response = responses.answer_parts(_frames(view, from_seq), content_type="text/event-stream")
    response["Cache-Control"] = "no-cache"
    return response


def resolve_run(request: WireRequest) -> HttpResponseBase:
    caller = callers.known(request)
    run_id = _run_id(request)
    output = bodies.resolution(_body(request))
    if caller.actor is None:
        selectors.run(caller.workspace_id, run_id)
        raise rules.runtime_refusal(run_id, "resolve")
    callers.settler(caller.actor, "settle a call")
    settling.resolve(run_id, output, actor=caller.actor)
    status = selectors.run(caller.workspace_id, run_id).status
    return responses.answer_json({"resolved": True, "run": run_id, "status": status})


def abandon_run(request: WireRequest) -> HttpResponseBase:
    caller = callers.known(request)
    run_id = _run_id(request)
    reason = bodies.abandonment(_body(request))
    if caller.actor is None:
        seq = settling.abandon_by_runtime(caller.workspace_id, run_id, reason)
    else:
        callers.settler(caller.actor, "abandon a run")
        seq = settling.abandon(run_id, reason, actor=caller.actor)
    status = selectors.run(caller.workspace_id, run_id).status
    return responses.answer_json({"abandoned": True, "appended_seq": seq, "run": run_id, "status": status})


def resume_run(request: WireRequest) -> HttpResponseBase:
    """Only servers that drive runs resume them; here every run is its client's."""
    caller = callers.known(request)
    run_id = _run_id(request)
    raw = _body(request)
    if not selectors.has_lease(caller.workspace_id, run_id):
        bodies.resumption(raw)
        selectors.run(caller.workspace_id, run_id)
    raise Refusal(
        "client_driven_run",
        f"Run {run_id} is driven by its client. Open it with POST /v1/client-runs and go on from its log.",
    )


def _frames(view: RunView, from_seq: int) -> Iterator[str]:
    for event in selectors.log(view.pk, from_seq=from_seq, until=view.head.next_seq):
        yield f"id: {event.seq}\ndata: {responses.streamed_envelope(view.run_id, event)}\n\n"
    end: dict[str, object] = {"status": view.status}
    if view.head.state not in run_state.AT_REST:
        end["detached"] = True
    yield f"event: end\ndata: {canonical.text(end)}\n\n"


def _run_id(request: WireRequest) -> str:
    if request.run_id is None:
        raise scenes.bad_run_id()
    return request.run_id


def _run(request: WireRequest, caller: Caller) -> RunView:
    return selectors.run(caller.workspace_id, _run_id(request))


def _body(request: WireRequest) -> bytes:
    raw, too_large = request.body()
    if too_large is not None:
        raise too_large
    return raw


def _state(text: str) -> RunState:
    try:
        return RunState(text)
    except ValueError:
        known = ", ".join(state.value for state in RunState if state is not RunState.NOT_STARTED)
        raise Refusal(
            "bad_request", f"The query cannot be used: `status` must be one of {known}.", place="status"
        ) from None


def _after(caller: Caller, text: str) -> str:
    run_id = run_ids.read(text)
    if run_id is None:
        raise Refusal("bad_request", "The query cannot be used: `after` must be a run's id.", place="after")
    return selectors.run(caller.workspace_id, run_id).run_id
