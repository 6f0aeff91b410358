"""The real `agentplane` and `salvor`, where they are installed, read what we write and must understand what we do.

python -m tests.check_reference

Each is looked for on PATH; SALVOR_AGENTPLANE_BIN and SALVOR_BIN name one that lies elsewhere.
"""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from salvor_admin.domain import canonical, client_tools, manifests, strict_json
from salvor_admin.domain.client_tools import ClientTool
from salvor_admin.domain.manifests import Manifest
from salvor_admin.domain.refusals import Refusal

VECTORS = Path(__file__).parent / "vectors"
LONGEST_ANSWER = 60  # seconds a program may take for one file, or to come up


@dataclass(frozen=True, slots=True)
class Check:
    """One thing a program was asked: what went wrong, or nothing."""

    name: str
    wrong: str | None = None


def main() -> int:
    checks: list[Check] = []
    for program, variable, ask in (
        ("agentplane", "SALVOR_AGENTPLANE_BIN", ask_agentplane),
        ("salvor", "SALVOR_BIN", ask_salvor),
    ):
        binary = os.environ.get(variable) or shutil.which(program)
        if binary is None:
            print(f"{program} is not installed: not on PATH, and {variable} names none. Nothing was asked of it.")
            continue
        asked = list(_asked(binary, ask))
        checks += asked
        print(f"{program} ({binary}): {len(asked)} asked, {sum(each.wrong is not None for each in asked)} otherwise.")
    failed = [each for each in checks if each.wrong is not None]
    for each in failed:
        print(f"FAILED  {each.name}: {each.wrong}")
    print(f"{len(checks) - len(failed)} passed, {len(failed)} failed")
    return 1 if failed else 0


def _asked(binary: str, ask: Callable[[str, Path], Iterator[Check]]) -> Iterator[Check]:
    with tempfile.TemporaryDirectory() as folder:
        try:
            yield from ask(binary, Path(folder))
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            yield Check(binary, f"it could not be asked: {error}")


# --- agentplane ------------------------------------------------------------------------------------------------------

#: Texts that dumpers write so that agentplane reads something else (contract 9, X3 and X4).
AWKWARD_TEXTS = (
    *(
        "1e3",
        "1E3",
        "1e-3",
        "-1E3",
        ".5e3",
        "5.e3",
        "1.e3",
        "0.1e1",
        "+.5",
        "-.5",
        "08",
        "089",
        "0o17",
        "+0o7",
        "1e400",
    ),
    *("true", "tRue", "FALSE", "null", "nULL", "~", "", " ", "yes", "no", "on", "off", "y", "0x1F", "0X1f", "0B11"),
    *(
        ".inf",
        ".iNF",
        ".nan",
        "2024-01-01",
        "12:30:45",
        "<<",
        "- a",
        "? a",
        "a: b",
        "a #b",
        "# a",
        "%TAG",
        "---",
        "...",
    ),
    *("a\tb", "a\nb", "a\r\nb", "\u0085", "\u2028 \u2029", "\ufeff", "\ufffe\uffff", "\x7f", "\x80\x9f", "\x01"),
    *(
        "\U0001f600",
        "\U000e0041",
        "\ud7ff\ue000",
        "naïve “Köln”",
        "'",
        '"',
        "\\",
        "\\u0041",
        "${HOME}",
        "!include x",
        "&a *a",
    ),
)
AWKWARD_NUMBERS = (0, -0.0, 1, 1.0, 10.0, 1e3, 1e21, 1e-7, 2**53 + 1, 2**63 - 1, -(2**63), 2**64 - 1, 2.0**64, 5e-324)


def ask_agentplane(binary: str, folder: Path) -> Iterator[Check]:
    """Whether it accepts each manifest we write, and prints our digest for it."""
    for name, written in written_manifests():
        file = folder / "manifest.yaml"
        file.write_text(manifests.write_file(written), encoding="ascii")
        done = subprocess.run(
            [binary, "digest", str(file), "--json"], capture_output=True, text=True, timeout=LONGEST_ANSWER, check=False
        )
        if done.returncode != 0:
            yield Check(name, f"refused: {' '.join((done.stderr or done.stdout).split())[:300]}")
            continue
        ours = [{"digest": each.digest, "name": each.name, "version": each.version} for each in written]
        theirs = json.loads(done.stdout)["digests"]
        yield Check(name, None if theirs == ours else f"we say {ours}, it says {theirs}")


def written_manifests() -> Iterator[tuple[str, list[Manifest]]]:
    """Every manifest of the recorded files that is accepted, and some full of what is easily read otherwise."""
    for row in _cases("agentplane", "manifests"):
        if row["result"] == "accept":
            raw = base64.b64decode(row["bytes_base64"]) if "bytes_base64" in row else row["yaml_text"].encode()
            yield row["name"], manifests.read_file(raw)
    for text in AWKWARD_TEXTS:
        yield f"the text {text!a}", [_holding(text)]
    for number in AWKWARD_NUMBERS:
        yield f"the number {number!r}", [_holding(number)]


def _holding(value: Any) -> Manifest:
    """A manifest with the value as a description, as names and inside a schema, wherever a value of its kind may stand."""
    schema = {"type": "object", "additionalProperties": False, "properties": {}, "default": {"v": value}}
    grant: dict[str, Any] = {
        "ref": "tool://clock/now",
        "mutates": False,
        "arguments": schema,
        "protected_fields": [{"path": "/v", "one_of": [value]}],
    }
    if isinstance(value, str):
        grant["description"] = value
        schema["properties"] = {value: {"const": value}}
        grant["protected_fields"][0]["allowed_sources"] = [value]
    return manifests.from_value(
        {
            "apiVersion": manifests.agents.API_VERSION,
            "kind": manifests.agents.KIND,
            "metadata": {"name": "clock-reader", "version": "1"},
            "spec": {"tools": [grant], "budgets": {}},
        }
    )


# --- salvor ----------------------------------------------------------------------------------------------------------

_LISTENS = re.compile(r"listening on (http://\S+)")


def ask_salvor(binary: str, folder: Path) -> Iterator[Check]:
    """Whether `salvor serve` lists each client tool whose file we write as we list it."""
    tools = exported_tools()
    command = [binary, "serve", "--bind", "127.0.0.1:0", "--store", str(folder / "store.db")]
    for at, tool in enumerate(tools):
        file = folder / f"{at}.toml"
        file.write_text(client_tools.to_toml(tool, [f"number {at}"]), encoding="utf-8")
        command += ["--client-tool", str(file)]
    listed = {entry["name"]: entry for entry in _listing(command, folder)}
    for tool in tools:
        theirs = listed.pop(tool.name, None)
        ours = canonical.text(client_tools.listing_entry(tool))
        same = theirs is not None and canonical.text(theirs) == ours
        yield Check(tool.name, None if same else f"we list {ours}, it lists {canonical.text(theirs)}")
    for name in listed:
        yield Check(name, "it lists a tool we did not write")


def exported_tools() -> list[ClientTool]:
    """Every client tool of the recorded files that can be exported; of one name, the later ones are numbered."""
    tools: dict[str, ClientTool] = {}
    for row in _cases("salvor", "declarations"):
        if not row["loads"] or "toml_text" not in row:
            continue
        try:
            tool = client_tools.from_toml(row["toml_text"].encode())
            client_tools.to_toml(tool)
        except Refusal:
            continue
        name = tool.name if tool.name not in tools else f"{tool.name} {len(tools)}"
        tools[name] = replace(tool, name=name)
    return list(tools.values())


def _listing(command: list[str], folder: Path) -> list[Any]:
    errors = folder / "errors"
    with (
        errors.open("wb") as stderr,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True, cwd=folder) as server,
    ):
        try:
            assert server.stdout is not None
            for line in server.stdout:
                address = _LISTENS.search(line)
                if address is not None:
                    break
            else:
                said = errors.read_text(encoding="utf-8", errors="replace").strip()
                raise ValueError(f"it did not come up: {said[-300:]}")
            plain = urllib.request.build_opener(urllib.request.ProxyHandler({}))
            with plain.open(f"{address[1]}/v1/client-tools", timeout=LONGEST_ANSWER) as answer:
                body = strict_json.read(answer.read())
        finally:
            server.terminate()
    tools: list[Any] = body["client_tools"]
    return tools


def _cases(source: str, name: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((VECTORS / source / f"{name}.json").read_text(encoding="utf-8"))["cases"]
    return rows


if __name__ == "__main__":
    sys.exit(main())
