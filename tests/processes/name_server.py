"""A real DNS server (Knot, of Debian's package `knot`), who keeps it up to date, and who resolves and connects.

external-dns is a Go binary, which comes from no package index. `ExternalDns` stands in for it: it reads the annotations
and addresses of the control plane's Services, and sends updates of RFC 2136 with a TSIG key, as its provider `rfc2136`
does. `LoadBalancer` stands in for a member's Pods, which listen nowhere: it serves while one of them is ready.
"""

import base64
import os
import secrets
import shutil
import socket
import subprocess
import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import dns.exception
import dns.query
import dns.rcode
import dns.resolver
import dns.tsigkeyring
import dns.update
import pytest

from tests.ports import free_port

kubernetes: Any = import_module("kubernetes")
urllib3: Any = import_module("urllib3")
KNOT = shutil.which("knotd", path=f"{os.environ['PATH']}:/usr/sbin")
needs_knot = pytest.mark.skipif(KNOT is None, reason="knotd is not there: apt-get install knot")
ZONE, SERVER, KEY = "example.test", "127.0.0.1", "external-dns"
HOSTNAME, TTL = "external-dns.alpha.kubernetes.io/hostname", "external-dns.alpha.kubernetes.io/ttl"
PATIENCE_SECONDS = 20.0
CONFIG = """
server:
    rundir: "{directory}"
    listen: {server}@{port}
log:
  - target: stderr
    any: warning
database:
    storage: "{directory}"
key:
  - id: {key}
    algorithm: hmac-sha256
    secret: {secret}
acl:
  - id: updates
    key: {key}
    action: [update, transfer]
zone:
  - domain: {zone}
    storage: "{directory}"
    file: zone
    acl: updates
"""
RECORDS = "@ 2 SOA ns hostmaster 1 3600 600 86400 2\n@ 2 NS ns\nns 2 A 127.0.0.1\n"


def core_of(kubeconfig: Path, context: str) -> Any:
    """The Python client `kubernetes`, which gives up soon where a cluster is down."""
    api = kubernetes.config.new_client_from_config(str(kubeconfig), context)
    api.configuration.retries = False
    return kubernetes.client.CoreV1Api(kubernetes.client.ApiClient(api.configuration))


class Repeated:
    """Does something again and again in a thread of its own, until `stop`. An error is kept, and raised by `stop`."""

    pause_seconds = 0.1

    def __init__(self) -> None:
        self._over, self._error = threading.Event(), list[BaseException]()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def once(self) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        self._over.set()
        self._thread.join(PATIENCE_SECONDS)
        assert not self._thread.is_alive(), f"{type(self).__name__} does not end"
        if self._error:
            raise self._error[0]

    def _run(self) -> None:
        try:
            while not self._over.wait(self.pause_seconds):
                self.once()
        except BaseException as error:
            self._error.append(error)


@dataclass(frozen=True)
class NameServer:
    port: int
    secret: str

    def update(self, name: str, ttl: int, addresses: list[str]) -> None:
        keyring = dns.tsigkeyring.from_text({KEY: self.secret})
        update = dns.update.UpdateMessage(ZONE, keyring=keyring, keyalgorithm="hmac-sha256")
        relative = name.removesuffix(f".{ZONE}")
        update.replace(relative, ttl, "A", *addresses)
        answer = dns.query.tcp(update, SERVER, PATIENCE_SECONDS, self.port)
        assert answer.rcode() == dns.rcode.NOERROR, answer

    def resolver(self) -> dns.resolver.Resolver:
        """A resolver that keeps each answer for its TTL."""
        resolver = dns.resolver.Resolver(configure=False)
        resolver.nameservers, resolver.port, resolver.cache = [SERVER], self.port, dns.resolver.Cache()
        return resolver


@contextmanager
def name_server(directory: Path) -> Generator[NameServer]:
    server = NameServer(free_port(), base64.b64encode(secrets.token_bytes(32)).decode())
    config = directory / "knot.conf"
    (directory / "zone").write_text(RECORDS)
    given = {"directory": directory, "server": SERVER, "zone": ZONE, "key": KEY}
    config.write_text(CONFIG.format(port=server.port, secret=server.secret, **given))
    with (directory / "knot.log").open("wb") as log:
        process = subprocess.Popen([str(KNOT), "--config", str(config)], stdout=log, stderr=log)
    try:
        try:
            server.resolver().resolve(f"ns.{ZONE}", "A", lifetime=PATIENCE_SECONDS)
        except dns.exception.DNSException as error:
            raise AssertionError((directory / "knot.log").read_text()) from error
        yield server
    finally:
        process.terminate()
        process.wait(PATIENCE_SECONDS)


class ExternalDns(Repeated):
    """`published` has the addresses of each name; `updates` counts what the server has confirmed."""

    def __init__(self, server: NameServer, core: Any) -> None:
        self._server, self._core = server, core
        self.published: dict[str, list[str]] = {}
        self.updates = 0
        super().__init__()

    def once(self) -> None:
        services: list[Any] = self._core.list_service_for_all_namespaces().items
        for service in services:
            annotations: dict[str, str] = service.metadata.annotations or {}
            ingress: list[Any] = service.status.load_balancer.ingress or []
            listed: list[str] = sorted(each.ip for each in ingress)
            name = annotations.get(HOSTNAME)
            if name and listed and self.published.get(name) != listed:
                self._server.update(name, int(annotations[TTL]), listed)
                self.published[name] = listed
                self.updates += 1


class LoadBalancer(Repeated):
    """A listener that answers with its name while a Pod of the application is ready in the member."""

    pause_seconds = 0.0

    def __init__(self, name: str, address: str, port: int, core: Any, selector: str) -> None:
        self._name, self._core, self._selector = name, core, selector
        self._listener = socket.create_server((address, port))
        self._listener.settimeout(0.2)
        super().__init__()

    def once(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except TimeoutError:
            return
        with connection:
            if self._serves():
                connection.sendall(self._name.encode())

    def stop(self) -> None:
        super().stop()
        self._listener.close()

    def _serves(self) -> bool:
        """Tells whether a Pod is ready. A cluster that is down, or going down, serves nobody."""
        try:
            found = self._core.list_namespaced_pod("default", label_selector=self._selector, _request_timeout=2)
        except (kubernetes.client.ApiException, urllib3.exceptions.HTTPError):
            return False
        pods: list[Any] = found.items
        return any(map(_is_ready, pods))


def _is_ready(pod: Any) -> bool:
    conditions: list[Any] = pod.status.conditions or []
    is_ready = any(each.type == "Ready" and each.status == "True" for each in conditions)
    return is_ready and pod.metadata.deletion_timestamp is None


@dataclass(frozen=True)
class Attempt:
    """A connection: to which address, who has answered, and how many updates there were when the name was resolved."""

    address: str
    answered: str
    updates: int


class Client(Repeated):
    """Resolves a name, keeps the answer for its TTL, and connects."""

    def __init__(self, server: NameServer, external: ExternalDns, name: str, port: int) -> None:
        self._resolver, self._external, self._name, self._port = server.resolver(), external, name, port
        self._known: dns.resolver.Answer | None = None
        self._updates = 0
        self.attempts: list[Attempt] = []
        super().__init__()

    def once(self) -> None:
        updates = self._external.updates
        found = self._resolver.resolve(self._name, "A", lifetime=PATIENCE_SECONDS)
        if found is not self._known:
            self._known, self._updates = found, updates
        address = str(next(iter(found.rrset or ())))
        self.attempts.append(Attempt(address, self._ask(address), self._updates))

    def _ask(self, address: str) -> str:
        try:
            with socket.create_connection((address, self._port), timeout=5) as connection:
                return connection.recv(100).decode()
        except OSError:
            return ""


@contextmanager
def running(*repeated: Repeated) -> Generator[None]:
    with ExitStack() as stack:
        for each in repeated:
            stack.callback(each.stop)
        yield
