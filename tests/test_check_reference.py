"""What `make check-reference` says of programs that agree, that do not, and that are not there."""

from __future__ import annotations

import json
import stat
import sys
from pathlib import Path

import pytest

from salvor_admin.domain import client_tools
from salvor_admin.domain.client_tools import ClientTool
from tests import check_reference

CLOCK = "744905571f953eae9dcedf3e40f2977eef41ca19f218e0f7e2435330a259399d"


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for variable in ("SALVOR_AGENTPLANE_BIN", "SALVOR_BIN"):
        monkeypatch.delenv(variable, raising=False)


def a_program(folder: Path, script: str) -> str:
    path = folder / "program"
    path.write_text(f"#!{sys.executable}\n{script}", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def lines_of(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_programs_that_are_not_installed_are_named_and_fail_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert check_reference.main() == 0
    first, second, last = lines_of(capsys)
    assert first.startswith("agentplane is not installed")
    assert second.startswith("salvor is not installed")
    assert last == "0 passed, 0 failed"


@pytest.mark.parametrize(
    ("digest", "code", "last"), [(CLOCK, 0, "1 passed, 0 failed"), ("0" * 64, 1, "0 passed, 1 failed")]
)
def test_a_digest_that_agentplane_prints_has_to_be_ours(
    digest: str,
    code: int,
    last: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = json.dumps({"digests": [{"digest": digest, "name": "clock-reader", "version": "1"}]})
    monkeypatch.setenv("SALVOR_AGENTPLANE_BIN", a_program(tmp_path, f"print({said!r})\n"))
    ours = [each for each in check_reference.written_manifests() if each[1][0].digest == CLOCK][:1]
    monkeypatch.setattr(check_reference, "written_manifests", lambda: iter(ours))
    assert check_reference.main() == code
    assert lines_of(capsys)[-1] == last


def test_a_manifest_that_agentplane_refuses_is_told_with_its_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refuses = "import sys\nsys.exit('agentplane: spec.tools: no such thing')\n"
    monkeypatch.setenv("SALVOR_AGENTPLANE_BIN", a_program(tmp_path, refuses))
    ours = list(check_reference.written_manifests())
    assert len(ours) > 250
    monkeypatch.setattr(check_reference, "written_manifests", lambda: iter(ours[:2]))
    assert check_reference.main() == 1
    lines = lines_of(capsys)
    assert lines[-1] == "0 passed, 2 failed"
    assert any("refused: agentplane: spec.tools: no such thing" in line for line in lines)


def test_a_salvor_that_does_not_come_up_is_a_failure_with_its_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SALVOR_BIN", a_program(tmp_path, "import sys\nsys.exit('error: unexpected argument')\n"))
    assert check_reference.main() == 1
    lines = lines_of(capsys)
    assert lines[-1] == "0 passed, 1 failed"
    assert any("it did not come up: error: unexpected argument" in line for line in lines)


SERVES = """
import http.server, json, sys, tomllib
files = [sys.argv[at + 1] for at, word in enumerate(sys.argv) if word == "--client-tool"]
tables = [tomllib.load(open(file, "rb")) for file in files]
body = json.dumps({"client_tools": [change(table) for table in tables]}).encode()
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200 if self.path == "/v1/client-tools" else 404)
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(f"salvor control plane listening on http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
"""


def a_tool(name: str) -> ClientTool:
    return client_tools.from_toml(
        f"name = '{name}'\neffect = 'write'\ntrust_completion = true\n[input_schema]\n".encode()
    )


@pytest.mark.parametrize(
    ("change", "last"),
    [
        ("lambda table: table", "2 passed, 0 failed"),
        ("lambda table: table | {'effect': 'read'} if table['name'] == 'one' else table", "1 passed, 1 failed"),
        ("lambda table: table | {'name': 'three'} if table['name'] == 'one' else table", "1 passed, 2 failed"),
    ],
)
def test_each_tool_that_salvor_lists_has_to_be_as_we_list_it(
    change: str, last: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SALVOR_BIN", a_program(tmp_path, f"change = {change}\n{SERVES}"))
    monkeypatch.setattr(check_reference, "exported_tools", lambda: [a_tool("one"), a_tool("two")])
    assert check_reference.main() == (0 if last.endswith(" 0 failed") else 1)
    assert lines_of(capsys)[-1] == last


def test_every_recorded_kind_of_client_tool_is_exported_and_each_name_once() -> None:
    tools = check_reference.exported_tools()
    assert len(tools) > 50
    assert len({tool.name for tool in tools}) == len(tools)
