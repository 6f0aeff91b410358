"""What passes between a model and us whatever the provider: calls, answers, results (agentplane contract 3.6, 3.7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from salvor_admin.domain import canonical, strict_json
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.strict_json import Json

# A streamed answer: (event name, payload as JSON text), in order, its transport's framing taken off.
Events: TypeAlias = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call as the model wrote it; whether its arguments are an object nobody has looked at yet."""

    id: str
    name: str
    arguments: Json


@dataclass(frozen=True, slots=True)
class Exchange:
    """A call together with what came back, a failure included."""

    call: ModelCall
    output: Json
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Continuation:
    """What a provider wants to see again before the results, under the tag of the driver that kept it."""

    provider: str
    state: Json


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens a provider says it counted."""

    input: int = 0
    output: int = 0


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer of a model that may be acted on."""

    calls: tuple[ModelCall, ...]
    text: str
    truncated: bool
    stop_reason: str
    continuation: Continuation
    usage: Usage
    reasoning: str = ""
    commentary: str = ""


class AnswerFault(StrEnum):
    """Why there is no turn, and with that what may be done next."""

    REFUSED = "refused"  # nothing generated, nothing billed
    UNUSABLE = "unusable"  # generated and billed
    RATE_LIMITED = "rate_limited"
    UNAVAILABLE = "unavailable"  # unknown whether it generated; may be repeated
    INTERRUPTED = "interrupted"  # died on the way, billed as stated
    UNACCOUNTED = "unaccounted"  # generated, cost unknown


class AnswerUnread(Refusal):
    """An answer that yields no turn; the good calls beside a bad one are lost with it."""

    def __init__(
        self,
        fault: AnswerFault,
        message: str,
        *,
        billed: Usage = Usage(),
        provider_code: str | None = None,
        account: bool = False,
    ) -> None:
        super().__init__(
            "answer_unread",
            message,
            details={"fault": str(fault), "billed": {"input": billed.input, "output": billed.output}},
        )
        self.fault = fault
        self.billed = billed
        self.provider_code = provider_code
        self.account = account


def unusable(message: str, billed: Usage) -> AnswerUnread:
    return AnswerUnread(AnswerFault.UNUSABLE, message, billed=billed)


def stream_ended(fault: AnswerFault, awaited: str, *, billed: Usage = Usage(), seen: str = "") -> AnswerUnread:
    """The refusal of a stream that stops before the event it had to end with."""
    known = f" of {seen}" if seen else ""
    return AnswerUnread(fault, f"The stream ended before {awaited}{known}.", billed=billed)


def body_object(text: str) -> dict[str, Json]:
    """A whole answer as an object."""
    try:
        body = strict_json.read(text.encode("utf-8", "surrogatepass"))
    except Refusal as why:
        raise unusable(f"The answer did not parse: {why.message}", Usage()) from None
    if not isinstance(body, dict):
        raise did_not_parse("it is no object")
    return body


def did_not_parse(why: str) -> AnswerUnread:
    """The refusal of an answer whose shape is not the provider's, so that even its usage cannot be read."""
    return unusable(f"The answer did not parse: {why}.", Usage())


def objects(value: Json, what: str) -> list[dict[str, Json]]:
    """A list of objects, or the answer did not parse."""
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise did_not_parse(f"{what} is no list of objects")
    return value


def text_of(value: Json) -> str:
    return value if isinstance(value, str) else ""


def member(value: Json, *names: str) -> Json:
    """A member some objects further in; None where one of them is missing."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def count(value: Json) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0


def arguments_from_text(text: str, *, call: str) -> Json:
    """A call's arguments where the provider sends them as JSON text."""
    try:
        return strict_json.read(text.encode("utf-8", "surrogatepass"))
    except Refusal:
        raise ValueError(f"The call {call} has malformed JSON arguments.") from None


def json_text(value: Json) -> str:
    """A value as the text a model reads: a text as it is, anything else as JSON (contract 3.6)."""
    return value if isinstance(value, str) else canonical.text(value)


def prompt_parts(prompt: Json) -> tuple[str | None, str]:
    """The instruction of a prompt, and what the user says in it."""
    if not isinstance(prompt, dict) or not isinstance(prompt.get("system"), str):
        return None, json_text(prompt)
    rest = {name: value for name, value in prompt.items() if name != "system"}
    only_input = rest["input"] if list(rest) == ["input"] and isinstance(rest["input"], str) else rest
    return prompt["system"], json_text(only_input)


def continued(
    continuation: Continuation | None, *, tag: str, followed_by: Sequence[object], ignore_unfollowed: bool = False
) -> list[Json] | None:
    """The kept items that replace the rebuilt call turn; None when the turn has to be rebuilt (contract 3.6)."""
    if continuation is None:
        return None
    if continuation.provider != tag:
        raise _refused(f"it was kept by {continuation.provider!a} and the request goes to {tag!a}")
    if not isinstance(continuation.state, list):
        raise _refused("its state is no array")
    if not followed_by:
        if ignore_unfollowed:
            return None
        raise _refused("neither a result nor a person's words follow it")
    return list(continuation.state)


def _refused(why: str) -> Refusal:
    return Refusal(
        "continuation_unusable",
        f"The continuation cannot be sent: {why}. Send the turn without it, and the calls are rebuilt from the results.",
        place="continuation",
    )


def failed_status(status: int, *, provider_code: str | None, said: str, out_of_quota: bool = False) -> AnswerUnread:
    """The refusal behind an HTTP status; `said` is the provider's own word for it."""
    message = f"The provider answered HTTP {status}{f' ({said})' if said else ''}."
    if out_of_quota:
        return AnswerUnread(
            AnswerFault.REFUSED,
            f"{message} The account's quota is used up.",
            provider_code=provider_code,
            account=True,
        )
    if status in (429, 529):
        return AnswerUnread(AnswerFault.RATE_LIMITED, message, provider_code=provider_code)
    if status == 408 or status >= 500:
        return AnswerUnread(AnswerFault.UNAVAILABLE, message, provider_code=provider_code)
    return AnswerUnread(AnswerFault.REFUSED, message, provider_code=provider_code, account=status in (401, 402, 403))


def error_body(text: str) -> Mapping[str, Json]:
    """The object of an error answer; empty when it is none."""
    try:
        body = strict_json.read(text.encode("utf-8", "surrogatepass"))
    except Refusal:
        return {}
    return body if isinstance(body, dict) else {}


def event_stream(text: str) -> list[tuple[str, str]]:
    """The complete events of a server-sent stream as (event name, payload); one cut short at the end is dropped."""
    events: list[tuple[str, str]] = []
    name = ""
    payload: list[str] = []
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        if not line:
            if payload:
                events.append((name, "\n".join(payload)))
            name, payload = "", []
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            payload.append(value)
    return events
