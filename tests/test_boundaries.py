"""Imports go one way only, and the pure rules stay pure; each guard first proves that it scanned something."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

HOUSE = Path(__file__).resolve().parent.parent / "salvor_admin"
#: Lowest first: an app imports itself and what stands before it.
ORDER = [
    "domain",
    "web",
    "audit",
    "outbox",
    "people",
    "reviews",
    "catalogue",
    "discovery",
    "runtimes",
    "ledger",
    "settlement",
    "delivery",
    "wire",
    "api",
    "home",
]
#: These three are the outermost and never import each other.
OUTERMOST = {"wire", "api", "home"}
BANNED = {"utils", "helpers", "common", "core", "base", "misc", "manager"}
PURE = {
    "__future__",
    "abc",
    "ast",
    "base64",
    "bisect",
    "collections",
    "contextlib",
    "contextvars",
    "copy",
    "dataclasses",
    "datetime",
    "decimal",
    "enum",
    "fractions",
    "functools",
    "hashlib",
    "heapq",
    "io",
    "itertools",
    "json",
    "jsonschema",
    "jsonschema_specifications",
    "math",
    "operator",
    "re",
    "re2",
    "referencing",
    "ruamel",
    "salvor_admin",
    "string",
    "struct",
    "sys",
    "textwrap",
    "threading",
    "tomlkit",
    "tomllib",
    "types",
    "typing",
    "unicodedata",
    "urllib",
    "uuid",
    "weakref",
}


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*.py") if "migrations" not in path.parts]


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def crossings() -> list[tuple[Path, str, str]]:
    found = []
    for app in ORDER:
        for path in files(HOUSE / app):
            for name in imports(path):
                parts = name.split(".")
                if parts[0] == "salvor_admin" and len(parts) > 1 and parts[1] in ORDER and parts[1] != app:
                    found.append((path, app, parts[1]))
    return found


def test_the_guard_scans_every_app_and_sees_imports_between_them() -> None:
    seen = {(app, other) for _, app, other in crossings()}
    assert {("reviews", "people"), ("people", "audit"), ("ledger", "domain"), ("settlement", "ledger")} <= seen
    assert {path.name for path in HOUSE.iterdir() if path.is_dir() and not path.name.startswith("__")} == {
        *ORDER,
        "engines",
    }


def test_imports_go_one_way_only() -> None:
    wrong = [
        f"{path.relative_to(HOUSE)} imports {other}"
        for path, app, other in crossings()
        if ORDER.index(other) > ORDER.index(app) or (app in OUTERMOST and other in OUTERMOST)
    ]
    assert wrong == []


def test_the_pure_rules_import_nothing_that_acts() -> None:
    seen = {name.split(".")[0] for path in files(HOUSE / "domain") for name in imports(path)}
    assert {"salvor_admin", "dataclasses"} <= seen
    assert seen - PURE == set()


@pytest.mark.parametrize("name", ["time", "random", "secrets", "os", "socket", "django", "pathlib"])
def test_a_rule_that_would_act_is_caught(name: str) -> None:
    assert name not in PURE


def test_the_pure_rules_read_no_clock() -> None:
    calls = [
        path.name
        for path in files(HOUSE / "domain")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        and node.attr in {"now", "utcnow", "today"}
        and isinstance(node.value, ast.Name)
        and node.value.id in {"datetime", "date", "timezone"}
    ]
    assert calls == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    names = [path.stem for path in files(HOUSE)]
    assert len(names) > 60
    assert BANNED & set(names) == set()


def test_views_and_the_wire_store_nothing_themselves() -> None:
    writers = [
        f"{path.relative_to(HOUSE)}:{node.lineno}"
        for path in [*HOUSE.rglob("views.py"), *files(HOUSE / "wire"), *files(HOUSE / "api")]
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in {"save", "bulk_create", "update_or_create", "get_or_create", "bulk_update"}
    ]
    assert writers == []


def test_no_signal_and_no_save_override_hides_an_effect() -> None:
    hidden = []
    for path in files(HOUSE):
        tree = ast.parse(path.read_text())
        hidden += [f"{path.name} imports signals" for name in imports(path) if "signals" in name and "django" in name]
        hidden += [
            f"{path.name}:{node.lineno}"
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and node.name == "save" and path.name == "models.py"
        ]
    assert hidden == []
