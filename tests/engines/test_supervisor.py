"""Services are kept running, ended in order, and never mistaken for somebody else's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from salvor_admin.engines import Engines, State
from salvor_admin.engines.processes import sighting, wait_until
from salvor_admin.home.supervisor import Service, Supervisor, end_left_overs, left_overs

FOREVER = "import time; time.sleep(600)"
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
WITH_A_CHILD = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', {FOREVER!r}]); time.sleep(600)"


def a_service(program: str = FOREVER, name: str = "web") -> Service:
    return Service(name, [sys.executable, "-c", program], "-c")


@pytest.fixture
def supervise(tmp_path: Path) -> Iterator[Callable[..., Supervisor]]:
    made: list[Supervisor] = []

    def make(*services: Service, engines: Engines | None = None) -> Supervisor:
        state = engines.state if engines else State(tmp_path / "state")
        state.prepare()
        said: list[str] = []
        supervisor = Supervisor(state, services, engines=engines, say=said.append)
        supervisor.said = said  # type: ignore[attr-defined]
        made.append(supervisor)
        return supervisor

    yield make
    for supervisor in made:
        supervisor.hurried.set()
        supervisor.stop()


def pid_of(supervisor: Supervisor, name: str = "web") -> int:
    return int((supervisor.state.folder / f"{name}.pid").read_text().split()[0])


def looked(supervisor: Supervisor, reached: Callable[[], bool]) -> bool:
    def look() -> bool:
        supervisor.look()
        return reached()

    return wait_until(look, 15)


def test_every_service_runs_and_is_named_by_its_pid_file(supervise):
    supervisor = supervise(a_service(name="web"), a_service(name="worker"))
    supervisor.start()
    named = {pid_of(supervisor, "web"), pid_of(supervisor, "worker")}
    assert {seen.pid for seen in left_overs(supervisor.state)} == named


def test_a_killed_service_is_started_again_after_a_pause(supervise):
    supervisor = supervise(a_service())
    supervisor.start()
    killed = pid_of(supervisor)
    os.kill(killed, signal.SIGKILL)
    assert looked(supervisor, lambda: pid_of(supervisor) != killed)
    assert sighting(pid_of(supervisor)) is not None
    assert supervisor.said == ["web ended (signal 9); starting it again in 0.5 s."]


def test_a_service_that_keeps_dying_is_started_less_and_less_often(supervise):
    supervisor = supervise(a_service("raise SystemExit(3)"))
    supervisor.start()
    assert looked(supervisor, lambda: len(supervisor.said) == 2)
    assert [line.rsplit(" in ")[1] for line in supervisor.said] == ["0.5 s.", "1 s."]
    assert "exit 3" in supervisor.said[0]


def test_what_a_killed_service_had_started_ends_before_it_starts_again(supervise):
    supervisor = supervise(a_service(WITH_A_CHILD))
    supervisor.start()
    assert wait_until(lambda: len(left_overs(supervisor.state)) == 2, 10)
    first = pid_of(supervisor)
    orphan = next(seen for seen in left_overs(supervisor.state) if seen.pid != first)
    os.kill(first, signal.SIGKILL)
    assert looked(supervisor, lambda: pid_of(supervisor) != first)
    assert not orphan.alive()


def test_a_stop_ends_every_service_and_what_it_started(supervise):
    supervisor = supervise(a_service(WITH_A_CHILD), a_service(name="worker"))
    supervisor.start()
    assert wait_until(lambda: len(left_overs(supervisor.state)) == 3, 10)
    supervisor.stop()
    assert left_overs(supervisor.state) == []
    assert list(supervisor.state.folder.glob("*.pid")) == []


def test_who_asks_twice_does_not_wait_for_a_deaf_service(supervise):
    supervisor = supervise(a_service(DEAF))
    supervisor.start()
    supervisor.leave()
    assert (supervisor.leaving.is_set(), supervisor.hurried.is_set()) == (True, False)
    supervisor.leave()
    supervisor.stop()
    assert left_overs(supervisor.state) == []


def test_services_of_a_killed_up_are_ended_by_the_next_even_without_pid_files(supervise):
    supervisor = supervise(a_service(WITH_A_CHILD))
    supervisor.start()
    assert wait_until(lambda: len(left_overs(supervisor.state)) == 2, 10)
    (supervisor.state.folder / "web.pid").unlink()
    end_left_overs(supervisor.state, {"web": "-c"}, say=supervisor.said.append)
    assert supervisor.said == ["Ending 2 processes that an earlier start left behind."]
    assert left_overs(supervisor.state) == []


def test_a_service_ends_with_the_up_that_was_killed(tmp_path):
    state = State(tmp_path / "state")
    state.prepare()
    start = (
        "import os, signal, sys; from salvor_admin.engines import State;"
        "from salvor_admin.home.supervisor import Service, Supervisor;"
        f"s = Supervisor(State(sys.argv[1]), [Service('web', [sys.executable, '-c', {FOREVER!r}], '-c')],"
        "engines=None, say=print); s.start(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", start, str(state.folder)], check=False)
    assert wait_until(lambda: left_overs(state) == [], 10)


def test_services_of_another_state_and_strangers_are_left_alone(supervise, tmp_path):
    mine = supervise(a_service())
    mine.start()
    other = State(tmp_path / "state-two")
    other.prepare()
    (other.folder / "web.pid").write_text(f"{pid_of(mine)}\nanother time\n")
    with subprocess.Popen([sys.executable, "-c", FOREVER]) as stranger:
        end_left_overs(other, {"web": "-c"}, say=mine.said.append)
        assert (mine.said, stranger.poll()) == ([], None)
        stranger.kill()
    assert len(left_overs(mine.state)) == 1


def test_a_killed_database_is_started_again_beside_the_services(supervise, engines):
    engines.ensure()
    supervisor = supervise(engines=engines)
    killed = engines.running()["postgres"]
    os.kill(killed, signal.SIGKILL)
    assert wait_until(lambda: engines.missing() == ["postgres"], 10)
    assert looked(supervisor, lambda: engines.missing() == [])
    assert engines.running()["postgres"] != killed
    assert supervisor.said == ["postgres ended; starting again."]
