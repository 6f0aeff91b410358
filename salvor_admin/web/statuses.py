"""The one table from a refusal's code to its HTTP status; pages, `/v1` and `/api` all read it."""

from __future__ import annotations

STATUS: dict[str, int] = {
    # Not readable as a request.
    "bad_request": 400,
    "unknown_field": 400,
    "invalid_graph": 400,
    "approval_schema_violation": 400,
    # Nobody known is asking.
    "unauthorized": 401,
    "missing_drive_token": 401,
    "session_ended": 401,
    # Somebody known, who may not.
    "not_allowed": 403,
    "own_revision": 403,
    "invalid_drive_token": 403,
    "client_completion_refused": 403,
    "stale_form": 403,
    # Not there, or not there for this actor.
    "not_found": 404,
    "unknown_path": 404,
    "unknown_run": 404,
    "unknown_agent": 404,
    "unknown_tool": 404,
    "unknown_graph": 404,
    "unknown_kind": 404,
    "method_not_allowed": 405,
    "not_acceptable": 406,
    # The state of things says no.
    "wrong_state": 409,
    "run_exists": 409,
    "client_driven_run": 409,
    "lease_held": 409,
    "divergence": 409,
    "needs_reconciliation": 409,
    "still_sleeping": 409,
    "call_id_reused": 409,
    "stale_base": 409,
    "change_open": 409,
    "last_admin": 409,
    "person_exists": 409,
    "runtime_exists": 409,
    "workspace_exists": 409,
    "verdict_given": 409,
    "quorum_missing": 409,
    "stale_digest": 412,
    "payload_too_large": 413,
    "unsupported_media_type": 415,
    # A rule says no.
    "unsupported_event_kind": 422,
    "answer_unread": 422,
    "continuation_unusable": 422,
    "offer_file_invalid": 422,
    "offer_refused": 422,
    "output_schema_refused": 422,
    "unknown_provider": 422,
    "egress_refused": 422,
    "finding_unacknowledged": 422,
    "nothing_to_review": 422,
    "offer_without_tool": 422,
    "tool_not_offered": 422,
    "tool_offered_twice": 422,
    "tool_reference_invalid": 422,
    "nothing_to_remove": 422,
    "reason_missing": 422,
    "reason_too_long": 422,
    "unstorable_text": 422,
    "bad_lease": 422,
    "bad_lifetime": 422,
    "bad_name": 422,
    "bad_scope": 422,
    "unknown_role": 422,
    "weak_password": 422,
    # A document is not what its kind asks for.
    "unknown_key": 422,
    "missing_key": 422,
    "wrong_type": 422,
    "unknown_effect": 422,
    "key_field_not_required": 422,
    "pinned_field_not_required": 422,
    "reserved_key_field": 422,
    "no_json_value": 422,
    "not_a_schema": 422,
    "not_utf8": 422,
    "not_toml": 422,
    "too_deep": 422,
    "rate_limited": 429,
    # We, or what we depend on, could not.
    "internal": 500,
    "model_execution": 502,
    "tool_execution": 502,
    "model_executor_unavailable": 503,
    "tool_registry_unavailable": 503,
}


def status_of(code: str) -> int:
    """The HTTP status of a refusal's code; a code that is not listed is a mistake in this program."""
    try:
        return STATUS[code]
    except KeyError:
        raise LookupError(f"The refusal code {code!r} has no line in salvor_admin/web/statuses.py.") from None
