from __future__ import annotations

import re

import pytest

from salvor_admin.web.statuses import STATUS, status_of

# Contract 10.2 and the codes that the REST surface adds to it.
KNOWN = {
    400: "bad_request invalid_graph approval_schema_violation unknown_field",
    401: "unauthorized missing_drive_token",
    403: "invalid_drive_token client_completion_refused not_allowed own_revision",
    404: "unknown_run unknown_agent unknown_tool unknown_graph unknown_path not_found",
    405: "method_not_allowed",
    409: "run_exists wrong_state client_driven_run lease_held divergence needs_reconciliation still_sleeping "
    "call_id_reused",
    412: "stale_digest",
    413: "payload_too_large",
    422: "unsupported_event_kind",
    429: "rate_limited",
    500: "internal",
    502: "model_execution tool_execution",
    503: "model_executor_unavailable tool_registry_unavailable",
}


@pytest.mark.parametrize(("status", "codes"), KNOWN.items())
def test_each_code_has_the_status_its_contract_gives(status: int, codes: str) -> None:
    assert {code: status_of(code) for code in codes.split()} == dict.fromkeys(codes.split(), status)


def test_codes_are_snake_case_and_statuses_say_no() -> None:
    assert [code for code in STATUS if not re.fullmatch(r"[a-z]+(_[a-z0-9]+)*", code)] == []
    assert {code for code, status in STATUS.items() if not 400 <= status < 600} == set()


def test_a_code_without_a_status_is_named_as_our_mistake() -> None:
    with pytest.raises(LookupError, match="'made_up_code'"):
        status_of("made_up_code")
