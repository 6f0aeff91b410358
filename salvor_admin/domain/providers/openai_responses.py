"""OpenAI Responses (agentplane contract 3.2, 3.6, 3.7)."""

from __future__ import annotations

from collections.abc import Sequence

from salvor_admin.domain import canonical
from salvor_admin.domain.declarations import ToolDeclaration
from salvor_admin.domain.providers import openai_errors, strict, turns
from salvor_admin.domain.providers.provider import (
    OutputSchema,
    Provider,
    RenderedOffer,
    forced_tool,
    required_strict,
)
from salvor_admin.domain.providers.strict import Subset
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

TAG = "openai"
RESPOND = "agentplane_respond"
_TERMINAL = frozenset({"response.completed", "response.incomplete", "response.failed"})


def render_offer(offers: Sequence[ToolDeclaration], *, output: OutputSchema | None = None) -> RenderedOffer:
    respond = forced_tool(output, offers, name=RESPOND)
    if output is not None:
        required_strict(output, Subset.OPENAI, budget=None)
    sent = [respond] if respond else list(offers)
    verdicts = strict.verdicts([offer.parameters for offer in sent], Subset.OPENAI)
    tools = [
        {
            "type": "function",
            "name": offer.name,
            "description": offer.description,
            "parameters": offer.parameters,
            "strict": verdict.strict,
        }
        for offer, verdict in zip(sent, verdicts, strict=True)
    ]
    return RenderedOffer(tools or None, {"type": "function", "name": RESPOND} if respond else None)


def render_conversation(
    prompt: Json,
    exchanges: Sequence[Exchange] = (),
    *,
    continuation: Continuation | None = None,
    person_turns: Sequence[str] = (),
) -> Json:
    _, said = turns.prompt_parts(prompt)
    items: list[Json] = [{"role": "user", "content": said}]
    kept = turns.continued(continuation, tag=TAG, followed_by=(*exchanges, *person_turns))
    if kept is not None:
        items += kept
    else:
        items += [
            {
                "type": "function_call",
                "call_id": each.call.id,
                "name": each.call.name,
                "arguments": canonical.text(each.call.arguments),
            }
            for each in exchanges
        ]
    items += [
        {"type": "function_call_output", "call_id": each.call.id, "output": turns.json_text(each.output)}
        for each in exchanges
    ]
    items += [{"role": "user", "content": [{"type": "input_text", "text": words}]} for words in person_turns]
    return items


def read_answer(text: str, *, status: int = 200) -> Turn:
    if status != 200:
        raise openai_errors.refused(status, turns.error_body(text).get("error"))
    return _turn(turns.body_object(text))


def read_stream(events: Events) -> Turn:
    response_id = ""
    for _, payload in events:
        event = turns.body_object(payload)
        if event.get("type") in _TERMINAL and isinstance(event.get("response"), dict):
            return _turn(event["response"])
        if event.get("type") == "error":
            raise openai_errors.broke_off(event.get("error") or event, generated=bool(response_id))
        response_id = response_id or turns.text_of(turns.member(event, "response", "id"))
    fault = AnswerFault.UNACCOUNTED if events else AnswerFault.UNAVAILABLE
    raise turns.stream_ended(fault, "its terminal event", seen=response_id)


def _turn(body: dict[str, Json]) -> Turn:
    usage = Usage(
        turns.count(turns.member(body, "usage", "input_tokens")),
        turns.count(turns.member(body, "usage", "output_tokens")),
    )
    items = turns.objects(body.get("output", []), "output")
    stop_reason, truncated = _stop(body, usage)
    calls = [_call(item, usage) for item in items if item.get("type") == "function_call"]
    calls = [call for call in calls if call.name != RESPOND]
    text, commentary = _said(items, usage, commentary=False), _said(items, usage, commentary=True)
    if not calls and not text and not truncated:
        raise unusable("The answer holds no text content and no call.", usage)
    return Turn(
        calls=tuple(calls),
        text=text,
        truncated=truncated,
        stop_reason=stop_reason,
        continuation=Continuation(TAG, items),
        usage=usage,
        reasoning=_reasoning(items),
        commentary=commentary,
    )


def _stop(body: dict[str, Json], usage: Usage) -> tuple[str, bool]:
    status = body.get("status")
    if status == "completed":
        return "completed", False
    if status == "incomplete":
        reason = turns.member(body, "incomplete_details", "reason")
        if reason == "max_output_tokens":
            return f"incomplete:{reason}", True
        raise unusable(f"The answer is incomplete for the reason {reason!a}.", usage)
    code = turns.text_of(turns.member(body, "error", "code"))
    raise unusable(f"The status {status!a} is none that an answer ends with{f' ({code})' if code else ''}.", usage)


def _call(item: dict[str, Json], usage: Usage) -> ModelCall:
    call_id, name, arguments = item.get("call_id"), item.get("name"), item.get("arguments")
    if not isinstance(call_id, str):
        raise unusable("A function call came without a call_id.", usage)
    if not isinstance(name, str):
        raise unusable(f"The call {call_id} came without a name.", usage)
    if not isinstance(arguments, str):
        raise unusable(f"The call {call_id} of {name} has no arguments as text.", usage)
    try:
        return ModelCall(call_id, name, turns.arguments_from_text(arguments, call=f"{call_id} of {name}"))
    except ValueError as why:
        raise unusable(str(why), usage) from None


def _said(items: list[dict[str, Json]], usage: Usage, *, commentary: bool) -> str:
    texts = []
    for item in items:
        if item.get("type") != "message" or (item.get("phase") == "commentary") is not commentary:
            continue
        for part in turns.objects(item.get("content", []), "a message's content"):
            if part.get("type") == "refusal":
                raise unusable("The model declined to answer.", usage)
            if part.get("type") == "output_text":
                texts.append(turns.text_of(part.get("text")))
    return "".join(texts)


def _reasoning(items: list[dict[str, Json]]) -> str:
    summaries = [item.get("summary") for item in items if item.get("type") == "reasoning"]
    parts = [part for summary in summaries if isinstance(summary, list) for part in summary]
    return "\n\n".join(turns.text_of(turns.member(part, "text")) for part in parts)


PROVIDER = Provider(
    name="openai-responses",
    title="OpenAI Responses",
    offer_member="tools",
    choice_member="tool_choice",
    conversation_member="input",
    tag=TAG,
    subset=Subset.OPENAI,
    budget=None,
    render_offer=render_offer,
    render_conversation=render_conversation,
    read_answer=read_answer,
    read_stream=read_stream,
    spell=canonical.rfc8785,
)
