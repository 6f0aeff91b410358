"""Where the recorded reference and we knowingly differ, as `tests/exceeds.json` lists it under bullets of docs/wire.md.

As a pytest plugin it prints the count of each bullet after a session that played the transcripts.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parent
EXCEEDS: dict[str, Any] = json.loads((TESTS / "exceeds.json").read_text(encoding="utf-8"))
PLAYED = "test_the_transcripts_play_as_recorded_except_where_a_bullet_says_otherwise"


def counts() -> Counter[str]:
    """How many recorded vectors and transcripts each bullet answers for."""
    return Counter(bullet for listed in EXCEEDS["cases"].values() for bullet in listed.values())


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if not any(report.nodeid.endswith(PLAYED) for report in terminalreporter.stats.get("passed", ())):
        return
    found = counts()
    terminalreporter.section("recorded answers that we knowingly give otherwise")
    for bullet in EXCEEDS["bullets"]:
        terminalreporter.write_line(f"{found[bullet]:4}  {bullet}")
