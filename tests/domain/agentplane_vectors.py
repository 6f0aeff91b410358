"""The recorded agentplane answers as test rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

VECTORS = Path(__file__).parent.parent / "vectors" / "agentplane"


def recorded(name: str) -> dict[str, Any]:
    """A whole vector file."""
    loaded: dict[str, Any] = json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


def cases(name: str) -> list[dict[str, Any]]:
    """The cases of a vector file, in file order."""
    rows: list[dict[str, Any]] = recorded(name)["cases"]
    assert rows, f"{name} holds no case"
    return rows


def case_name(row: dict[str, Any]) -> str:
    """A test id short enough for a terminal line."""
    return str(row["name"])[:80]
