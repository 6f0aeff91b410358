"""Every refusal the program can raise has a status."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from salvor_admin.web.statuses import STATUS

SOURCES = sorted((Path(__file__).parent.parent / "salvor_admin").rglob("*.py"))
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
