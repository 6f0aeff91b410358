"""The value that stands for a failed call in the history."""

from __future__ import annotations

from typing import Final

from salvor_admin.domain.strict_json import Json

FAILURE_MEMBER: Final = "__salvor_error"
FAILURE_KINDS: Final = ("invalid_input", "handler", "output_serialization")


def failure(message: str, kind: str = "handler") -> Json:
    """A client's failure as it is recorded (contract 8)."""
    return {FAILURE_MEMBER: {"attempts": 1, "is_error": True, "kind": kind, "message": message}}


def is_failure(value: Json) -> bool:
    """Whether a recorded output stands for a failure, as the SDK tells it."""
    if not isinstance(value, dict) or len(value) != 1:
        return False
    failed = value.get(FAILURE_MEMBER)
    return isinstance(failed, dict) and isinstance(failed.get("message"), str)
