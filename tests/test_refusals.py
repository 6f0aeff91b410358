"""Every refusal the program can raise has a status, a line in docs/wire.md, and a test that names it."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

from salvor_admin.web.statuses import STATUS

TESTS = Path(__file__).parent
SOURCES = sorted((TESTS.parent / "salvor_admin").rglob("*.py"))
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in SOURCES}


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _refusal_classes() -> set[str]:
    known = {"Refusal"}
    classes = [node for tree in TREES.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    while found := {c.name for c in classes if c.name not in known and any(_name(base) in known for base in c.bases)}:
        known |= found
    return known


def _codes_in(tree: ast.AST, classes: set[str]) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or _name(node.func) not in classes:
            continue
        given = [keyword.value for keyword in node.keywords if keyword.arg == "code"] + node.args[:1]
        for part in ast.walk(given[0]) if given else ():
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                yield node.lineno, part.value


def raised_codes() -> dict[str, str]:
    """Each code that a Refusal is built with, and one place that does it."""
    classes = _refusal_classes()
    return {code: f"{path.name}:{line}" for path, tree in TREES.items() for line, code in _codes_in(tree, classes)}


def test_the_scan_finds_the_refusals() -> None:
    assert {"bad_request"} <= set(raised_codes())
    assert len(SOURCES) > 10


def test_every_code_that_is_raised_has_a_status() -> None:
    assert {code: place for code, place in raised_codes().items() if code not in STATUS} == {}


DOCUMENT = (TESTS.parent / "docs" / "wire.md").read_text(encoding="utf-8")
#: The last heading: codes that only keep their meaning.
ANSWERED, KEPT = DOCUMENT.split("### Kept for the words of the contract")


def documented(text: str) -> list[tuple[str, int]]:
    return [(code, int(status)) for code, status in re.findall(r"^\| `(\w+)` \| (\d{3}) \| \S", text, re.MULTILINE)]


def test_every_code_has_one_line_in_the_documentation_and_every_line_a_code() -> None:
    lines = documented(DOCUMENT)
    assert sorted(lines) == sorted(STATUS.items())
    assert len(lines) > 100


def test_codes_that_only_keep_their_meaning_are_raised_nowhere() -> None:
    assert {code for code, _ in documented(KEPT)} & set(raised_codes()) == set()


def test_every_code_that_is_answered_is_named_by_a_test() -> None:
    """The rules of a manifest are named by the recorded cases: `name-version` there is `manifest_name_version` here."""
    manifests = json.loads((TESTS / "vectors" / "agentplane" / "manifests.json").read_text(encoding="utf-8"))
    named = {f"manifest_{case['rule'].replace('-', '_')}" for case in manifests["cases"] if "rule" in case}
    # Python alone: a code that only stands in recorded answers has no test of ours.
    for path in sorted(TESTS.rglob("*.py")):
        if path != Path(__file__):
            named |= set(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    assert [code for code, _ in documented(ANSWERED) if code not in named] == []
