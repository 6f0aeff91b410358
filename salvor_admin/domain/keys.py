"""The idempotency key: ours, not the caller's."""

from __future__ import annotations

from salvor_admin.domain import canonical
from salvor_admin.domain.client_tools import ClientTool
from salvor_admin.domain.refusals import Refusal
from salvor_admin.domain.strict_json import Json


def idempotency_key(tool: ClientTool, *, run_id: str, seq: int, input: Json) -> tuple[str, str]:
    """The key of a call and the text it is the hash of (contract 7.2, 7.3). `run_id` is the lower-case UUID."""
    if not tool.idempotency_key:
        identity: dict[str, Json] = {"run": run_id, "seq": seq, "tool": tool.name}
    else:
        identity = {"run": run_id, "tool": tool.name}
        for field in tool.idempotency_key:
            if not isinstance(input, dict) or field not in input:
                raise Refusal(
                    "bad_request",
                    f"The input of tool `{tool.name}` lacks `{field}`, which its `idempotency_key` names; "
                    f"send an object that holds `{field}`.",
                    place=f"input.{field}",
                )
            identity[field] = input[field]
    text = canonical.text(identity)
    return canonical.digest(text), text
