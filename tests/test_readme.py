"""What the papers say is there is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.core.management import get_commands

from salvor_admin.domain.findings.finding import Severity
from salvor_admin.domain.review import Kind
from salvor_admin.domain.rights import Role
from salvor_admin.domain.settling import Outcome

ROOT = Path(__file__).resolve().parent.parent
HOUSE = ROOT / "salvor_admin"
README = (ROOT / "README.md").read_text()
PAPERS = [
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    *(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/**/*.md")),
]


def section(heading: str) -> str:
    return README.split(f"## {heading}\n", 1)[1].split("\n## ", 1)[0]


def mapped() -> dict[str, str]:
    return dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", section("Map of `salvor_admin/`"), re.M))


def test_the_map_names_exactly_the_folders_of_the_house() -> None:
    folders = {path.name for path in HOUSE.iterdir() if path.is_dir() and not path.name.startswith("__")}
    assert folders == set(mapped())


def test_the_map_calls_exactly_those_folders_empty_that_are() -> None:
    written = {path.relative_to(HOUSE).parts[0] for path in HOUSE.glob("*/**/*.py") if path.stat().st_size}
    assert {name for name, words in mapped().items() if "empty so far" in words} == set(mapped()) - written


@pytest.mark.parametrize("paper", PAPERS)
def test_every_file_that_a_paper_names_is_there(paper: str) -> None:
    text = (ROOT / paper).read_text()
    named = re.findall(r"`((?:salvor_admin|tests|docs|\.ci)/[\w./-]+)`", text)
    named += re.findall(r"\]\(((?!http)[^)#]+)\)", text)
    assert [
        name for name in named if not (ROOT / name).exists() and not (ROOT / paper).parent.joinpath(name).exists()
    ] == []


def test_every_target_of_make_that_is_named_exists() -> None:
    known = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M)
    named = {name for paper in PAPERS for name in re.findall(r"`make ([a-z-]+)", (ROOT / paper).read_text())}
    assert {"up", "demo", "test", "check"} <= named <= set(known)


def test_every_command_that_is_named_exists() -> None:
    named = set(re.findall(r"manage\.py (\w+)", README)) | set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", section("Run it")))
    assert {"up", "verify_audit", "import_client_tool"} <= named
    assert named - {"wire_payout"} <= set(get_commands())


def test_the_screenshot_is_light_enough_to_load() -> None:
    (shown,) = re.findall(r"!\[[^]]+\]\(([^)]+)\)", README)
    picture = ROOT / shown
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size < 200_000


def test_the_glossary_has_every_word_that_a_person_chooses_or_reads() -> None:
    glossary = (ROOT / "docs/glossary.md").read_text()
    words = [word.value for family in (Role, Kind, Outcome, Severity) for word in family]
    assert [word for word in words if word not in glossary and word.replace("_", " ") not in glossary] == []
