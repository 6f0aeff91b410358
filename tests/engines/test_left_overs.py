"""What a kill leaves behind is taken over or ended; a stranger is never signalled."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import psutil
import psycopg
import pytest

from salvor_admin.engines.processes import PidFile, Sighting, sighting, wait_until
from tests.engines.conftest import ask, tell


@pytest.fixture
def stranger() -> Iterator[subprocess.Popen]:
    """A process of somebody else's, which ignores nothing: any signal would end it."""
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


def test_engines_of_a_killed_launcher_are_taken_over(engines, state_dir):
    start = (
        "import os, signal, sys; from salvor_admin.engines import Engines;"
        "Engines(sys.argv[1], durable=False).ensure(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", start, str(state_dir)], check=False).returncode == -signal.SIGKILL
    left = engines.running()
    assert set(left) == {"postgres", "valkey"}
    assert ask(engines.ensure().database_url, "SELECT 1") == (1,)
    assert engines.running() == left
    assert engines.stop()
    assert not any(psutil.pid_exists(pid) and sighting(pid) for pid in left.values())


def test_engines_are_found_by_their_sockets_when_the_pid_files_are_lost(engines, state_dir):
    engines.ensure()
    running = engines.running()
    for name in ("postgres.pid", "valkey.pid"):
        (state_dir / name).unlink()
    assert engines.running() == running
    engines.ensure()
    assert {name: int((state_dir / f"{name}.pid").read_text().split()[0]) for name in running} == running


def test_a_killed_database_starts_again_with_everything_it_confirmed(make_engines):
    engines = make_engines(durable=True)
    url = engines.ensure().database_url
    tell(url, "CREATE TABLE confirmed AS SELECT 1 AS n")
    killed = engines.running()["postgres"]
    os.kill(killed, signal.SIGKILL)
    assert wait_until(lambda: engines.missing() == ["postgres"], 10)
    assert engines.ensure().database_url == url
    assert engines.running()["postgres"] != killed
    assert ask(url, "SELECT n FROM confirmed") == (1,)


def test_a_backend_that_outlives_its_killed_database_does_not_bar_the_next(engines):
    url = engines.ensure().database_url
    with psycopg.connect(url, autocommit=True) as connection:
        busy = connection.info.backend_pid

        def compute() -> None:
            with pytest.raises(psycopg.OperationalError):
                # Computing, not waiting: such a backend does not notice that its postmaster is gone.
                connection.execute("SELECT count(*) FROM generate_series(1, 1000000000)")

        thread = threading.Thread(target=compute)
        thread.start()
        state = f"SELECT state FROM pg_stat_activity WHERE pid = {busy}"
        assert wait_until(lambda: ask(url, state) == ("active",), 10)
        os.kill(engines.running()["postgres"], signal.SIGKILL)
        assert wait_until(lambda: engines.missing() == ["postgres"], 10)
        assert sighting(busy) is not None
        engines.ensure()
        thread.join(timeout=20)
    assert sighting(busy) is None
    assert ask(url, "SELECT 1") == (1,)


def test_a_killed_valkey_starts_again_at_the_same_url(engines):
    before = engines.ensure()
    os.kill(engines.running()["valkey"], signal.SIGKILL)
    assert wait_until(lambda: engines.missing() == ["valkey"], 10)
    assert engines.ensure() == before
    assert engines.missing() == []


@pytest.mark.parametrize("name", ["postgres", "valkey"])
def test_a_pid_that_now_belongs_to_somebody_else_is_never_signalled(engines, state_dir, stranger, name):
    engines.ensure()
    engines.stop()
    (state_dir / f"{name}.pid").write_text(f"{stranger.pid}\nsome other time\n")
    engines.ensure()
    assert engines.running()[name] != stranger.pid
    engines.stop()
    assert stranger.poll() is None


def test_a_lock_file_whose_pid_went_to_another_process_of_the_account_bars_no_start(engines):
    engines.ensure()
    engines.stop()
    account = engines.postgres.account
    with subprocess.Popen(["sleep", "600"], cwd="/", **account.options()) as other:
        lock = engines.postgres.cluster / "postmaster.pid"
        lock.write_text(f"{other.pid}\n{engines.postgres.cluster}\n")
        account.take(lock)
        engines.ensure()
        assert engines.running()["postgres"] != other.pid
        assert other.poll() is None
        other.kill()


def test_the_right_pid_and_time_with_another_command_is_not_ours(tmp_path, stranger):
    file = PidFile(tmp_path / "web.pid", "granian")
    file.write(stranger.pid)
    assert file.holder() is None
    assert PidFile(file.path, "sleep").holder() == sighting(stranger.pid)


def test_a_signal_reaches_only_the_life_it_was_meant_for(stranger):
    seen = sighting(stranger.pid)
    assert seen is not None
    earlier = Sighting(seen.pid, "an earlier start", seen.session)
    assert not earlier.send(signal.SIGKILL)
    assert not earlier.alive()
    assert stranger.poll() is None
    assert seen.send(signal.SIGKILL)
    assert seen.wait_gone(5)


@pytest.mark.parametrize("text", ["", "none\n", "12", "999999999\nx\n", "-1\nx\n", "1\n"])
def test_a_broken_pid_file_names_nobody(tmp_path, text):
    file = PidFile(tmp_path / "web.pid", "granian")
    file.path.write_text(text)
    assert file.holder() is None


def test_a_body_nobody_has_buried_counts_as_gone():
    with subprocess.Popen(["true"]) as process:
        assert wait_until(lambda: psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE, 10)
        assert sighting(process.pid) is None
