"""The browser the tests bring along."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import browser_binary


def a_program(folder: Path, name: str, *, says: str = "Chromium 1.0", ends: int = 0) -> Path:
    folder.mkdir(exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\necho '{says}'\nexit {ends}\n")
    program.chmod(0o755)
    return program


def test_a_browser_on_the_path_is_taken_and_nothing_is_installed(tmp_path, monkeypatch):
    program = a_program(tmp_path / "bin", "google-chrome", says="Google Chrome 1.0")
    monkeypatch.setenv("PATH", str(program.parent))
    monkeypatch.setattr(browser_binary, "from_debian", lambda: pytest.fail("installed something"))
    assert browser_binary.on_path() == str(program)


def test_a_stub_that_does_not_start_is_passed_over(tmp_path, monkeypatch):
    a_program(tmp_path / "bin", "chromium", ends=1)
    works = a_program(tmp_path / "bin", "chromium-browser")
    monkeypatch.setenv("PATH", str(works.parent))
    assert browser_binary.on_path() == str(works)


def test_the_browser_named_in_the_environment_comes_first(tmp_path, monkeypatch):
    program = a_program(tmp_path, "mine")
    monkeypatch.setenv("SALVOR_CHROMIUM", str(program))
    assert browser_binary.provide() == str(program)


def test_a_named_browser_that_does_not_start_is_refused_and_no_other_taken(tmp_path, monkeypatch):
    monkeypatch.setenv("SALVOR_CHROMIUM", str(tmp_path / "gone"))
    with pytest.raises(browser_binary.NoBrowser, match=r"SALVOR_CHROMIUM names .*gone"):
        browser_binary.provide((browser_binary.named, lambda: pytest.fail("asked further")))


def test_the_first_way_that_finds_one_ends_the_search():
    assert browser_binary.provide((lambda: None, lambda: "/bin/one", lambda: "/bin/two")) == "/bin/one"


def test_without_any_browser_it_says_in_one_line_what_to_do():
    with pytest.raises(browser_binary.NoBrowser) as refused:
        browser_binary.provide((lambda: None, lambda: None))
    message = str(refused.value)
    assert "\n" not in message
    assert "apt-get install chromium" in message


def test_as_a_program_a_refusal_is_one_line_and_a_failing_exit(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "tests.browser_binary"],
        env={"SALVOR_CHROMIUM": str(tmp_path / "gone"), "PATH": "/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
