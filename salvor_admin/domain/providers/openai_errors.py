"""The error object that both OpenAI surfaces answer with."""

from __future__ import annotations

from salvor_admin.domain.providers import turns
from salvor_admin.domain.providers.turns import AnswerFault, AnswerUnread
from salvor_admin.domain.strict_json import Json

_ACCOUNT_CODES = frozenset({"insufficient_quota", "billing_hard_limit_reached"})


def refused(status: int, error: Json) -> AnswerUnread:
    """The refusal behind an HTTP status and its error object."""
    code = _code(error)
    named = {turns.member(error, "type"), turns.member(error, "code")}
    return turns.failed_status(status, provider_code=code or None, said=code, out_of_quota=bool(named & _ACCOUNT_CODES))


def broke_off(error: Json, *, generated: bool) -> AnswerUnread:
    """The refusal behind an error inside a stream; what was generated before it costs an unknown amount."""
    status = turns.member(error, "code")
    if not generated and isinstance(status, int) and 400 <= status < 600:
        return turns.failed_status(status, provider_code=_code(error) or None, said=_code(error))
    fault = AnswerFault.UNACCOUNTED if generated else AnswerFault.UNAVAILABLE
    return AnswerUnread(
        fault, f"The stream broke off with {_code(error) or 'an error'}.", provider_code=_code(error) or None
    )


def _code(error: Json) -> str:
    kind, code = turns.text_of(turns.member(error, "type")), turns.text_of(turns.member(error, "code"))
    return kind if kind == code or not code else f"{kind}:{code}" if kind else code
