"""The recorded agentplane cases that are left out, by file and name, as `tests/exceeds.json` lists them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

LISTED: dict[str, list[dict[str, Any]]] = json.loads(
    (Path(__file__).parent.parent / "exceeds.json").read_text(encoding="utf-8")
)["left_out_of_agentplane"]

LEFT_OUT: dict[str, frozenset[str]] = {
    name: frozenset(case for entry in entries for case in entry["cases"]) for name, entries in LISTED.items()
}
