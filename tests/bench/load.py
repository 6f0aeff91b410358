"""The load: keep-alive connections that each send the next request as soon as the last one is answered.

A program of its own, so that it shares no interpreter with anything that is measured. It reads one JSON plan, then a
number of seconds a line, and answers each with one line of figures. Requests are bytes made beforehand where they can be.
"""

from __future__ import annotations

import json
import random
import select
import socket
import statistics
import sys
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

#: A connection's work: yields requests, is sent whole answers.
Work = Generator[bytes, bytes, None]


class Unexpected(RuntimeError):
    """An answer that the plan did not ask for: what is measured then is something else."""


class Connection:
    def __init__(self, port: int, work: Work) -> None:
        self.work = work
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.received = b""
        self.sent_at = 0.0
        self.waiting = next(work)

    def send(self) -> None:
        self.received = b""
        self.sent_at = time.perf_counter()
        self.socket.sendall(self.waiting)

    def receive(self) -> bytes | None:
        """The whole answer once it is there."""
        part = self.socket.recv(262144)
        if not part:
            raise Unexpected("the server closed a connection")
        self.received = self.received + part if self.received else part
        return self.received if is_whole(self.received) else None


def is_whole(answer: bytes) -> bool:
    head_ends = answer.find(b"\r\n\r\n")
    if head_ends < 0:
        return False
    head = answer[:head_ends].lower()
    at = head.find(b"content-length:")
    if at >= 0:
        length = int(head[at + 15 :].split(b"\r\n", 1)[0])
        return len(answer) >= head_ends + 4 + length
    if b"transfer-encoding: chunked" in head:
        return answer.endswith(b"\r\n0\r\n\r\n")
    return True


#: So many requests are waited for, however long they take: a median of fewer says little.
LEAST = 10


def run(connections: Sequence[Connection], seconds: float) -> dict[str, Any]:
    """Keep every connection busy for so long; answers how many requests and how long each took."""
    poll = select.epoll()
    by_number = {connection.socket.fileno(): connection for connection in connections}
    for number in by_number:
        poll.register(number, select.EPOLLIN)
    took: list[float] = []
    begun = time.perf_counter()
    until = begun + seconds
    last = begun
    for connection in connections:
        connection.send()
    busy = len(connections)
    while busy:
        events = poll.poll(30.0)
        if not events:
            raise Unexpected("the server did not answer for half a minute")
        for number, _ in events:
            connection = by_number[number]
            answer = connection.receive()
            if answer is None:
                continue
            now = time.perf_counter()
            connection.waiting = connection.work.send(answer)
            if now <= until or len(took) < LEAST:
                took.append(now - connection.sent_at)
                last = now
                connection.send()
            else:
                busy -= 1
    poll.close()
    elapsed = last - begun
    took.sort()
    return {
        "requests": len(took),
        "seconds": elapsed,
        "rate": len(took) / elapsed,
        "median": statistics.median(took),
        "p95": took[int(len(took) * 0.95)],
    }


def alternate(sides: Sequence[Connection], seconds: float) -> dict[str, Any]:
    """One request to the one, one to the other, for so long: what else the machine does then meets both alike."""
    took: list[list[float]] = [[] for _ in sides]
    until = time.perf_counter() + seconds
    while time.perf_counter() <= until or len(took[0]) < LEAST:
        for side, seen in zip(sides, took, strict=True):
            side.send()
            while (answer := side.receive()) is None:
                pass
            seen.append(time.perf_counter() - side.sent_at)
            side.waiting = side.work.send(answer)
    return {"requests": sum(map(len, took)), "medians": [statistics.median(seen) for seen in took]}


# --- what connections do ---------------------------------------------------------------------------------------------


def repeating(requests: Sequence[bytes], status: bytes, seed: int) -> Work:
    """Any of these requests, again and again; each must be answered with this status."""
    pick = random.Random(seed).choice
    expected = b"HTTP/1.1 " + status
    while True:
        answer = yield pick(requests)
        if not answer.startswith(expected):
            raise Unexpected(answer[:600].decode(errors="replace"))


@dataclass
class Driven:
    """A run that its driver goes on with."""

    run_id: str
    next_seq: int


class Runs:
    """Runs to pick at random from; nobody picks one that is in use, since one driver holds a run."""

    def __init__(self, runs: Sequence[Driven], seed: int) -> None:
        order = list(runs)
        random.Random(seed).shuffle(order)
        self.random = random.Random(seed)
        self.free = order

    def take(self) -> Driven:
        at = self.random.randrange(len(self.free))
        self.free[at], self.free[-1] = self.free[-1], self.free[at]
        return self.free.pop()

    def leave(self, run: Driven) -> None:
        self.free.append(run)


HEAD = (
    "POST /v1/client-runs/{run}/{what} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
    "X-Drive-Token: {drive}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
)


def calling(plan: dict[str, Any], runs: Runs, orders: Generator[int, None, None]) -> Work:
    """Intent, completion, on to another run: each call for an order of its own."""
    token, drive, tool = plan["token"], plan["drive"], plan["tool"]

    def request(run: str, what: str, body: str) -> bytes:
        return HEAD.format(run=run, what=what, token=token, drive=drive, length=len(body), body=body).encode()

    while True:
        run = runs.take()
        order = f"ord_{next(orders):012d}"
        asked = plan["input"].replace("ORDER", order)
        body = f'{{"seq":{run.next_seq},"tool":"{tool}","input":{asked}}}'
        answer = yield request(run.run_id, "client-tool-intent", body)
        if not answer.startswith(b"HTTP/1.1 200") or b'"settled":false' not in answer:
            raise Unexpected(answer[:600].decode(errors="replace"))
        output = plan["output"].replace("ORDER", order)
        body = f'{{"seq":{run.next_seq},"output":{output}}}'
        answer = yield request(run.run_id, "client-tool-completion", body)
        if not answer.startswith(b"HTTP/1.1 200"):
            raise Unexpected(answer[:600].decode(errors="replace"))
        run.next_seq += 2
        runs.leave(run)


def counting(first: int) -> Generator[int, None, None]:
    number = first
    while True:
        yield number
        number += 1


def connections_of(plan: dict[str, Any]) -> list[Connection]:
    number = plan.get("connections", 1)
    if "requests" in plan:
        requests = [request.encode() for request in plan["requests"]]
        work = [repeating(requests, str(plan["status"]).encode(), seed) for seed in range(number)]
    else:
        runs = Runs([Driven(*run) for run in plan["runs"]], seed=1)
        orders = counting(plan["first_order"])
        work = [calling(plan, runs, orders) for _ in range(number)]
    return [Connection(plan["port"], one) for one in work]


def main() -> int:
    plan = json.loads(sys.stdin.readline())
    try:
        go = alternate if "sides" in plan else run
        connections = [one for side in plan.get("sides", [plan]) for one in connections_of(side)]
        for line in iter(sys.stdin.readline, ""):
            print(json.dumps(go(connections, float(line))), flush=True)
    except (Unexpected, OSError) as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
