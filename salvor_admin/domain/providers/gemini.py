"""Google Gemini generateContent (agentplane contract 3.5, 3.6, 3.7)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from salvor_admin.domain import canonical
from salvor_admin.domain.declarations import ToolDeclaration
from salvor_admin.domain.providers import turns
from salvor_admin.domain.providers.provider import OutputSchema, Provider, RenderedOffer, forced_tool
from salvor_admin.domain.providers.turns import (
    AnswerFault,
    AnswerUnread,
    Continuation,
    Events,
    Exchange,
    ModelCall,
    Turn,
    Usage,
    unusable,
)
from salvor_admin.domain.strict_json import Json

TAG = "gemini"
RESPOND = "agentplane_respond"
COMPLETE = "STOP"
CUT_OFF = "MAX_TOKENS"
_POSITION = re.compile(r"-[0-9]+")


def render_offer(offers: Sequence[ToolDeclaration], *, output: OutputSchema | None = None) -> RenderedOffer:
    respond = forced_tool(output, offers, name=RESPOND)
    declared = [
        {"name": offer.name, "description": offer.description, "parametersJsonSchema": offer.parameters}
        for offer in ([respond] if respond else offers)
    ]
    choice = {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": [RESPOND]}} if respond else None
    return RenderedOffer([{"functionDeclarations": declared}] if declared else None, choice)


def render_conversation(
    prompt: Json,
    exchanges: Sequence[Exchange] = (),
    *,
    continuation: Continuation | None = None,
    person_turns: Sequence[str] = (),
) -> Json:
    _, said = turns.prompt_parts(prompt)
    contents: list[Json] = [{"role": "user", "parts": [{"text": said}]}]
    kept = turns.continued(continuation, tag=TAG, followed_by=(*exchanges, *person_turns))
    if kept is not None:
        contents += kept
    elif exchanges:
        calls = [{"functionCall": {"name": each.call.name, "args": each.call.arguments}} for each in exchanges]
        contents.append({"role": "model", "parts": calls})
    parts: list[Json] = [{"functionResponse": _response(each)} for each in exchanges]
    parts += [{"text": words} for words in person_turns]
    if parts:
        contents.append({"role": "user", "parts": parts})
    return contents


def _response(exchange: Exchange) -> dict[str, Json]:
    call = exchange.call
    response: dict[str, Json] = {"name": call.name}
    if not is_invented_id(call.id, call.name):
        response["id"] = call.id
    response["response"] = {"error" if exchange.failed else "output": exchange.output}
    return response


def is_invented_id(call_id: str, name: str) -> bool:
    """Whether an id has the shape that reading gives a call without one; the provider never saw it."""
    return call_id.startswith(name) and _POSITION.fullmatch(call_id[len(name) :]) is not None


def read_answer(text: str, *, status: int = 200) -> Turn:
    if status != 200:
        kind = turns.text_of(turns.member(turns.error_body(text), "error", "status"))
        raise turns.failed_status(status, provider_code=kind or None, said=kind)
    body = turns.body_object(text)
    candidates = turns.objects(body.get("candidates", []), "candidates")
    if not candidates:
        blocked = turns.text_of(turns.member(body, "promptFeedback", "blockReason"))
        raise AnswerUnread(
            AnswerFault.REFUSED,
            f"The provider answered with no candidates{f' ({blocked})' if blocked else ''}.",
            provider_code=blocked or None,
        )
    content = candidates[0].get("content", {})
    if not isinstance(content, dict):
        raise turns.did_not_parse("the first candidate's content is no object")
    return _turn(content, candidates[0].get("finishReason"), _usage(body.get("usageMetadata")))


def read_stream(events: Events) -> Turn:
    parts: list[Json] = []
    role: Json = "model"
    finish_reason: Json = None
    counted: Json = None
    for _, payload in events:
        chunk = turns.body_object(payload)
        if isinstance(chunk.get("error"), dict):
            raise _broke_off(chunk["error"], counted, generated=bool(parts))
        counted = chunk.get("usageMetadata") or counted
        for candidate in turns.objects(chunk.get("candidates", []), "candidates")[:1]:
            role = turns.member(candidate, "content", "role") or role
            parts += turns.objects(turns.member(candidate, "content", "parts") or [], "parts")
            finish_reason = candidate.get("finishReason") or finish_reason
    if finish_reason is None:
        fault = AnswerFault.INTERRUPTED if counted else AnswerFault.UNACCOUNTED if parts else AnswerFault.UNAVAILABLE
        raise turns.stream_ended(fault, "a finishReason", billed=_usage(counted))
    return _turn({"role": role, "parts": parts}, finish_reason, _usage(counted))


def _broke_off(error: Json, counted: Json, *, generated: bool) -> AnswerUnread:
    said = turns.text_of(turns.member(error, "status"))
    if not generated:
        return turns.failed_status(
            turns.count(turns.member(error, "code")) or 500, provider_code=said or None, said=said
        )
    fault = AnswerFault.INTERRUPTED if counted else AnswerFault.UNACCOUNTED
    return AnswerUnread(
        fault, f"The stream broke off with {said or 'an error'}.", billed=_usage(counted), provider_code=said or None
    )


def _turn(content: dict[str, Json], finish_reason: Json, usage: Usage) -> Turn:
    if finish_reason not in (COMPLETE, CUT_OFF):
        raise unusable(f"The finishReason {finish_reason!a} is none that an answer ends with.", usage)
    parts = turns.objects(content.get("parts", []), "parts")
    spoken = [(at, part) for at, part in enumerate(parts) if part.get("thought") is not True]
    calls = [_call(part["functionCall"], at) for at, part in spoken if isinstance(part.get("functionCall"), dict)]
    calls = [call for call in calls if call.name != RESPOND]
    text = "".join(turns.text_of(part.get("text")) for _, part in spoken)
    if not calls and not text and finish_reason != CUT_OFF:
        raise unusable(f"The answer ends with finishReason {finish_reason!a} and holds no content and no call.", usage)
    return Turn(
        calls=tuple(calls),
        text=text,
        truncated=finish_reason == CUT_OFF,
        stop_reason=str(finish_reason),
        continuation=Continuation(TAG, [content]),
        usage=usage,
        reasoning="".join(turns.text_of(part.get("text")) for part in parts if part.get("thought") is True),
    )


def _call(function_call: dict[str, Json], position: int) -> ModelCall:
    name, call_id = turns.text_of(function_call.get("name")), function_call.get("id")
    return ModelCall(call_id if isinstance(call_id, str) else f"{name}-{position}", name, function_call.get("args", {}))


def _usage(counted: Json) -> Usage:
    return Usage(
        turns.count(turns.member(counted, "promptTokenCount")),
        turns.count(turns.member(counted, "candidatesTokenCount"))
        + turns.count(turns.member(counted, "thoughtsTokenCount")),
    )


PROVIDER = Provider(
    name="gemini",
    title="Google Gemini",
    offer_member="tools",
    choice_member="toolConfig",
    conversation_member="contents",
    tag=TAG,
    subset=None,
    budget=None,
    render_offer=render_offer,
    render_conversation=render_conversation,
    read_answer=read_answer,
    read_stream=read_stream,
    spell=canonical.rfc8785,
)
