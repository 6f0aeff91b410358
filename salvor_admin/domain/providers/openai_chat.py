"""OpenAI Chat Completions and the servers that speak it (agentplane contract 3.3, 3.6, 3.7)."""

from __future__ import annotations

from collections.abc import Sequence

from salvor_admin.domain import canonical
from salvor_admin.domain.declarations import ToolDeclaration
from salvor_admin.domain.providers import openai_errors, turns
from salvor_admin.domain.providers.provider import OutputSchema, Provider, RenderedOffer, forced_tool
from salvor_admin.domain.providers.turns import (
    AnswerFault,
    Continuation,
    Events,
    Exchange,
    ModelCall,
    Turn,
    Usage,
    unusable,
)
from salvor_admin.domain.strict_json import Json

TAG = "chat-completions"
RESPOND = "agentplane_respond"
COMPLETE = frozenset({"stop", "tool_calls", "function_call"})
CUT_OFF = "length"


def render_offer(offers: Sequence[ToolDeclaration], *, output: OutputSchema | None = None) -> RenderedOffer:
    respond = forced_tool(output, offers, name=RESPOND)
    tools = [
        {
            "type": "function",
            "function": {"name": offer.name, "description": offer.description, "parameters": offer.parameters},
        }
        for offer in ([respond] if respond else offers)
    ]
    return RenderedOffer(tools or None, {"type": "function", "function": {"name": RESPOND}} if respond else None)


def render_conversation(
    prompt: Json,
    exchanges: Sequence[Exchange] = (),
    *,
    continuation: Continuation | None = None,
    person_turns: Sequence[str] = (),
) -> Json:
    system, said = turns.prompt_parts(prompt)
    messages: list[Json] = [] if system is None else [{"role": "system", "content": system}]
    messages.append({"role": "user", "content": said})
    kept = turns.continued(continuation, tag=TAG, followed_by=(*exchanges, *person_turns))
    if kept is not None:
        messages += kept
    elif exchanges:
        calls = [
            {
                "id": each.call.id,
                "type": "function",
                "function": {"name": each.call.name, "arguments": canonical.text(each.call.arguments)},
            }
            for each in exchanges
        ]
        messages.append({"role": "assistant", "tool_calls": calls})
    messages += [
        {"role": "tool", "tool_call_id": each.call.id, "content": turns.json_text(each.output)} for each in exchanges
    ]
    messages += [{"role": "user", "content": words} for words in person_turns]
    return messages


def read_answer(text: str, *, status: int = 200) -> Turn:
    if status != 200:
        raise openai_errors.refused(status, turns.error_body(text).get("error"))
    body = turns.body_object(text)
    usage = _usage(body.get("usage"))
    choices = turns.objects(body.get("choices", []), "choices")
    if not choices:
        raise unusable("The answer holds no choices.", usage)
    message = choices[0].get("message")
    if not isinstance(message, dict):
        raise turns.did_not_parse("the first choice holds no message")
    return _turn(message, choices[0].get("finish_reason"), usage)


def read_stream(events: Events) -> Turn:
    content, refusal = "", ""
    calls: dict[int, dict[str, Json]] = {}
    finish_reason: Json = None
    usage = Usage()
    for _, payload in events:
        if payload.strip() == "[DONE]":
            message: dict[str, Json] = {"role": "assistant", "content": content, "refusal": refusal or None}
            if calls:
                message["tool_calls"] = [_joined(call) for _, call in sorted(calls.items())]
            return _turn(message, finish_reason, usage)
        chunk = turns.body_object(payload)
        if isinstance(chunk.get("error"), dict):
            raise openai_errors.broke_off(chunk["error"], generated=bool(content or calls))
        if chunk.get("usage"):
            usage = _usage(chunk["usage"])
        for choice in turns.objects(chunk.get("choices", []), "choices"):
            if turns.count(choice.get("index")) != 0:
                continue
            delta = choice.get("delta")
            content += turns.text_of(turns.member(delta, "content"))
            refusal += turns.text_of(turns.member(delta, "refusal"))
            _add(calls, turns.member(delta, "tool_calls"))
            finish_reason = choice.get("finish_reason") or finish_reason
    fault = AnswerFault.UNACCOUNTED if events else AnswerFault.UNAVAILABLE
    raise turns.stream_ended(fault, "its terminal [DONE] marker")


def _add(calls: dict[int, dict[str, Json]], fragments: Json) -> None:
    """Joins a chunk's fragments to their calls; compatible servers repeat id and name on each of them."""
    for fragment in turns.objects(fragments or [], "tool_calls"):
        call = calls.setdefault(
            turns.count(fragment.get("index")),
            {"id": "", "type": "function", "function": {"name": "", "arguments": ""}},
        )
        call["id"] = call["id"] or turns.text_of(fragment.get("id"))
        part, function = fragment.get("function"), call["function"]
        function["name"] = function["name"] or turns.text_of(turns.member(part, "name"))
        function["arguments"] += turns.text_of(turns.member(part, "arguments"))


def _joined(call: dict[str, Json]) -> dict[str, Json]:
    function = call["function"]
    return {**call, "function": {**function, "arguments": function["arguments"] or "{}"}}


def _turn(message: dict[str, Json], finish_reason: Json, usage: Usage) -> Turn:
    content = message.get("content")
    if content is not None and not isinstance(content, str):
        raise turns.did_not_parse("the message's content is no text")
    parts = [_call_parts(item) for item in turns.objects(message.get("tool_calls", []), "tool_calls")]
    if turns.text_of(message.get("refusal")):
        raise unusable("The model declined to answer.", usage)
    if finish_reason != CUT_OFF and finish_reason not in COMPLETE:
        raise unusable(f"The finish_reason {finish_reason!a} is none that an answer ends with.", usage)
    calls = []
    for call_id, name, arguments in parts:
        try:
            calls.append(ModelCall(call_id, name, turns.arguments_from_text(arguments, call=f"{call_id} of {name}")))
        except ValueError as why:
            raise unusable(str(why), usage) from None
    calls = [call for call in calls if call.name != RESPOND]
    if not calls and not content and finish_reason != CUT_OFF:
        raise unusable(f"The answer ends with finish_reason {finish_reason!a} and holds no content and no call.", usage)
    return Turn(
        calls=tuple(calls),
        text=content or "",
        truncated=finish_reason == CUT_OFF,
        stop_reason=turns.text_of(finish_reason),
        continuation=Continuation(TAG, [message]),
        usage=usage,
    )


def _call_parts(item: dict[str, Json]) -> tuple[str, str, str]:
    function = item.get("function", {})
    parts = (item.get("id", ""), turns.member(function, "name"), turns.member(function, "arguments"))
    texts = tuple("" if part is None else part for part in parts)
    if not isinstance(function, dict) or not all(isinstance(part, str) for part in texts):
        raise turns.did_not_parse("a call's id, name or arguments is no text")
    return texts[0], texts[1], texts[2]


def _usage(counted: Json) -> Usage:
    return Usage(
        turns.count(turns.member(counted, "prompt_tokens")), turns.count(turns.member(counted, "completion_tokens"))
    )


PROVIDER = Provider(
    name="openai-chat",
    title="OpenAI Chat Completions",
    offer_member="tools",
    choice_member="tool_choice",
    conversation_member="messages",
    tag=TAG,
    subset=None,
    budget=None,
    render_offer=render_offer,
    render_conversation=render_conversation,
    read_answer=read_answer,
    read_stream=read_stream,
    spell=canonical.rfc8785,
)
