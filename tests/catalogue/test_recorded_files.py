"""The recorded agentplane answers once more, asked through the commands: members, words and exit codes."""

from __future__ import annotations

import base64
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from salvor_admin.domain import canonical, strict_json
from tests.domain.agentplane_vectors import case_name, cases
from tests.domain.left_out import LEFT_OUT

ROOT = Path(__file__).parent.parent.parent


def told(command: str, *words: str) -> tuple[Any, bool]:
    out, went_well = io.StringIO(), True
    try:
        call_command(command, *words, "--format", "json", stdout=out, stderr=io.StringIO())
    except CommandError:
        went_well = False
    return strict_json.read(out.getvalue().encode()), went_well


def test_check_manifest_judges_every_recorded_file_as_agentplane_did(tmp_path: Path) -> None:
    rows = cases("manifests")
    for at, row in enumerate(rows):
        raw = base64.b64decode(row["bytes_base64"]) if "bytes_base64" in row else row["yaml_text"].encode()
        (tmp_path / f"{at}.yaml").write_bytes(raw)
    report, went_well = told("check_manifest", *(str(tmp_path / f"{at}.yaml") for at in range(len(rows))))
    assert not went_well
    for row, file in zip(rows, report["files"], strict=True):
        assert file.keys() == {"file", "accepted", "refusal", "documents", "findings"}
        assert file["accepted"] is (row["result"] == "accept"), row["name"]
        assert file["documents"] == row.get("documents", []), row["name"]
        if file["accepted"]:
            assert file["refusal"] is None
        else:
            assert file["refusal"].keys() == {"code", "message", "place"}
            assert file["refusal"]["code"] == f"manifest_{row['rule'].replace('-', '_')}", row["name"]


@pytest.mark.parametrize("row", [row for row in cases("sink") if row["name"] not in LEFT_OUT["sink"]], ids=case_name)
def test_judge_call_says_what_was_recorded_in_the_recorded_words(row: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "case.json").write_text(json.dumps(row), encoding="utf-8")
    answer, went_well = told("judge_call", str(tmp_path / "case.json"))
    assert went_well
    assert answer == {
        "decision": row["decision"],
        "reason": row.get("reason"),
        "path": row.get("path"),
        "told": row.get("told_to_model"),
    }


ONE_PAGE = [
    row
    for row in cases("drafting")
    if row["listed"] and len(row["tools_list_results_text"]) == 1 and row["name"] not in LEFT_OUT["drafting"]
]


@pytest.mark.parametrize("row", ONE_PAGE, ids=case_name)
def test_check_listing_drafts_what_was_recorded(row: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "listing.json").write_text(row["tools_list_results_text"][0], encoding="utf-8")
    report, _ = told("check_listing", str(tmp_path / "listing.json"), "--server", row["server_alias"])
    (file,) = report["files"]
    for tool, recorded in zip(file["tools"], row["tools"], strict=True):
        assert tool.keys() == {
            "reference",
            "accepted",
            "refusal",
            "listing_digest",
            "draft",
            "draft_kept",
            "findings",
        }
        assert (tool["reference"], tool["listing_digest"]) == (recorded["reference"], recorded["listing_digest"])
        assert tool["accepted"] is recorded["reference_accepted"] is (tool["refusal"] is None)
        assert canonical.rfc8785(tool["draft"]) == recorded["grant_canonical_text"]


@pytest.mark.parametrize("row", [row for row in cases("drafting") if not row["listed"]], ids=case_name)
def test_check_listing_fails_where_agentplane_lost_the_listing(row: dict[str, Any], tmp_path: Path) -> None:
    if row["name"] in LEFT_OUT["drafting"]:
        return
    pages = []
    for at, text in enumerate(row["tools_list_results_text"]):
        (tmp_path / f"{at}.json").write_text(text, encoding="utf-8")
        pages.append(str(tmp_path / f"{at}.json"))
    report, went_well = told("check_listing", *pages, "--server", row["server_alias"])
    assert not went_well
    refusals = [tool["refusal"] for file in report["files"] for tool in file["tools"]]
    refusals += [file.get("refusal") for file in report["files"]]
    assert "listing_unreadable" in {refusal["code"] for refusal in refusals if refusal is not None}


CLOCK = """\
apiVersion: agentplane.hupe1980.github.io/v1alpha1
kind: Agent
metadata: {name: clock-reader, version: "1"}
spec: {tools: [{ref: tool://clock/now, mutates: false, max_sensitivity: internal}], budgets: {}}
"""
GOOD = {
    "check_manifest": CLOCK,
    "judge_call": '{"tool": "tool://a/b", "grant": null, "catalogue": "absent", "arguments": {"value": {}}}',
    "check_listing": '{"tools": []}',
    "render_offer": "[]",
    "test_agent": "agent: agent.yaml\ncalls: [{name: now, tool: clock__now, arguments: {}, expect: allow}]\n",
}
WORDS = {"check_listing": ["--server", "crm"], "render_offer": ["--provider", "gemini"]}


@pytest.mark.parametrize("command", GOOD)
def test_a_command_needs_no_database_and_says_by_its_exit_code_how_it_went(command: str, tmp_path: Path) -> None:
    (tmp_path / "agent.yaml").write_text(CLOCK, encoding="utf-8")
    (tmp_path / "good").write_text(GOOD[command], encoding="utf-8")
    (tmp_path / "bad").write_text("[[[", encoding="utf-8")
    nowhere = {**os.environ, "SALVOR_DATABASE_URL": "postgres://nobody@127.0.0.1:1/none"}
    for file, code in (("good", 0), ("bad", 1)):
        words = [sys.executable, "manage.py", command, str(tmp_path / file), *WORDS.get(command, [])]
        done = subprocess.run([*words, "--format", "json"], env=nowhere, capture_output=True, text=True, cwd=ROOT)
        assert done.returncode == code, done.stderr
        json.loads(done.stdout)
        assert "Traceback" not in done.stderr
