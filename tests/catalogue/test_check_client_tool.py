"""`manage.py check_client_tool`."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

GOOD = b'name = "stock_level"\neffect = "read"\n[input_schema]\ntype = "object"\n'


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "good.toml").write_bytes(GOOD)
    (tmp_path / "bad.toml").write_bytes(b'effect = "read"\nname = 5\n')
    return [str(tmp_path / name) for name in ("good.toml", "bad.toml", "gone.toml")]


def as_json(*files: str) -> tuple[Any, bool]:
    """What a machine is told, and whether the command says it went well."""
    out = StringIO()
    try:
        call_command("check_client_tool", *files, format="json", stdout=out, stderr=StringIO())
    except CommandError:
        return json.loads(out.getvalue()), False
    return json.loads(out.getvalue()), True


def test_a_good_file_is_accepted_with_its_name_and_digest(files: list[str]) -> None:
    told, went_well = as_json(files[0])
    assert went_well
    [report] = told["files"]
    assert list(report) == ["file", "accepted", "refusal", "name", "digest", "findings"]
    assert (report["file"], report["accepted"], report["refusal"], report["name"]) == (
        files[0],
        True,
        None,
        "stock_level",
    )
    # SHA-256 of {"effect":"read","input_schema":{"type":"object"},"name":"stock_level","notes":{},"trust_completion":false}
    assert report["digest"] == "sha256:ee0e77e29e6fe63f0e74a91a2a7b3f9b71e54e981729e61ee3ddf8733921abae"


def test_each_refused_file_is_told_with_code_message_and_place(files: list[str]) -> None:
    told, went_well = as_json(*files)
    assert not went_well
    assert [report["accepted"] for report in told["files"]] == [True, False, False]
    assert [report["refusal"]["code"] for report in told["files"][1:]] == ["wrong_type", "not_found"]
    assert told["files"][1]["refusal"]["place"] == "/name"
    assert "line 2" in told["files"][1]["refusal"]["message"].lower()
    assert told["files"][1]["digest"] is None


def test_people_are_told_one_line_a_file(files: list[str]) -> None:
    out, err = StringIO(), StringIO()
    with pytest.raises(CommandError, match="2 of 3 files refused"):
        call_command("check_client_tool", *files, stdout=out, stderr=err)
    assert out.getvalue().startswith(f"{files[0]}: stock_level sha256:")
    assert [line.split(": ")[0] for line in err.getvalue().splitlines() if "[" in line] == files[1:]
