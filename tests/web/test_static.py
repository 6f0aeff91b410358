"""What the browser is given: our own files, one pinned script, nothing inline."""

from __future__ import annotations

import gzip
import hashlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
CSS = (ROOT / "static" / "console.css").read_text(encoding="utf-8")
SPRITE = set(re.findall(r'<symbol id="([a-z-]+)"', (ROOT / "static" / "icons.svg").read_text(encoding="utf-8")))

FORBIDDEN = {
    "inline style": r"\sstyle\s*=|<style",
    "inline script": r"<script(?![^>]*\ssrc=)",
    "event attribute": r"\son[a-z]+\s*=|hx-on",
    "address that is script": r"javascript:",
    "text taken as markup": r"\|\s*safe\b|autoescape\s+off|safeseq",
    "values built by hand for htmx": r"hx-(vals|headers|vars)\s*=[^>]*\{\{",
    "whole pages swapped by htmx": r"hx-boost",
    "another site": r'(src|href)="(https?:)?//',
}


def names(path: Path) -> str:
    return str(path.relative_to(ROOT / "templates"))


@pytest.mark.parametrize("path", TEMPLATES, ids=names)
def test_templates_bring_nothing_inline_and_trust_nothing(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert {what for what, pattern in FORBIDDEN.items() if re.search(pattern, text)} == set()


@pytest.mark.parametrize("path", TEMPLATES, ids=names)
def test_every_icon_a_template_names_is_drawn(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    used = set(re.findall(r'{% icon "([^"]+)"', text)) | set(re.findall(r'{% stamp "[^"]+" "([^"]+)"', text))
    assert used - SPRITE == set()


def test_the_checks_above_read_something() -> None:
    assert len(TEMPLATES) > 15
    assert {"mark", "check", "stop"} <= SPRITE


def test_the_vendored_script_is_the_one_its_list_names() -> None:
    vendor = ROOT / "static" / "vendor"
    listed = re.findall(r"\| `([^`]+)` \|.*\| `([0-9a-f]{64})` \|", (vendor / "README.md").read_text(encoding="utf-8"))
    assert {name: hashlib.sha256((vendor / name).read_bytes()).hexdigest() for name, _ in listed} == dict(listed)
    assert {path.name for path in vendor.glob("*.js")} == {name for name, _ in listed}


def test_colours_and_importance_stay_where_they_belong() -> None:
    tokens, rest = CSS.split("@layer base {", 1)
    assert re.findall(r"#[0-9a-f]{3,8}\b", rest) == []
    assert CSS.count("!important") == 1
    assert re.findall(r"(?m)^\s*#[a-z]", tokens + rest) == []
    assert re.findall(r"\b(margin|padding|border)-(left|right|top|bottom)\b", rest) == []


def test_what_a_first_page_loads_is_small() -> None:
    files = ["console.css", "console.js", "icons.svg", "mark.svg", "vendor/htmx.min.js"]
    assert sum(len(gzip.compress((ROOT / "static" / name).read_bytes())) for name in files) < 60_000
