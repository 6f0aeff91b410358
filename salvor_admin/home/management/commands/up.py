"""`manage.py up`: everything this installation needs, until somebody ends it."""

from __future__ import annotations

import argparse
import fcntl
import http.client
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils.module_loading import import_string

from salvor_admin.engines import State, serving
from salvor_admin.engines.processes import PidFile
from salvor_admin.home import services, static_files
from salvor_admin.home.supervisor import Service, Supervisor, end_left_overs
from salvor_admin.people.services import NewPerson

#: Who waits longer than this for the first page should look at what the services say.
LONG = 30.0
#: The first page comes first; on a small machine the others would only be in its way.
AFTER_WEB = 1.5
#: Each service, and a word its command line holds.
WORDS = {"web": "granian", "worker": "celery", "beat": "celery", "demo": "demo_runtime"}


class Command(BaseCommand):
    help = "Start the database, the web server, the worker and the clock, and keep them running."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--demo", action="store_true", help="with people, tools, runtimes and calls to look at")
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--port", type=a_port, default=8000, help="0 takes any that is free")

    def handle(self, *args: Any, demo: bool, host: str, port: int, **options: Any) -> None:
        state = State()
        with only_one(state):
            end_left_overs(state, WORDS, say=self.say)
            port = free_port(host, port)
            public = os.environ.get("SALVOR_PUBLIC_URL", "").strip() or f"http://{bracketed(host)}:{port}"
            os.environ["SALVOR_PUBLIC_URL"] = public
            os.environ["SALVOR_STATE_DIR"] = str(state.folder)
            supervisor = Supervisor(state, wanted_services(host, port, demo=demo), engines=serving(), say=self.say)
            for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                # `nohup` has said already what a closed terminal means.
                if signal.getsignal(signum) is not signal.SIG_IGN:
                    signal.signal(signum, supervisor.leave)
            self.prepare(state, demo=demo)
            try:
                if not supervisor.leaving.is_set():
                    supervisor.start()
                    watch = threading.Thread(target=self.announce, args=(supervisor, host, port, public), daemon=True)
                    watch.start()
                    supervisor.keep()
            finally:
                supervisor.stop()
        self.say("Stopped.")

    def prepare(self, state: State, *, demo: bool) -> None:
        call_command("migrate", interactive=False, verbosity=0)
        static_files.collect_if_changed(state)
        if demo:
            import_string("salvor_admin.home.demo.ensure_demo")()
        services.create_first_admin(tell=self.tell_password)

    def tell_password(self, admin: NewPerson) -> None:
        self.say(f"First admin: {admin.person.username}   one-time password: {admin.one_time_password}")
        self.say("It is shown this once, and is to be changed at the first sign-in.")

    def announce(self, supervisor: Supervisor, host: str, port: int, public: str) -> None:
        """Say the URL once the first page can be had."""
        begun, warned = time.monotonic(), False
        while not supervisor.leaving.wait(0.1):
            if answers(host, port):
                self.say(f"Salvor Admin is ready: {public}/   (Ctrl-C ends it)")
                return
            if not warned and time.monotonic() - begun > LONG:
                warned = True
                self.say("No page yet; what the services say stands above.")

    def say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


def wanted_services(host: str, port: int, *, demo: bool) -> list[Service]:
    python = sys.executable
    celery = [python, "-m", "celery", "--quiet", "-A", "salvor_admin.celery"]
    quiet = {"PYTHONWARNINGS": "ignore:You're running the worker with superuser privileges"}
    web = [python, "-m", "granian", "--interface", "wsgi", "--host", host, "--port", str(port)]
    web += ["--workers", "2", "--blocking-threads", "4", "--no-ws", "--log-level", "warning"]
    web += ["--respawn-failed-workers", "--respawn-interval", "0.5", "--workers-kill-timeout", "10"]
    wanted = [
        Service("web", [*web, "salvor_admin.wsgi:application"], WORDS["web"]),
        Service(
            "worker",
            [*celery, "worker", "--loglevel", "WARNING", "--concurrency", "2", "--without-gossip", "--without-mingle"],
            WORDS["worker"],
            quiet,
            AFTER_WEB,
        ),
        # The schedule in memory only: a file of it is one more thing a kill can break, and the rows know what is due.
        Service(
            "beat",
            [*celery, "beat", "--loglevel", "WARNING", "--scheduler", "celery.beat:Scheduler"],
            WORDS["beat"],
            delay=AFTER_WEB,
        ),
    ]
    if demo:
        address = f"http://{bracketed(reachable(host))}:{port}"
        demo_runtime = [python, "-m", "salvor_admin.home.demo_runtime"]
        wanted.append(Service("demo", demo_runtime, WORDS["demo"], {"SALVOR_DEMO_URL": address}))
    return wanted


@contextmanager
def only_one(state: State) -> Iterator[None]:
    """One `up` a state; its lock ends with it, however that ends."""
    state.prepare()
    pid_file = PidFile(state.folder / "up.pid", "up")
    with open(state.folder / "up.lock", "a") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            seen = pid_file.holder()
            who = f" (pid {seen.pid})" if seen else ""
            raise CommandError(
                f"Salvor Admin is up already for {state.folder}{who}; stop that one, or name another SALVOR_STATE_DIR."
            ) from None
        pid_file.write(os.getpid())
        try:
            yield
        finally:
            pid_file.clear()


def a_port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text} is no port; say a number from 0 to 65535")
    return int(text)


def free_port(host: str, port: int) -> int:
    """The port, or for 0 one that is free; refused when somebody else listens there."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            return int(probe.getsockname()[1])
    except OSError as error:
        raise CommandError(
            f"{host} port {port} cannot be listened on ({error.strerror}); choose another with --port."
        ) from error


def bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def reachable(host: str) -> str:
    """Where a server that listens everywhere answers."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104


def answers(host: str, port: int) -> bool:
    connection = http.client.HTTPConnection(reachable(host), port, timeout=5)
    try:
        connection.request("GET", "/readyz", headers={"Host": "localhost"})
        return connection.getresponse().status < 400
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
