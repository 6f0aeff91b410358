"""The client-run half of `/v1`: opening a run, holding it, and what its driver sends (contract 6.1 to 6.10)."""

from __future__ import annotations

import secrets
import uuid
from dataclasses import replace

from django.http import HttpResponseBase

from salvor_admin.domain import ledger as rules
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.strict_json import Json
from salvor_admin.ledger import leases, scenes, selectors, services
from salvor_admin.ledger.scenes import Door
from salvor_admin.wire import bodies, callers, responses, settling
from salvor_admin.wire.requests import WireRequest

DRIVE_TOKEN_PREFIX = "dt_"  # noqa: S105


def open_run(request: WireRequest) -> HttpResponseBase:
    raw, too_large = request.body()
    opening = bodies.or_refusal(bodies.opening, raw)
    run_id = str(uuid.uuid4()) if isinstance(opening, Refusal) or opening.run_id is None else opening.run_id
    opened = leases.open_run(
        replace(request.door(too_large), run_id=run_id),
        fresh_token=DRIVE_TOKEN_PREFIX + secrets.token_hex(16),
        record_prompts=opening if isinstance(opening, Refusal) else opening.record_prompts,
    )
    log = selectors.log(opened.run_pk) if opened.next_seq else iter(())
    parts = responses.joined(
        f'{{"drive_token":"{opened.drive_token}","log":[',
        (responses.envelope(opened.run_id, event) for event in log),
        f'],"run":"{opened.run_id}"}}',
    )
    status = 201 if opened.is_new else 200
    return responses.answer_parts(parts, status) if opened.next_seq else responses.answer("".join(parts), status)


def release(request: WireRequest) -> HttpResponseBase:
    is_released = leases.release_run(request.door())
    return responses.answer('{"released":true}' if is_released else '{"released":false}')


def heartbeat(request: WireRequest) -> HttpResponseBase:
    seconds = leases.prolong_lease(request.door())
    return responses.answer(f'{{"lapses_in_seconds":{max(1, seconds)}}}')


def append_events(request: WireRequest) -> HttpResponseBase:
    raw, door = _driven(request)
    positions = services.append_events(door, bodies.or_refusal(bodies.batch, raw))
    return responses.answer(f'{{"appended":[{",".join(map(str, positions))}]}}')


def tool_intent(request: WireRequest) -> HttpResponseBase:
    raw, door = _driven(request)
    answer = services.record_intent(door, bodies.or_refusal(bodies.tool_ask, raw))
    members: dict[str, Json] = {
        "effect": answer.effect.value,
        "idempotency_key": answer.idempotency_key,
        "seq": answer.seq,
        "settled": answer.is_settled,
    }
    if answer.is_settled:
        members["output"] = answer.output
    return responses.answer_json(members)


def tool_completion(request: WireRequest) -> HttpResponseBase:
    raw, door = _driven(request)
    report = bodies.or_refusal(bodies.tool_report, raw)
    services.record_completion(door, report)
    return _completed(report)


def model_intent(request: WireRequest) -> HttpResponseBase:
    raw, door = _driven(request)
    ask = bodies.or_refusal(bodies.model_ask, raw)
    completion = services.record_model_intent(door, ask)
    members: dict[str, Json] = {"seq": 0 if isinstance(ask, Refusal) else ask.seq, "settled": completion is not None}
    if completion is not None:
        members |= {"response": completion.payload["response"], "usage": completion.payload["usage"]}
    return responses.answer_json(members)


def model_completion(request: WireRequest) -> HttpResponseBase:
    raw, door = _driven(request)
    report = bodies.or_refusal(bodies.model_report, raw)
    services.record_model_completion(door, report)
    return _completed(report)


def model_step(request: WireRequest) -> HttpResponseBase:
    raw, door = _driven(request)
    services.refuse_model_step(door, bodies.or_refusal(bodies.model_step, raw))
    raise AssertionError


def tool_step(request: WireRequest) -> HttpResponseBase:
    raw, door = _driven(request)
    tool = bodies.or_refusal(bodies.tool_step, raw)
    if isinstance(tool, str):
        tool = Refusal(
            "unknown_tool",
            f"This server performs no tools, `{tool[:200]}` neither. Perform it yourself: post client-tool-intent, "
            "then client-tool-completion.",
        )
    services.refuse_driving(door, tool)
    raise AssertionError


def read_log(request: WireRequest) -> HttpResponseBase:
    caller = callers.known(request)
    from_seq = request.from_seq()
    if request.run_id is None:
        raise scenes.bad_run_id()
    run_pk = selectors.readable_log(caller.workspace_id, request.run_id)
    if run_pk is None:
        raise rules.unknown_run(request.run_id)
    run_id = request.run_id
    events = (responses.envelope(run_id, event) for event in selectors.log(run_pk, from_seq=from_seq))
    return responses.answer_parts(responses.joined('{"log":[', events, "]}"))


def resolve(request: WireRequest) -> HttpResponseBase:
    """The driver's twin of resolve: it takes the drive token and, since it decides, a settler's bearer token."""
    raw, too_large = request.body()
    output = bodies.or_refusal(bodies.resolution, raw)
    actor = callers.person(request)
    if actor is None:
        services.refuse_driving(request.door(too_large), _runtime_resolves(request, output))
        raise AssertionError
    services.show_in(request.door(too_large), actor.workspace_id)
    if isinstance(output, Refusal):
        raise output
    callers.settler(actor, "settle a call")
    run_id = request.run_id or ""
    settling.resolve(run_id, output, actor=actor, keeps_lease=True)
    return responses.answer(f'{{"resolved":true,"run":"{run_id}"}}')


def _runtime_resolves(request: WireRequest, output: Json | Refusal) -> Refusal:
    if isinstance(output, Refusal):
        return output
    return rules.runtime_refusal(request.run_id or "", "resolve")


def _driven(request: WireRequest) -> tuple[bytes, Door]:
    raw, too_large = request.body()
    return raw, request.door(too_large)


def _completed(report: services.ToolReport | services.ModelReport | Refusal) -> HttpResponseBase:
    if isinstance(report, Refusal):
        raise report
    return responses.answer(f'{{"completed":true,"seq":{report.seq}}}')
