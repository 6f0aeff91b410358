"""What the real server answered, played against the served product by the recorded player, as a program of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from tests.differences import EXCEEDS, TESTS

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts").glob("*.json"))
LISTED: dict[str, str] = EXCEEDS["cases"]["transcripts"]
FIRST_DIFFERENCE: dict[str, str] = EXCEEDS["first_difference"]
#: Every difference there may be, and what asks for it: nobody adds one by adding a line to `exceeds.json`.
ASKED_FOR = {
    "depth": "whatever is written can be read back",
    "envelope": "every error on /v1 carries the envelope",
    "identity_field": "the reference is dangerous there",
    "instants": "the reference is dangerous there",
    "judged_by_revision": "a published change breaks no call in flight",
    "leases_kept": "leases live in the database",
    "name": "the reference is dangerous there",
    "no_500": "an accident of the reference is refused, not copied",
    "no_json_value": "the reference is dangerous there",
    "no_schema": "the reference is dangerous there",
    "nothing_performed": "routes of what is not here answer as a server without it",
    "plain_events": "only the documented kinds are appended",
    "runs_list": "the list of runs takes limit, after and status",
    "schema_rule": "schemas are enforced in full",
    "settler_only": "a runtime's key never decides",
}
#: Generous, for a machine that is busy with other tests.
SECONDS = 900


def side_by_side(files: list[Path]) -> list[str]:
    """Transcripts that want the same tools after one another, so that tools are declared once for all of them."""

    def setting(path: Path) -> str:
        transcript = json.loads(path.read_text(encoding="utf-8"))
        return json.dumps([transcript["env"], transcript["declarations"]])

    return [str(path) for path in sorted(files, key=setting)]


def play(files: list[Path]) -> tuple[dict[str, str], str]:
    """What the player says of each transcript, "" when it passed; and all that was said."""
    ours = {"SALVOR_ENGINE_DIR"}
    environment = {name: value for name, value in os.environ.items() if name in ours or not name.startswith("SALVOR_")}
    command = [sys.executable, "-m", "tests.wire.served", *side_by_side(files)]
    with subprocess.Popen(
        command, cwd=TESTS.parent, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as served:
        try:
            out, err = served.communicate(timeout=SECONDS)
        except BaseException:
            served.terminate()
            raise
    told = re.findall(r"^(ok|FAIL) +([\w-]+)(?:: )?(.*)$", out, re.MULTILINE)
    return {name: "" if verdict == "ok" else difference for verdict, name, difference in told}, out + err


def test_the_transcripts_play_as_recorded_except_where_a_bullet_says_otherwise() -> None:
    played, said = play(TRANSCRIPTS)
    assert set(played) == {path.stem for path in TRANSCRIPTS}, said
    differing = {name: difference for name, difference in played.items() if difference}
    assert differing.keys() - LISTED.keys() == set(), said
    assert LISTED.keys() - differing.keys() == set(), "listed in exceeds.json, and played as recorded"
    elsewhere = {name: why for name, why in differing.items() if not why.startswith(FIRST_DIFFERENCE[name])}
    assert elsewhere == {}, said


def test_the_listed_transcripts_exist_and_say_where_they_differ_first() -> None:
    assert len(TRANSCRIPTS) == 91
    assert set(LISTED) <= {path.stem for path in TRANSCRIPTS}
    assert set(FIRST_DIFFERENCE) == set(LISTED)


def test_every_bullet_was_asked_for_and_stands_in_the_documentation() -> None:
    documented = re.findall(r"^- \*\*`(\w+)`\*\*", (TESTS.parent / "docs" / "wire.md").read_text(), re.MULTILINE)
    assert sorted(documented) == sorted(ASKED_FOR)
    assert set(EXCEEDS["bullets"]) <= set(ASKED_FOR)
    assert set(LISTED.values()) <= set(EXCEEDS["bullets"])


def test_every_bullet_listed_answers_for_something_recorded() -> None:
    answered = {bullet for listed in EXCEEDS["cases"].values() for bullet in listed.values()}
    assert answered == set(EXCEEDS["bullets"])
