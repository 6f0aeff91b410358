"""The private PostgreSQL and Valkey of one state."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

from salvor_admin.engines import EngineError, Engines
from tests.engines.conftest import ask, tell


def mode(path: Path | str) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


def test_both_engines_answer_at_their_urls_and_listen_on_no_network(standing):
    urls = standing.urls()
    assert ask(urls.database_url, "SELECT current_user, current_database()") == ("salvor", "salvor_admin")
    assert redis.from_url(urls.redis_url).ping()
    running = standing.running()
    assert set(running) == {"postgres", "valkey"}
    assert [psutil.Process(pid).net_connections("inet") for pid in running.values()] == [[], []]


def test_an_installations_database_keeps_postgresqls_full_durability(standing):
    url = standing.urls().database_url
    found = [ask(url, f"SHOW {name}") for name in ("fsync", "synchronous_commit", "full_page_writes")]
    assert found == [("on",), ("on",), ("on",)]


def test_text_is_utf8_in_byte_order_and_time_is_utc(standing):
    url = standing.urls().database_url
    assert ask(url, "SHOW server_encoding") == ("UTF8",)
    assert ask(url, "SHOW timezone") == ("UTC",)
    assert ask(url, "SHOW max_connections") == ("100",)
    assert ask(url, "SELECT 'Z' < 'a', 'z' < 'ä', upper('ä')") == (True, True, "Ä")


def test_valkey_forgets_nothing_to_make_room(standing):
    client = redis.from_url(standing.urls().redis_url)
    assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}


def test_the_role_cannot_reach_out_of_the_database(standing):
    url = standing.urls().database_url
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        tell(url, "COPY (SELECT 1) TO PROGRAM 'cat'")


@pytest.mark.parametrize(
    "login",
    [
        pytest.param({"user": "salvor", "password": ""}, id="no password"),
        pytest.param({"user": "salvor", "password": "guess"}, id="a wrong password"),
        pytest.param({"user": "engine"}, id="the owner of the cluster"),
        pytest.param({"user": "postgres"}, id="the usual superuser"),
    ],
)
def test_nobody_gets_in_without_the_password(standing, login):
    url = standing.urls().database_url
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(url, **login)


def test_sockets_secrets_and_state_are_closed_to_others(standing):
    sockets = [standing.postgres.socket, standing.valkey.socket]
    assert [mode(socket.parent) for socket in sockets] == [0o700, 0o700]
    assert [mode(socket) for socket in sockets] == [0o700, 0o700]
    assert mode(standing.state.folder) == 0o700
    assert mode(standing.state.folder / "postgres.password") == 0o600


def test_no_password_stands_on_a_command_line(standing):
    password = (standing.state.folder / "postgres.password").read_text().strip()
    lines = [" ".join(psutil.Process(pid).cmdline()) for pid in standing.running().values()]
    assert len(lines) == 2
    assert not any(password in line for line in lines)


def test_the_database_survives_a_stop_and_the_urls_stay_as_they_were(engines):
    before = engines.ensure()
    tell(before.database_url, "CREATE TABLE kept AS SELECT 7 AS n")
    folders = [engines.postgres.socket.parent, engines.valkey.socket.parent]
    assert engines.stop()
    assert engines.running() == {}
    assert [folder.exists() for folder in folders] == [False, False]
    assert engines.ensure() == before
    assert ask(before.database_url, "SELECT n FROM kept") == (7,)


def test_a_very_long_state_path_works(make_engines, state_dir):
    urls = make_engines(state_dir / ("long" * 40) / "state").ensure()
    assert redis.from_url(urls.redis_url).ping()
    assert ask(urls.database_url, "SELECT 1") == (1,)


def test_one_state_under_two_names_is_one_state(standing, tmp_path):
    other_name = tmp_path / "other"
    other_name.symlink_to(standing.state.folder)
    assert Engines(other_name).running() == standing.running()


def test_two_users_share_and_the_last_one_out_stops(make_engines):
    first, second = make_engines(), make_engines()
    assert first.ensure() == second.ensure()
    running = first.running()
    assert not first.stop()
    assert second.running() == running
    assert second.stop()
    assert second.running() == {}


def test_several_first_starts_at_once_end_in_one_pair_of_engines(make_engines):
    users = [make_engines() for _ in range(4)]
    found = []
    threads = [
        threading.Thread(target=lambda user=user: found.append((user.ensure(), user.running()))) for user in users
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(one == found[0] for one in found)
    assert [user.stop() for user in users] == [False, False, False, True]


def test_a_user_that_was_killed_counts_no_longer(engines, state_dir):
    hold = (
        "import sys; from salvor_admin.engines import Engines; engines = Engines(sys.argv[1], durable=False);"
        "engines.ensure(); print('ready', flush=True); input()"
    )
    command = [sys.executable, "-c", hold, str(state_dir)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        running = engines.running()
        assert not engines.stop()
        other.kill()
    assert engines.running() == running
    assert engines.stop()
    assert engines.running() == {}


def test_a_database_named_elsewhere_is_left_to_itself(make_engines, monkeypatch):
    monkeypatch.setenv("SALVOR_DATABASE_URL", "postgresql://them@db.example/theirs")
    monkeypatch.delenv("SALVOR_REDIS_URL")
    engines = make_engines(elsewhere=True)
    urls = engines.ensure()
    assert urls.database_url == "postgresql://them@db.example/theirs"
    assert set(engines.running()) == {"valkey"}
    assert engines.missing() == []


def test_data_of_another_version_are_refused_and_left_alone(engines):
    engines.ensure()
    engines.stop()
    version = engines.postgres.cluster / "PG_VERSION"
    version.write_text("17\n")
    with pytest.raises(EngineError, match="of PostgreSQL 17, installed is 18"):
        engines.ensure()
    assert version.read_text() == "17\n"


def test_what_a_killed_first_start_left_half_made_is_made_anew(engines):
    engines.state.prepare()
    engines.postgres.account.make_folder(engines.postgres.folder)
    half = engines.postgres.folder / "data.new"
    half.mkdir()
    (half / "PG_VERSION").write_text("18\n")
    assert ask(engines.ensure().database_url, "SELECT 1") == (1,)
    assert not half.exists()


def test_a_state_folder_that_cannot_be_made_is_refused_in_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(EngineError, match="SALVOR_STATE_DIR") as refused:
        Engines(tmp_path / "file" / "state").ensure()
    assert "\n" not in str(refused.value)
