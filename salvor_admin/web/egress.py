"""The one guard on outgoing HTTP: public addresses by https, unless an operator allowed the rest by name.

The address is judged where the socket is opened, so neither a name that resolves anew nor a redirect gets round it.
"""

from __future__ import annotations

import ipaddress
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import httpcore
import httpx
from django.conf import settings

from salvor_admin.domain.refusals import Refusal

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network
Resolver: TypeAlias = Callable[[str, int], list[Address]]

_NAT64 = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48"))


@dataclass(frozen=True, slots=True)
class Allowance:
    """One line of SALVOR_EGRESS_ALLOW: a host name or a network, with a port or without."""

    network: Network | None
    name: str
    port: int | None

    def covers_name(self, host: str, port: int) -> bool:
        return self.network is None and self.name == host.lower().rstrip(".") and self.port in (None, port)

    def covers_address(self, address: Address, port: int) -> bool:
        return (
            self.network is not None
            and address.version == self.network.version
            and address in self.network
            and self.port in (None, port)
        )


def parse_allowance(text: str) -> Allowance:
    """`intranet.example`, `10.1.0.0/16`, `127.0.0.1:9000`, `[::1]:9000`; anything else is a ValueError."""
    host, port = text.strip(), None
    bracketed = host.startswith("[")
    if bracketed or host.count(":") == 1:
        host, _, tail = host.rpartition(":") if not host.endswith("]") else (host, "", "")
        if tail:
            if not (tail.isascii() and tail.isdecimal() and 1 <= int(tail) <= 65535):
                raise ValueError(f"{text!r}: the port must be a number from 1 to 65535")
            port = int(tail)
        host = host.removeprefix("[").removesuffix("]")
    try:
        return Allowance(ipaddress.ip_network(host, strict=False), "", port)
    except ValueError:
        name = host.lower().rstrip(".")
        if not name or any(c in name for c in "/:*@ []"):
            raise ValueError(f"{text!r} is neither a host name nor a network") from None
        return Allowance(None, name, port)


def _embedded(address: Address) -> list[Address]:
    """The address itself, and the IPv4 addresses that an IPv6 one only wraps."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    found: list[Address] = [address]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    if address.sixtofour is not None:
        found.append(address.sixtofour)
    if address.teredo is not None:
        found += address.teredo
    if any(address in network for network in _NAT64):
        return [ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)]
    return found


def is_public(address: Address) -> bool:
    """Whether anybody on the internet could reach it: not loopback, private, link-local, metadata or multicast."""
    return all(
        part.is_global and not part.is_multicast and not part.is_reserved and not part.is_unspecified
        for part in _embedded(address)
    )


def system_resolver(host: str, port: int) -> list[Address]:
    """Every address the system knows for a name."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise httpcore.ConnectError(f"The name {host} could not be resolved.") from error
    return [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]


class EgressPolicy:
    """Where this installation may connect to."""

    def __init__(self, allow: Iterable[str] = (), *, resolve: Resolver = system_resolver) -> None:
        self._allowances = [parse_allowance(entry) for entry in allow]
        self._resolve = resolve

    def _names(self, host: str, port: int) -> bool:
        return any(allowance.covers_name(host, port) for allowance in self._allowances)

    def _reaches(self, address: Address, port: int) -> bool:
        return any(
            allowance.covers_address(part, port)
            for allowance in self._allowances
            for part in {address, *_mapped(address)}
        )

    def check_url(self, url: httpx.URL) -> None:
        """Refuses what no address could make right: another scheme, no host, a password in the address."""
        host = url.host
        port = url.port or (443 if url.scheme == "https" else 80)
        if url.userinfo:
            _refuse("an address must not carry a name or password", host)
        if url.scheme == "https" and host:
            return
        if url.scheme == "http" and host and (self._names(host, port) or self._literal_allowed(host, port)):
            return
        _refuse("only https addresses are called", host or str(url.scheme))

    def _literal_allowed(self, host: str, port: int) -> bool:
        try:
            return self._reaches(ipaddress.ip_address(host), port)
        except ValueError:
            return False

    def addresses(self, host: str, port: int) -> Sequence[Address]:
        """The addresses to connect to, each one permitted; one that is not refuses them all."""
        found = list(dict.fromkeys(self._resolve(host, port)))
        named = self._names(host, port)
        for address in found:
            # A name vouches for private addresses, not for link-local ones, where clouds keep their credentials.
            vouched = named and not any(part.is_link_local for part in _embedded(address))
            if not (is_public(address) or vouched or self._reaches(address, port)):
                _refuse("it leads to an address that is not public", host)
        return found


def _mapped(address: Address) -> list[Address]:
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    return []


def _refuse(why: str, host: str) -> None:
    # The address itself stays unsaid: it would tell whoever wrote the URL what our network looks like.
    raise Refusal(
        "egress_refused",
        f"{host} is not called: {why}. Use a public https address, or ask whoever runs this installation "
        "to list the host in SALVOR_EGRESS_ALLOW.",
    )


def policy_from_settings() -> EgressPolicy:
    """The policy of `SALVOR_EGRESS_ALLOW`."""
    return EgressPolicy(settings.EGRESS_ALLOW)


# --- sockets ---------------------------------------------------------------------------------------------------------


class _Timed(httpcore.NetworkStream):
    """A stream under a wall-clock deadline, so that a peer that sends a byte now and then cannot hold us for ever."""

    def __init__(self, inner: httpcore.NetworkStream, ends_at: float) -> None:
        self._inner = inner
        self._ends_at = ends_at

    def _left(self, timeout: float | None, error: type[Exception]) -> float:
        left = self._ends_at - time.monotonic()
        if left <= 0:
            raise error("The whole exchange took longer than it may.")
        return left if timeout is None else min(left, timeout)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, self._left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._left(timeout, httpcore.WriteTimeout))

    def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None) -> _Timed:
        left = self._left(timeout, httpcore.ConnectTimeout)
        return _Timed(self._inner.start_tls(ssl_context, server_hostname, left), self._ends_at)

    def close(self) -> None:
        self._inner.close()

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _GuardedSockets(httpcore.NetworkBackend):
    """Opens sockets to checked addresses only; the name stays with TLS and the Host header."""

    def __init__(self, policy: EgressPolicy, deadline: float) -> None:
        self._policy = policy
        self._deadline = deadline
        self._sockets = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore.NetworkStream:
        ends_at = time.monotonic() + self._deadline
        failure: Exception = httpcore.ConnectError(f"{host} has no address.")
        for address in self._policy.addresses(host, port):
            left = ends_at - time.monotonic()
            if left <= 0:
                raise httpcore.ConnectTimeout("The whole exchange took longer than it may.")
            within = left if timeout is None else min(left, timeout)
            try:
                opened = self._sockets.connect_tcp(str(address), port, within, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
            else:
                return _Timed(opened, ends_at)
        raise failure

    def connect_unix_socket(self, path: str, timeout: float | None = None, socket_options: Any = None) -> Any:
        raise httpcore.ConnectError("Sockets of this machine are not called.")


class EgressTransport(httpx.HTTPTransport):
    """httpx's transport behind the guard: every request, every redirect, every connection."""

    def __init__(self, policy: EgressPolicy, *, deadline: float = 30.0) -> None:
        super().__init__(trust_env=False)
        self._policy = policy
        # A connection serves one request, so that its deadline is the request's.
        self._pool = httpcore.ConnectionPool(
            ssl_context=httpx.create_ssl_context(trust_env=False),
            max_connections=20,
            max_keepalive_connections=0,
            network_backend=_GuardedSockets(policy, deadline),
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self._policy.check_url(request.url)
        return super().handle_request(request)


def client(policy: EgressPolicy, *, deadline: float = 30.0, follow_redirects: bool = False) -> httpx.Client:
    """A client that can leave only through the guard: no proxy from the environment, no cookies kept for later."""
    return httpx.Client(
        transport=EgressTransport(policy, deadline=deadline),
        trust_env=False,
        follow_redirects=follow_redirects,
        max_redirects=5,
        timeout=httpx.Timeout(deadline, connect=min(deadline, 5.0)),
    )
