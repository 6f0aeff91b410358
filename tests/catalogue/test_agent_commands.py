"""The commands a team runs on its agents: `check_manifest`, `check_listing`, `judge_call` and `test_agent`."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

MANIFEST = """\
apiVersion: agentplane.hupe1980.github.io/v1alpha1
kind: Agent
metadata: { name: branch-desk, version: "2.1.0" }
spec:
  execution: { kind: tool-calling }
  security: { max_sensitivity_egress: internal }
  models: { privileged: { provider: anthropic, model: example-model-1 } }
  oversight: { approval: none, approvers: [desk-lead], deadline: { name: review, kind: hours, params: { n: 4 } } }
  tools:
    - { ref: "tool://catalogue/search", mutates: false, max_sensitivity: internal, description: Find items. }
    - ref: tool://loans/loan.extend
      max_sensitivity: internal
      description: Extend one loan.
      requires_approval: true
      protected_fields: [{ path: /weeks, one_of: [1, 2, 3] }]
    - ref: tool://loans/close
      max_sensitivity: internal
      description: Close one loan.
      protected_fields: [{ path: /id, one_of: [L1] }]
  budgets: {}
"""

CLOCK = """\
apiVersion: agentplane.hupe1980.github.io/v1alpha1
kind: Agent
metadata: {name: clock-reader, version: "1"}
spec: {tools: [{ref: tool://clock/now, mutates: false}], budgets: {}}
"""


def written(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def told(command: str, *words: str, **options: Any) -> tuple[Any, bool]:
    """What a machine is told, and whether the command says it went well."""
    out = StringIO()
    try:
        call_command(command, *words, format="json", stdout=out, stderr=StringIO(), **options)
    except CommandError:
        return json.loads(out.getvalue()), False
    return json.loads(out.getvalue()), True


def people_are_told(command: str, *words: str, **options: Any) -> tuple[str, bool]:
    out = StringIO()
    try:
        call_command(command, *words, stdout=out, stderr=StringIO(), **options)
    except CommandError:
        return out.getvalue(), False
    return out.getvalue(), True


def refuse_test(tmp_path: Path, calls: str) -> Any:
    written(tmp_path, "agent.yaml", MANIFEST)
    report, went_well = told("test_agent", written(tmp_path, "test.yaml", f"agent: agent.yaml\ncalls: {calls}\n"))
    assert not went_well
    return report["files"][0]["refusal"]


# --- check_manifest ----------------------------------------------------------------------------------------------------


def test_an_accepted_manifest_is_told_with_the_digest_that_agentplane_prints(tmp_path: Path) -> None:
    report, went_well = told("check_manifest", written(tmp_path, "clock.yaml", CLOCK))
    assert went_well
    assert report == {
        "files": [
            {
                "file": str(tmp_path / "clock.yaml"),
                "accepted": True,
                "refusal": None,
                "documents": [
                    {
                        "name": "clock-reader",
                        "version": "1",
                        "digest": "744905571f953eae9dcedf3e40f2977eef41ca19f218e0f7e2435330a259399d",
                    }
                ],
                "findings": [],
            }
        ]
    }


def test_a_refused_manifest_names_code_place_and_makes_the_command_fail(tmp_path: Path) -> None:
    bad = written(tmp_path, "bad.yaml", CLOCK.replace("mutates: false", "mutates: no"))
    report, went_well = told("check_manifest", bad, written(tmp_path, "good.yaml", CLOCK), str(tmp_path / "gone.yaml"))
    assert not went_well
    assert [each["accepted"] for each in report["files"]] == [False, True, False]
    first = report["files"][0]
    assert (first["refusal"]["code"], first["refusal"]["place"]) == ("manifest_structure", "/spec/tools/0/mutates")
    assert (first["documents"], first["findings"]) == ([], [])
    assert report["files"][2]["refusal"]["code"] == "not_found"


def test_a_grant_that_never_fires_is_found_but_not_refused(tmp_path: Path) -> None:
    never = MANIFEST.replace("max_sensitivity: internal, description", "description")
    report, went_well = told("check_manifest", written(tmp_path, "agent.yaml", never))
    assert went_well
    assert [
        (each["document"], each["code"], each["severity"], each["place"]) for each in report["files"][0]["findings"]
    ] == [("branch-desk", "grant_never_fires", "block", "/spec/tools/0/max_sensitivity")]


# --- check_listing -----------------------------------------------------------------------------------------------------

LOOKUP = {
    "name": "lookup",
    "description": "Find one customer.",
    "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
}


def listing(tmp_path: Path, *tools: Any) -> str:
    return written(tmp_path, "listing.json", json.dumps({"tools": list(tools)}))


def test_a_listed_tool_is_told_with_its_draft_and_digest(tmp_path: Path) -> None:
    report, went_well = told("check_listing", listing(tmp_path, LOOKUP), server="crm")
    assert went_well
    draft = {
        "ref": "tool://crm/lookup",
        "mutates": True,
        "description": "Find one customer.",
        "arguments": {**LOOKUP["inputSchema"], "additionalProperties": False},  # type: ignore[dict-item]
    }
    assert report["files"][0]["tools"] == [
        {
            "reference": "tool://crm/lookup",
            "accepted": True,
            "refusal": None,
            "listing_digest": "58d64f1759d59ecf1d94dc8928fad25408c7e53e2d03a5168ff51eeb43d40cfc",
            "draft": draft,
            "draft_kept": draft,
            "findings": [],
        }
    ]


def test_one_bad_tool_is_told_beside_the_good_ones(tmp_path: Path) -> None:
    hyphen = {**LOOKUP, "name": "get-order"}
    report, went_well = told("check_listing", listing(tmp_path, LOOKUP, {"name": "bad"}, hyphen), server="crm")
    assert not went_well
    tools = report["files"][0]["tools"]
    assert [(each["reference"], each["accepted"]) for each in tools] == [
        ("tool://crm/lookup", True),
        ("tool://crm/bad", False),
        ("tool://crm/get-order", False),
    ]
    assert [each["refusal"] and each["refusal"]["code"] for each in tools] == [
        None,
        "listing_unreadable",
        "tool_reference_invalid",
    ]
    assert tools[1]["refusal"]["place"] == "/tools/1/inputSchema"
    assert tools[1]["draft"] is None
    assert tools[2]["draft"]["ref"] == "tool://crm/get-order"


def test_one_name_listed_twice_makes_the_command_fail(tmp_path: Path) -> None:
    report, went_well = told("check_listing", listing(tmp_path, LOOKUP, LOOKUP), server="crm")
    assert not went_well
    assert [[each["code"] for each in tool["findings"]] for tool in report["files"][0]["tools"]] == [
        ["tool_listed_twice"],
        ["tool_listed_twice"],
    ]


def test_a_file_that_is_no_listing_is_told_as_a_whole(tmp_path: Path) -> None:
    report, went_well = told("check_listing", written(tmp_path, "odd.json", '{"tools": null}'), server="crm")
    assert not went_well
    assert (report["files"][0]["tools"], report["files"][0]["refusal"]["code"]) == ([], "listing_unreadable")


# --- judge_call --------------------------------------------------------------------------------------------------------


def case(**changes: Any) -> str:
    model_wrote = {"trust": "untrusted", "sensitivity": "internal", "provenance": ["model:p/m"]}
    whole = {
        "tool": "tool://loans/extend",
        "grant": {
            "ref": "tool://loans/extend",
            "max_sensitivity": "internal",
            "protected_fields": [{"path": "/weeks", "one_of": [1, 2]}],
        },
        "agent": {},
        "catalogue": "derived from the grant",
        "arguments": {"value_text": '{"weeks":2}', "label": model_wrote},
        "some": "member that is not known",
    }
    return json.dumps(whole | changes)


def test_a_judged_call_is_told_in_four_words_whatever_the_decision(tmp_path: Path) -> None:
    report, went_well = told("judge_call", written(tmp_path, "case.json", case()))
    assert went_well
    assert report == {"decision": "allow", "reason": None, "path": None, "told": None}
    other = case(arguments={"value_text": '{"weeks":2.0}', "label": {"trust": "untrusted", "sensitivity": "internal"}})
    report, went_well = told("judge_call", written(tmp_path, "case.json", other))
    assert went_well
    assert report == {
        "decision": "refuse",
        "reason": "field_value",
        "path": "/weeks",
        "told": "fixed refusal sentence",
    }


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"arguments": {"value_text": "{"}}, "/arguments/value_text"),
        ({"arguments": {"value_text": "{}", "label": {"trust": "maybe"}}}, "/arguments/label/trust"),
        ({"agent": {"max_sensitivity_egress": "low"}}, "/agent/max_sensitivity_egress"),
        ({"tool": 7}, "/tool"),
        ({"grant": {"ref": "tool://a/b", "mutates": "no"}}, "/grant/mutates"),
    ],
)
def test_a_case_that_cannot_be_read_is_refused_with_its_place(
    tmp_path: Path, changes: dict[str, Any], place: str
) -> None:
    report, went_well = told("judge_call", written(tmp_path, "case.json", case(**changes)))
    assert not went_well
    assert report["refusal"]["place"] == place


# --- test_agent --------------------------------------------------------------------------------------------------------

TEST = """\
agent: agent.yaml
calls:
  - { name: a search, tool: catalogue__search, arguments: { text: maps }, expect: allow }
  - { name: the same by reference, tool: "tool://catalogue/search", arguments: {}, expect: allow }
  - { name: a tool nobody granted, tool: loans__delete, arguments: {}, expect: refuse, reason: unknown_name }
  - { name: an extension, tool: loans__loan-extend, arguments: { weeks: 2 }, expect: hold }
  - { name: another loan, tool: loans__close, arguments: { id: L2 }, expect: refuse, reason: field_value }
  - name: a secret
    tool: loans__close
    arguments: { id: L1 }
    label: { trust: trusted, sensitivity: secret, provenance: [case:7] }
    expect: refuse
    reason: egress
"""


def test_calls_that_go_as_expected_pass_line_by_line(tmp_path: Path) -> None:
    written(tmp_path, "agent.yaml", MANIFEST)
    lines, went_well = people_are_told("test_agent", written(tmp_path, "test.yaml", TEST))
    assert went_well
    assert lines.splitlines() == [
        "ok      a search",
        "ok      the same by reference",
        "ok      a tool nobody granted",
        "ok      an extension",
        "ok      another loan",
        "ok      a secret",
        "6 passed, 0 failed",
    ]


def test_a_call_that_goes_otherwise_fails_with_what_was_expected_and_what_came(tmp_path: Path) -> None:
    written(tmp_path, "agent.yaml", MANIFEST)
    test = TEST.replace("{ id: L2 }, expect: refuse, reason: field_value", "{ id: L2 }, expect: allow")
    lines, went_well = people_are_told("test_agent", written(tmp_path, "test.yaml", test))
    assert not went_well
    assert "FAILED  another loan: expected allow, got refuse (field_value at /id)" in lines.splitlines()
    assert lines.splitlines()[-1] == "5 passed, 1 failed"


def test_a_right_refusal_for_a_wrong_reason_fails(tmp_path: Path) -> None:
    written(tmp_path, "agent.yaml", MANIFEST)
    report, went_well = told(
        "test_agent", written(tmp_path, "test.yaml", TEST.replace("reason: field_value", "reason: taint"))
    )
    assert not went_well
    assert (report["passed"], report["failed"]) == (5, 1)
    assert [each["name"] for each in report["files"][0]["cases"] if not each["passed"]] == ["another loan"]


@pytest.mark.parametrize(
    ("calls", "place"),
    [
        ("[]", "/calls"),
        ("[{name: a, tool: t, arguments: {}, expect: maybe}]", "/calls/0/expect"),
        ("[{name: a, tool: t, arguments: {}, expect: refuse, reason: rain}]", "/calls/0/reason"),
        ("[{name: a, tool: t, expect: refuse}]", "/calls/0"),
        ("[{name: a, tool: t, arguments: {}, expect: refuse, colour: red}]", "/calls/0/colour"),
        ("[{name: a, tool: t, arguments: {}, expect: refuse, label: {trust: no}}]", "/calls/0/label/trust"),
    ],
)
def test_a_test_file_that_says_nothing_clear_is_refused_with_its_place(tmp_path: Path, calls: str, place: str) -> None:
    refusal = refuse_test(tmp_path, calls)
    assert (refusal["code"], refusal["place"]) == ("test_file_invalid", place)


def test_a_missing_manifest_makes_the_test_fail(tmp_path: Path) -> None:
    report, went_well = told("test_agent", written(tmp_path, "test.yaml", TEST))
    assert not went_well
    assert report["files"][0]["refusal"]["code"] == "not_found"
