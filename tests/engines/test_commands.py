"""Which commands start the engines, and what they leave behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from salvor_admin.engines import Engines, for_command, serving
from salvor_admin.engines.commands import needs_database

CHECKOUT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    "line",
    [
        "",
        "help",
        "--version",
        "check",
        "check_client_tool a.toml",
        "check_manifest a.yaml",
        "collectstatic --noinput",
        "makemigrations --check",
        "migrate --help",
        "up -h",
    ],
)
def test_a_command_that_needs_no_database_starts_none(line):
    assert not needs_database(["manage.py", *line.split()])


@pytest.mark.parametrize("line", ["up", "migrate", "create_person ada --roles author", "verify_audit", "shell"])
def test_every_other_command_gets_one(line):
    assert needs_database(["manage.py", *line.split()])


@pytest.fixture
def bare(monkeypatch, state_dir) -> Path:
    for name in ("SALVOR_DATABASE_URL", "SALVOR_REDIS_URL", "SALVOR_SECRET_KEY"):
        # Set and then removed, so that what the command line puts there goes with the test.
        monkeypatch.setenv(name, "x")
        monkeypatch.delenv(name)
    monkeypatch.setenv("SALVOR_STATE_DIR", str(state_dir))
    return state_dir


def test_a_command_finds_the_engines_in_its_environment_and_they_end_with_it(bare, make_engines):
    engines = make_engines()
    with for_command(["manage.py", "migrate"]):
        urls = engines.urls()
        assert os.environ["SALVOR_DATABASE_URL"] == urls.database_url
        assert os.environ["SALVOR_REDIS_URL"] == urls.redis_url
        assert set(engines.running()) == {"postgres", "valkey"}
        assert isinstance(serving(), Engines)
    assert engines.running() == {}
    assert serving() is None


def test_a_command_that_fails_ends_the_engines_too(bare, make_engines):
    engines = make_engines()
    with pytest.raises(SystemExit), for_command(["manage.py", "migrate"]):
        raise SystemExit(1)
    assert engines.running() == {}


def test_where_both_are_named_elsewhere_nothing_is_started(bare, monkeypatch):
    monkeypatch.setenv("SALVOR_DATABASE_URL", "postgresql://them@db.example/theirs")
    monkeypatch.setenv("SALVOR_REDIS_URL", "redis://cache.example/0")
    with for_command(["manage.py", "migrate"]):
        assert os.environ["SALVOR_DATABASE_URL"] == "postgresql://them@db.example/theirs"
        assert serving() is None
    assert [path.name for path in bare.iterdir() if path.suffix == ".pid"] == []


def test_the_secret_key_is_made_once_and_closed_to_others(bare, monkeypatch):
    with for_command(["manage.py", "check"]):
        first = os.environ.pop("SALVOR_SECRET_KEY")
    with for_command(["manage.py", "check"]):
        assert os.environ["SALVOR_SECRET_KEY"] == first
    assert len(first) >= 50
    assert (bare / "secret_key").stat().st_mode & 0o077 == 0


def test_without_a_writable_place_a_command_without_database_still_runs(bare, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SALVOR_STATE_DIR", str(tmp_path / "file" / "state"))
    with for_command(["manage.py", "check"]):
        assert "SALVOR_SECRET_KEY" not in os.environ


def test_the_launcher_brings_in_nothing_of_django():
    loaded = "import sys, salvor_admin.engines; print([name for name in sys.modules if name.startswith('django')])"
    said = subprocess.run([sys.executable, "-c", loaded], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


def test_an_engine_that_cannot_start_is_one_clear_line(bare, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    said = subprocess.run(
        [sys.executable, str(CHECKOUT / "manage.py"), "migrate"],
        env=os.environ | {"SALVOR_STATE_DIR": str(tmp_path / "file" / "state")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (said.returncode, said.stdout, said.stderr.count("\n")) == (1, "", 1)
    assert "SALVOR_STATE_DIR" in said.stderr
