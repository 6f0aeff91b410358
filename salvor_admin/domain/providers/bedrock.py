"""Amazon Bedrock Converse (agentplane contract 3.4, 3.6, 3.7)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from salvor_admin.domain import canonical, strict_json
from salvor_admin.domain.declarations import ToolDeclaration
from salvor_admin.domain.providers import strict, turns
from salvor_admin.domain.providers.provider import OutputSchema, Provider, RenderedOffer, forced_tool
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
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.strict_json import Json

TAG = "bedrock"
RESPOND = "__agentplane_respond"
CUT_OFF = frozenset({"max_tokens", "model_context_window_exceeded"})
COMPLETE = frozenset({"end_turn", "stop_sequence", "tool_use"})


def render_offer(offers: Sequence[ToolDeclaration], *, output: OutputSchema | None = None) -> RenderedOffer:
    respond = forced_tool(output, offers, name=RESPOND)
    sent = [respond] if respond else list(offers)
    verdicts = strict.verdicts([offer.parameters for offer in sent], Subset.ANTHROPIC, budget=strict.REQUEST_BUDGET)
    tools: list[Json] = []
    for offer, verdict in zip(sent, verdicts, strict=True):
        specification = {
            "name": offer.name,
            "description": offer.description,
            "inputSchema": {"json": offer.parameters},
            "strict": verdict.strict,
        }
        tools.append({"toolSpec": specification})
        if offer.cache is not None:
            tools.append({"cachePoint": {"type": "default", "ttl": str(offer.cache)}})
    if not tools:
        return RenderedOffer(None)
    config: dict[str, Json] = {"tools": tools}
    if respond:
        config["toolChoice"] = {"tool": {"name": RESPOND}}
    return RenderedOffer(config)


def render_conversation(
    prompt: Json,
    exchanges: Sequence[Exchange] = (),
    *,
    continuation: Continuation | None = None,
    person_turns: Sequence[str] = (),
) -> Json:
    _, said = turns.prompt_parts(prompt)
    messages: list[Json] = [{"role": "user", "content": [{"text": said}]}]
    kept = turns.continued(continuation, tag=TAG, followed_by=(*exchanges, *person_turns), ignore_unfollowed=True)
    if kept is not None:
        messages += [_message(item) for item in kept]
    elif exchanges:
        calls = [
            {"toolUse": {"toolUseId": each.call.id, "name": each.call.name, "input": each.call.arguments}}
            for each in exchanges
        ]
        messages.append({"role": "assistant", "content": calls})
    blocks: list[Json] = [{"toolResult": _result(each)} for each in exchanges]
    blocks += [{"text": words} for words in person_turns]
    if blocks:
        # Converse wants user and assistant to take turns, so words without a result join the last user message.
        if messages[-1].get("role") == "user":
            messages[-1] = {**messages[-1], "content": [*messages[-1]["content"], *blocks]}
        else:
            messages.append({"role": "user", "content": blocks})
    return messages


def _result(exchange: Exchange) -> dict[str, Json]:
    output = exchange.output
    content = {"json": output} if isinstance(output, dict) else {"text": turns.json_text(output)}
    return {
        "toolUseId": exchange.call.id,
        "content": [content],
        "status": "error" if exchange.failed else "success",
    }


def _message(item: Json) -> dict[str, Json]:
    blocks = turns.member(item, "content")
    if not isinstance(item, dict) or not isinstance(blocks, list):
        raise _unknown_block("a message without content")
    return {"role": item.get("role"), "content": [_block(block) for block in blocks]}


def _block(kept: Json) -> dict[str, Json]:
    match turns.member(kept, "type"):
        case "text":
            return {"text": kept.get("text")}
        case "tool_use":
            return {"toolUse": {"toolUseId": kept.get("id"), "name": kept.get("name"), "input": kept.get("input")}}
        case "tool_result":
            content = kept.get("content")
            return {
                "toolResult": {
                    "toolUseId": kept.get("tool_use_id"),
                    "content": [{"json": content} if isinstance(content, dict) else {"text": turns.json_text(content)}],
                    "status": "error" if kept.get("is_error") else "success",
                }
            }
        case "reasoning":
            text = {"text": kept.get("text")}
            if kept.get("signature"):
                text["signature"] = kept["signature"]
            return {"reasoningContent": {"reasoningText": text}}
        case other:
            raise _unknown_block(f"a block of type {other!a}")


def _unknown_block(what: str) -> Refusal:
    return Refusal(
        "continuation_unusable",
        f"The continuation cannot be sent: it holds {what}, which Converse has no block for. Send the turn without it, "
        "and the calls are rebuilt from the results.",
        place="continuation",
    )


def read_answer(text: str, *, status: int = 200) -> Turn:
    if status != 200:
        body = turns.error_body(text)
        kind = turns.text_of(body.get("__type")).rpartition("#")[2]
        raise turns.failed_status(status, provider_code=kind or None, said=kind)
    body = turns.body_object(text)
    blocks = turns.objects(turns.member(body, "output", "message", "content") or [], "the message's content")
    return _turn(blocks, body.get("stopReason"), _usage(body.get("usage")))


def read_stream(events: Events) -> Turn:
    blocks: dict[int, dict[str, Json]] = {}
    stop_reason: Json = None
    counted: Json = None
    for name, payload in events:
        event = turns.body_object(payload)
        at = turns.count(event.get("contentBlockIndex"))
        if name == "contentBlockStart" and isinstance(turns.member(event, "start", "toolUse"), dict):
            blocks[at] = {"toolUse": {**event["start"]["toolUse"], "input": ""}}
        elif name == "contentBlockDelta":
            _add(blocks, at, event.get("delta"))
        elif name == "messageStop":
            stop_reason = event.get("stopReason")
        elif name == "metadata":
            counted = event.get("usage")
        elif name.endswith("Exception"):
            awaited = f"messageStop, with {name},"
            raise turns.stream_ended(AnswerFault.UNACCOUNTED if blocks else AnswerFault.UNAVAILABLE, awaited)
    fault = AnswerFault.UNACCOUNTED if events else AnswerFault.UNAVAILABLE
    if stop_reason is None:
        raise turns.stream_ended(fault, "messageStop", billed=_usage(counted))
    if counted is None:
        raise turns.stream_ended(fault, "its usage metadata")
    usage = _usage(counted)
    for block in blocks.values():
        if "toolUse" in block:
            _finish_call(block["toolUse"], usage)
    return _turn([block for _, block in sorted(blocks.items())], stop_reason, usage)


def _add(blocks: dict[int, dict[str, Json]], at: int, delta: Json) -> None:
    block = blocks.setdefault(at, {})
    if isinstance(turns.member(delta, "toolUse"), dict):
        tool_use = block.setdefault("toolUse", {"input": ""})
        tool_use["input"] += turns.text_of(delta["toolUse"].get("input"))
    if isinstance(turns.member(delta, "text"), str):
        block["text"] = turns.text_of(block.get("text")) + delta["text"]
    for name in ("text", "signature"):
        if isinstance(part := turns.member(delta, "reasoningContent", name), str):
            reasoning = block.setdefault("reasoningContent", {"reasoningText": {}})["reasoningText"]
            reasoning[name] = turns.text_of(reasoning.get(name)) + part


def _finish_call(tool_use: dict[str, Json], usage: Usage) -> None:
    fragments = tool_use["input"]
    try:
        tool_use["input"] = strict_json.read(fragments.encode("utf-8", "surrogatepass")) if fragments else {}
    except Refusal:
        call = turns.text_of(tool_use.get("toolUseId"))
        raise unusable(f"The fragments of the call {call} did not form JSON.", usage) from None


def _turn(blocks: list[dict[str, Json]], stop_reason: Json, usage: Usage) -> Turn:
    if not isinstance(stop_reason, str) or stop_reason not in CUT_OFF | COMPLETE:
        raise unusable(f"The stopReason {stop_reason!a} is none that an answer ends with.", usage)
    kept = [_kept(block, usage) for block in blocks]
    calls = [
        ModelCall(block["id"], block["name"], block["input"])
        for block in kept
        if block["type"] == "tool_use" and block["name"] != RESPOND
    ]
    text = "".join(block["text"] for block in kept if block["type"] == "text")
    if not calls and not text:
        raise unusable("The answer holds neither text nor a call.", usage)
    return Turn(
        calls=tuple(calls),
        text=text,
        truncated=stop_reason in CUT_OFF,
        stop_reason=stop_reason,
        continuation=Continuation(TAG, [{"role": "assistant", "content": kept}]),
        usage=usage,
        reasoning="".join(block["text"] for block in kept if block["type"] == "reasoning"),
    )


def _kept(block: dict[str, Json], usage: Usage) -> dict[str, Json]:
    """A block in the form the continuation keeps; one that could not be sent back makes the answer unusable."""
    if isinstance(tool_use := block.get("toolUse"), dict):
        return {
            "type": "tool_use",
            "id": turns.text_of(tool_use.get("toolUseId")),
            "name": turns.text_of(tool_use.get("name")),
            "input": tool_use.get("input"),
        }
    if isinstance(text := block.get("text"), str):
        return {"type": "text", "text": text}
    if isinstance(reasoning := turns.member(block, "reasoningContent", "reasoningText"), dict):
        kept = {"type": "reasoning", "text": turns.text_of(reasoning.get("text"))}
        if isinstance(reasoning.get("signature"), str):
            kept["signature"] = reasoning["signature"]
        return kept
    raise unusable(
        f"The answer holds a block that cannot be sent back (unsupported continuation block {', '.join(block)}).", usage
    )


def _usage(counted: Json) -> Usage:
    return Usage(turns.count(turns.member(counted, "inputTokens")), turns.count(turns.member(counted, "outputTokens")))


def spell(value: Json) -> str:
    """JSON text in the SDK's number spelling: `1.0` stays, an exponent carries no plus sign."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{json.dumps(name, ensure_ascii=False)}:{spell(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(spell, value)) + "]"
    return canonical.text(value).replace("e+", "e") if isinstance(value, float) else canonical.text(value)


PROVIDER = Provider(
    name="bedrock",
    title="Amazon Bedrock Converse",
    offer_member="toolConfig",
    choice_member=None,
    conversation_member="messages",
    tag=TAG,
    subset=Subset.ANTHROPIC,
    budget=strict.REQUEST_BUDGET,
    render_offer=render_offer,
    render_conversation=render_conversation,
    read_answer=read_answer,
    read_stream=read_stream,
    spell=spell,
)
