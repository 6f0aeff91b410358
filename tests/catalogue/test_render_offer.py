from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tests.domain.agentplane_vectors import cases
from tests.domain.providers.recorded_offers import TARGETS

ROOT = Path(__file__).parent.parent.parent
RENDERED = [
    pytest.param(row["tools"], target, recorded["member_text"], id=f"{target}: {row['name']}"[:80])
    for row in cases("rendering")
    for target, recorded in row["rendered"].items()
    if "output_schema_text" not in row
]


def run(path: Path, *options: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command("render_offer", str(path), *options, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def a_file(folder: Path, tools: Any) -> Path:
    path = folder / "offer.json"
    path.write_text(json.dumps(tools), encoding="utf-8")
    return path


LONG = [{"name": "n" * 65, "description": "Do it.", "parameters_text": '{"type":"object","properties":{}}'}]


@pytest.mark.parametrize(("tools", "target", "member_text"), RENDERED)
def test_as_the_reference_an_offer_is_printed_as_it_was_sent(
    tools: Any, target: str, member_text: str | None, tmp_path: Path
) -> None:
    out, _ = run(a_file(tmp_path, tools), "--provider", TARGETS[target].name, "--as-reference")
    assert out == f"{member_text or 'null'}\n"


def test_an_offer_that_the_provider_would_reject_is_refused_with_nothing_printed(tmp_path: Path) -> None:
    out = io.StringIO()
    with pytest.raises(CommandError) as error:
        call_command("render_offer", str(a_file(tmp_path, LONG)), "--provider", "openai-chat", stdout=out)
    assert "65 characters" in str(error.value)
    assert out.getvalue() == ""


def test_as_the_reference_it_is_printed_and_the_reason_goes_to_the_other_stream(tmp_path: Path) -> None:
    out, err = run(a_file(tmp_path, LONG), "--provider", "openai-chat", "--as-reference")
    assert json.loads(out)[0]["function"]["name"] == "n" * 65
    assert "name_too_long" in err


def test_for_machines_a_refusal_is_one_json_document(tmp_path: Path) -> None:
    out = io.StringIO()
    with pytest.raises(CommandError):
        call_command(
            "render_offer", str(a_file(tmp_path, LONG)), "--provider", "bedrock", "--format", "json", stdout=out
        )
    refusal = json.loads(out.getvalue())["refusal"]
    assert (refusal["code"], refusal["place"]) == ("offer_refused", "/0/name")
    assert [each["code"] for each in refusal["findings"]] == ["name_too_long"]


@pytest.mark.parametrize(
    ("tools", "provider", "code"),
    [([{"nome": "a"}], "gemini", "offer_file_invalid"), (LONG, "palm", "unknown_provider")],
)
def test_a_bad_file_and_an_unknown_provider_are_refused(tools: Any, provider: str, code: str, tmp_path: Path) -> None:
    with pytest.raises(CommandError) as error:
        run(a_file(tmp_path, tools), "--provider", provider)
    assert f"[{code}]" in str(error.value)


def test_a_file_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(CommandError) as error:
        run(tmp_path / "gone.json", "--provider", "gemini")
    assert "cannot be opened" in str(error.value)
    assert "\n" not in str(error.value)


def test_a_refusal_ends_with_status_1_and_no_database_is_asked(tmp_path: Path) -> None:
    nowhere = {**os.environ, "SALVOR_DATABASE_URL": "postgres://nobody@127.0.0.1:1/none"}
    command = [sys.executable, "manage.py", "render_offer", str(a_file(tmp_path, LONG)), "--provider", "gemini"]
    refused = subprocess.run(command, env=nowhere, capture_output=True, text=True, cwd=ROOT)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("CommandError: ")
    assert refused.stderr.count("\n") == 1
