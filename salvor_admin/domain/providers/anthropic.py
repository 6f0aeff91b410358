"""Anthropic Messages (agentplane contract 3.1, 3.6, 3.7)."""

from __future__ import annotations

from collections.abc import Sequence

from salvor_admin.domain import canonical, strict_json
from salvor_admin.domain.declarations import CacheTtl, ToolDeclaration
from salvor_admin.domain.providers import strict, turns
from salvor_admin.domain.providers.provider import (
    OutputMode,
    OutputSchema,
    Provider,
    RenderedOffer,
    forced_tool,
    required_strict,
)
from salvor_admin.domain.providers.strict import StrictCost, Subset
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
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.strict_json import Json

TAG = "anthropic"
RESPOND = "agentplane_respond"
CUT_OFF = frozenset({"max_tokens", "model_context_window_exceeded", "pause_turn"})
COMPLETE = frozenset({"end_turn", "stop_sequence", "tool_use"})
_ERROR_STATUS = {
    "rate_limit_error": 429,
    "overloaded_error": 529,
    "api_error": 500,
    "timeout_error": 504,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
}


def render_offer(offers: Sequence[ToolDeclaration], *, output: OutputSchema | None = None) -> RenderedOffer:
    respond = forced_tool(output, offers, name=RESPOND)
    reserved = StrictCost()
    if output is not None and output.mode is not OutputMode.FORCED:
        reserved = required_strict(output, Subset.ANTHROPIC, budget=strict.REQUEST_BUDGET)
    sent = [respond] if respond else list(offers)
    verdicts = strict.verdicts(
        [offer.parameters for offer in sent], Subset.ANTHROPIC, budget=strict.REQUEST_BUDGET, reserved=reserved
    )
    tools = []
    for offer, verdict in zip(sent, verdicts, strict=True):
        tool: dict[str, Json] = {
            "name": offer.name,
            "description": offer.description,
            "input_schema": offer.parameters,
            "strict": verdict.strict,
        }
        if offer.cache is not None:
            tool["cache_control"] = {"type": "ephemeral"}
            if offer.cache is not CacheTtl.FIVE_MINUTES:
                tool["cache_control"]["ttl"] = str(offer.cache)
        tools.append(tool)
    return RenderedOffer(tools or None, {"type": "tool", "name": RESPOND} if respond else None)


def render_conversation(
    prompt: Json,
    exchanges: Sequence[Exchange] = (),
    *,
    continuation: Continuation | None = None,
    person_turns: Sequence[str] = (),
) -> Json:
    _, said = turns.prompt_parts(prompt)
    messages: list[Json] = [{"role": "user", "content": said}]
    kept = turns.continued(continuation, tag=TAG, followed_by=(*exchanges, *person_turns))
    if kept is not None:
        messages += kept
    elif exchanges:
        calls = [
            {"type": "tool_use", "id": each.call.id, "name": each.call.name, "input": each.call.arguments}
            for each in exchanges
        ]
        messages.append({"role": "assistant", "content": calls})
    results: list[Json] = [
        {
            "type": "tool_result",
            "tool_use_id": each.call.id,
            "content": turns.json_text(each.output),
            "is_error": each.failed,
        }
        for each in exchanges
    ]
    results += [{"type": "text", "text": words} for words in person_turns]
    if results:
        messages.append({"role": "user", "content": results})
    return messages


def read_answer(text: str, *, status: int = 200) -> Turn:
    if status != 200:
        kind = turns.text_of(turns.member(turns.error_body(text), "error", "type"))
        raise turns.failed_status(status, provider_code=kind or None, said=kind)
    body = turns.body_object(text)
    blocks = turns.objects(body.get("content", []), "content")
    return _turn(blocks, body.get("stop_reason"), _usage(body.get("usage")))


def read_stream(events: Events) -> Turn:
    blocks: dict[int, dict[str, Json]] = {}
    fragments: dict[int, str] = {}
    started = finished = False
    stop_reason: Json = None
    usage = Usage()
    for _, payload in events:
        event = turns.body_object(payload)
        kind, at = event.get("type"), turns.count(event.get("index"))
        if kind == "message_start":
            started, usage = True, _usage(turns.member(event, "message", "usage"))
        elif kind == "content_block_start" and isinstance(event.get("content_block"), dict):
            blocks[at] = dict(event["content_block"])
        elif kind == "content_block_delta" and at in blocks:
            _add(blocks[at], event.get("delta"), fragments, at)
        elif kind == "message_delta":
            stop_reason = turns.member(event, "delta", "stop_reason")
            usage = Usage(usage.input, turns.count(turns.member(event, "usage", "output_tokens")) or usage.output)
        elif kind == "message_stop":
            finished = True
        elif kind == "error":
            raise _stream_error(turns.text_of(turns.member(event, "error", "type")), started, usage)
    if not finished:
        fault = AnswerFault.INTERRUPTED if started else AnswerFault.UNAVAILABLE
        raise turns.stream_ended(fault, "message_stop", billed=usage)
    for at, block in sorted(blocks.items()):
        if block.get("type") == "tool_use":
            _finish_call(block, fragments.get(at, ""), at, usage)
    return _turn([block for _, block in sorted(blocks.items())], stop_reason, usage)


def _add(block: dict[str, Json], delta: Json, fragments: dict[int, str], at: int) -> None:
    kind = turns.member(delta, "type")
    if kind == "input_json_delta":
        fragments[at] = fragments.get(at, "") + turns.text_of(delta.get("partial_json"))
    for name in ("text", "thinking", "signature"):
        if kind == f"{name}_delta":
            block[name] = turns.text_of(block.get(name)) + turns.text_of(delta.get(name))


def _finish_call(block: dict[str, Json], fragments: str, at: int, usage: Usage) -> None:
    if not block.get("id") or not block.get("name"):
        raise unusable(f"The tool_use block {at} came without an id or name.", usage)
    try:
        block["input"] = strict_json.read(fragments.encode("utf-8", "surrogatepass")) if fragments else {}
    except Refusal:
        raise unusable(f"The fragments of the call {block['id']} did not form JSON.", usage) from None


def _stream_error(kind: str, started: bool, usage: Usage) -> AnswerUnread:
    if started:
        return AnswerUnread(
            AnswerFault.INTERRUPTED, f"The stream broke off with {kind}.", billed=usage, provider_code=kind or None
        )
    return turns.failed_status(_ERROR_STATUS.get(kind, 400), provider_code=kind or None, said=kind)


def _turn(blocks: list[dict[str, Json]], stop_reason: Json, usage: Usage) -> Turn:
    if stop_reason == "refusal":
        raise unusable("The model declined to answer.", usage)
    if not isinstance(stop_reason, str) or stop_reason not in CUT_OFF | COMPLETE:
        raise unusable(f"The stop_reason {stop_reason!a} is none that an answer ends with.", usage)
    calls = [_call(block, usage) for block in blocks if block.get("type") == "tool_use"]
    calls = [call for call in calls if call.name != RESPOND]
    text = "".join(turns.text_of(block.get("text")) for block in blocks if block.get("type") == "text")
    if not calls and not text:
        raise unusable("The answer holds no text content and no call.", usage)
    return Turn(
        calls=tuple(calls),
        text=text,
        truncated=stop_reason in CUT_OFF,
        stop_reason=stop_reason,
        continuation=Continuation(TAG, [{"role": "assistant", "content": blocks}]),
        usage=usage,
        reasoning="".join(turns.text_of(block.get("thinking")) for block in blocks if block.get("type") == "thinking"),
    )


def _call(block: dict[str, Json], usage: Usage) -> ModelCall:
    call_id, name = block.get("id"), block.get("name")
    if not isinstance(call_id, str) or not call_id:
        raise unusable("A tool_use block came without an id.", usage)
    if not isinstance(name, str) or not name:
        raise unusable(f"The call {call_id} came without a name.", usage)
    if "input" not in block:
        raise unusable(f"The call {call_id} of {name} has no input arguments.", usage)
    return ModelCall(call_id, name, block["input"])


def _usage(counted: Json) -> Usage:
    return Usage(
        turns.count(turns.member(counted, "input_tokens")), turns.count(turns.member(counted, "output_tokens"))
    )


PROVIDER = Provider(
    name="anthropic",
    title="Anthropic Messages",
    offer_member="tools",
    choice_member="tool_choice",
    conversation_member="messages",
    tag=TAG,
    subset=Subset.ANTHROPIC,
    budget=strict.REQUEST_BUDGET,
    render_offer=render_offer,
    render_conversation=render_conversation,
    read_answer=read_answer,
    read_stream=read_stream,
    spell=canonical.rfc8785,
)
