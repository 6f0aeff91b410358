from __future__ import annotations

import ipaddress
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from salvor_admin.domain.refusals import Refusal
from salvor_admin.web.egress import Address, EgressPolicy, client, is_public, parse_allowance


class Peer(BaseHTTPRequestHandler):
    seen: list[tuple[str, str]]

    def do_GET(self) -> None:
        type(self).seen.append((self.headers["Host"], self.path))
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path.removeprefix("/to/"))
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def peer() -> Iterator[tuple[int, list[tuple[str, str]]]]:
    handler = type("OnePeer", (Peer,), {"seen": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield server.server_address[1], handler.seen
    server.shutdown()
    server.server_close()
    thread.join()


def resolving(**names: str) -> Callable[[str, int], list[Address]]:
    def resolve(host: str, port: int) -> list[Address]:
        return [ipaddress.ip_address(text) for text in names[host.replace(".", "_")].split()]

    return resolve


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(Refusal) as raised:
        call()
    assert raised.value.code == "egress_refused"
    return raised.value.message


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "127.8.8.8", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
        "100.100.100.200", "192.0.0.1", "198.18.0.1", "203.0.113.9", "224.0.0.1", "240.0.0.1", "255.255.255.255",
        "::", "::1", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1", "::ffff:127.0.0.1", "::ffff:169.254.169.254",
        "2002:7f00:1::", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::a00:1", "2001:db8::1",
    ],
)  # fmt: skip
def test_an_address_inside_is_not_public(address: str) -> None:
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "93.184.215.14", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"]
)
def test_an_address_of_the_internet_is_public(address: str) -> None:
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    ("text", "name", "network", "port"),
    [
        ("Intranet.Example.", "intranet.example", None, None),
        ("intranet.example:8443", "intranet.example", None, 8443),
        ("10.1.0.0/16", "", "10.1.0.0/16", None),
        ("127.0.0.1:9000", "", "127.0.0.1/32", 9000),
        ("[::1]:9000", "", "::1/128", 9000),
        ("[::1]", "", "::1/128", None),
        ("fd00::/8", "", "fd00::/8", None),
    ],
)
def test_an_allowance_is_a_name_or_a_network(text: str, name: str, network: str | None, port: int | None) -> None:
    read = parse_allowance(text)
    assert (read.name, str(read.network) if read.network else None, read.port) == (name, network, port)


@pytest.mark.parametrize("text", ["", "*.example", "a/b", "host:0", "host:70000", "host:x", "user@host", "[::1]:99999"])
def test_an_odd_allowance_is_refused_at_start(text: str) -> None:
    with pytest.raises(ValueError):
        parse_allowance(text)


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example/",
        "ftp://hooks.example/",
        "https://user:secret@hooks.example/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://localhost/",
        "https://169.254.169.254/latest/meta-data/",
    ],
)
def test_what_leads_inside_or_is_not_https_is_never_called(url: str) -> None:
    with client(EgressPolicy()) as outside:
        refused(lambda: outside.get(url))


def test_a_name_is_judged_by_every_address_it_has() -> None:
    policy = EgressPolicy(resolve=resolving(mixed_example="1.1.1.1 10.0.0.1"))
    with client(policy) as outside:
        message = refused(lambda: outside.get("https://mixed.example/"))
    assert "10.0.0.1" not in message


def test_a_name_that_resolves_anew_is_judged_at_the_socket() -> None:
    answers = iter([[ipaddress.ip_address("127.0.0.1")]])
    policy = EgressPolicy(resolve=lambda host, port: list(next(answers)))
    policy.check_url(httpx.URL("https://rebinding.example/"))
    with client(policy) as outside:
        refused(lambda: outside.get("https://rebinding.example/"))


def test_an_allowed_host_is_called_at_the_checked_address_under_its_own_name(
    peer: tuple[int, list[tuple[str, str]]],
) -> None:
    port, seen = peer
    policy = EgressPolicy([f"hooks.example:{port}"], resolve=resolving(hooks_example="127.0.0.1"))
    with client(policy) as outside:
        assert outside.get(f"http://hooks.example:{port}/a").text == "ok"
    assert seen == [(f"hooks.example:{port}", "/a")]


def test_the_next_address_is_tried_when_one_does_not_answer(peer: tuple[int, list[tuple[str, str]]]) -> None:
    port, seen = peer
    policy = EgressPolicy(["hooks.example"], resolve=resolving(hooks_example="::1 127.0.0.1"))
    with client(policy) as outside:
        assert outside.get(f"http://hooks.example:{port}/").status_code == 200
    assert len(seen) == 1


def test_an_allowance_for_one_port_opens_no_other(peer: tuple[int, list[tuple[str, str]]]) -> None:
    port, seen = peer
    with client(EgressPolicy([f"127.0.0.1:{port + 1}"])) as outside:
        refused(lambda: outside.get(f"http://127.0.0.1:{port}/"))
    assert seen == []


def test_a_name_does_not_vouch_for_the_metadata_address() -> None:
    policy = EgressPolicy(["hooks.example"], resolve=resolving(hooks_example="169.254.169.254"))
    with client(policy) as outside:
        refused(lambda: outside.get("http://hooks.example/"))


def test_a_redirect_is_checked_like_a_first_request(peer: tuple[int, list[tuple[str, str]]]) -> None:
    port, seen = peer
    policy = EgressPolicy(
        [f"hooks.example:{port}"], resolve=resolving(hooks_example="127.0.0.1", inner_example="10.0.0.1")
    )
    with client(policy, follow_redirects=True) as outside:
        refused(lambda: outside.get(f"http://hooks.example:{port}/to/https://inner.example/"))
        refused(lambda: outside.get(f"http://hooks.example:{port}/to/http://127.0.0.1:{port}/b"))
    assert [path for _, path in seen] == ["/to/https://inner.example/", f"/to/http://127.0.0.1:{port}/b"]


def test_proxies_named_by_the_environment_are_not_used(
    peer: tuple[int, list[tuple[str, str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    port, seen = peer
    monkeypatch.setenv("ALL_PROXY", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{port}")
    with client(EgressPolicy()) as outside:
        refused(lambda: outside.get("https://127.0.0.1/"))
    assert seen == []


def test_a_peer_that_drips_bytes_is_left_at_the_deadline() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        port = listening.getsockname()[1]
        done = threading.Event()

        def drip() -> None:
            connection, _ = listening.accept()
            with closing(connection):
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
                while not done.wait(0.02):
                    try:
                        connection.sendall(b".")
                    except OSError:
                        return

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        with client(EgressPolicy(["127.0.0.1"]), deadline=0.3) as outside, pytest.raises(httpx.ReadTimeout):
            outside.get(f"http://127.0.0.1:{port}/")
        done.set()
        thread.join()


def test_a_name_nobody_knows_is_a_connection_error_not_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody(*_: object, **__: object) -> None:
        raise socket.gaierror("Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", nobody)
    with client(EgressPolicy()) as outside, pytest.raises(httpx.ConnectError):
        outside.get("https://no-such-host.invalid/")
