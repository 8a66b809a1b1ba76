"""A fleet in processes of its own on this machine: a control plane, `leeward serve` beside it, and members' stand-ins.

The stand-ins of all members are one process, and that of the member which is to die another; so what `serve` uses of
the processor is what its controllers use. The control plane is the embedded API server in a process of its own, or
etcd with kube-apiserver where KUBEBUILDER_ASSETS names their programs.
"""

import asyncio
import base64
import os
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from bench.fleet_copies import DONE, ORDERS, UID, Orders
from bench.servers import TOKEN, Target, certificate, free_port, kubernetes, leeward, spent_by
from kubeapi.codec import decode, encode, render_yaml
from kubeapi.core import NAMESPACES, SECRETS
from kubeapi.errors import WorldError
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import AlreadyExists, Client
from kubeclient.connection import Connection, transport_of
from leeward.api.names import CLUSTER_NAMESPACE
from leeward.api.resource import CLUSTERS, PROPAGATION_POLICIES
from leeward.app.install.installing import install

VICTIM = "member-000"
DIES, LIVES = "dies", "lives"
COPIES = 2
CONCURRENT = 16
STOP_SECONDS = 120.0
DEPLOYMENTS: Resource[Manifest] = Resource.of_manifests("apps/v1", "deployments", "Deployment", True)
HEARTBEATS = {"leases", "tokenreviews", "subjectaccessreviews"}
READS = {"GET", "LIST", "WATCH"}
FLAGS = (
    "--leader-elect=false",
    "--metrics-bind-address=0",
    "--health-probe-bind-address=0",
    "--cluster-failure-threshold=5s",
    "--cluster-success-threshold=1s",
    "--failover-eviction-timeout=1s",
    "--kube-api-qps=100000",
    "--kube-api-burst=100000",
)
"""Members are looked at every ten seconds, as in production; what follows a death is soon."""


@dataclass(frozen=True, slots=True)
class Size:
    """`failing` of the `bindings` have a copy in the cluster that dies."""

    clusters: int
    bindings: int
    failing: int

    def __str__(self) -> str:
        return f"{self.clusters} x {self.bindings}"


@dataclass
class Scene:
    """A control plane with members that have joined. `seconds` are of the processor."""

    size: Size
    directory: Path
    plane: Target
    client: Client
    ports: list[int]
    _serve: Process | None = None
    _members: list[Process] = field(default_factory=list[Process])

    async def start_members(self) -> None:
        certificate(self.directory / "pki")
        for name, ports in (("victim", self.ports[:1]), ("others", self.ports[1:])):
            self._members.append(await self._python(name, "bench.stand_ins", str(self.directory), *map(str, ports)))
        for port in (self.ports[0], self.ports[-1]):
            await until(lambda port=port: _answers(port), 120)

    async def start_serve(self) -> None:
        kubeconfig = self.directory / "kubeconfig"
        cluster = {"server": f"https://127.0.0.1:{self.plane.port}", "insecure-skip-tls-verify": True}
        document: Manifest = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "bench",
            "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
            "clusters": [{"name": "bench", "cluster": cluster}],
            "users": [{"name": "bench", "user": {"token": TOKEN}}],
        }
        kubeconfig.write_text(render_yaml(document))
        self._serve = await self._python("serve", "leeward.cli", "serve", "--kubeconfig", str(kubeconfig), *FLAGS)

    async def stop_serve(self) -> None:
        if self._serve is not None:
            await _stop(self._serve)
            self._serve = None

    async def kill_victim(self) -> None:
        self._members[0].kill()
        await self._members[0].wait()

    async def close(self) -> None:
        await self.stop_serve()
        for process in self._members:
            await _stop(process)

    @property
    def api_server(self) -> Target:
        """The control plane without its etcd."""
        return Target(self.plane.name, self.plane.port, self.plane.processes[-1:])

    @property
    def serve_id(self) -> int:
        """Id of its process."""
        assert self._serve is not None
        assert self._serve.returncode is None, (self.directory / "serve.log").read_text()[-4000:]
        return self._serve.pid

    def spent(self) -> float:
        return spent_by([self.serve_id])

    def memory_mib(self) -> float:
        pages = int(Path(f"/proc/{self.serve_id}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    async def requests(self) -> Counter[str]:
        """Requests to the control plane, by verb and resource; heartbeats are not counted."""
        counted = Counter[str]()
        body = (await self.client.raw("GET", "/metrics", timeout_seconds=60)).body.decode()
        for family in text_string_to_metric_families(body):
            for sample in family.samples:
                labels = sample.labels
                if sample.name == "apiserver_request_total" and labels.get("resource", "") not in {"", *HEARTBEATS}:
                    counted[f"{labels['verb']} {labels['resource']}"] += int(sample.value)
        return counted

    async def asked_of_members(self) -> int:
        """Number of requests to the members that are alive, but the one that dies."""
        port = self.ports[1]
        client = client_of(port)
        try:
            answer = await client.raw("GET", "/bench/requests")
        finally:
            await client.close()
        return Counter(decode(answer.body, dict[str, int])).total()

    async def join(self) -> None:
        """Joins the members as `leeward join` does, without asking the member for accounts."""
        authority = certificate(self.directory / "pki")[2].read_bytes()
        await _ignoring_existing(self.client.create(NAMESPACES, {"metadata": {"name": CLUSTER_NAMESPACE}}))
        for number, port in enumerate(self.ports):
            name = member(number)
            data = {"token": base64.b64encode(b"bench").decode(), "caBundle": base64.b64encode(authority).decode()}
            secret = {"metadata": {"name": name}, "type": "Opaque", "data": data}
            await self.client.create(SECRETS, secret, CLUSTER_NAMESPACE)
            spec = {
                "syncMode": "Push",
                "apiEndpoint": f"https://127.0.0.1:{port}",
                "secretRef": {"namespace": CLUSTER_NAMESPACE, "name": name},
            }
            await self.client.create(CLUSTERS, {"metadata": {"name": name}, "spec": spec})
        await until(self._are_ready, 300)

    async def _are_ready(self) -> bool:
        clusters = (await self.client.list(CLUSTERS)).items
        return len(clusters) == len(self.ports) and all(c.is_ready and not c.spec.taints for c in clusters)

    async def apply(self, numbers: Iterable[int]) -> None:
        """All policies, and the Deployments of these applications."""
        await _together(
            self.client.create(PROPAGATION_POLICIES, _policy(group, _near(group, self.size)), "default")
            for group in self._groups()
        )
        await _together(
            self.client.create(DEPLOYMENTS, deployment(application(number), group_of(number, self.size)), "default")
            for number in numbers
        )

    def originals(self) -> list[int]:
        """One application of each group: the others can be copies of it."""
        return sorted({group_of(number, self.size): number for number in reversed(range(self.size.bindings))}.values())

    async def copy(self) -> None:
        """Makes the other applications as copies, in the control plane and in the members, while `serve` is stopped."""
        groups = {group_of(number, self.size): number for number in self.originals()}
        copies: dict[str, list[str]] = {application(number): [] for number in groups.values()}
        for number in range(self.size.bindings):
            original = groups[group_of(number, self.size)]
            if number != original:
                copies[application(original)].append(application(number))
        policies = await self.client.list(PROPAGATION_POLICIES)
        namespaces = await self.client.list(NAMESPACES)
        kept = {uid.decode() for uid in UID.findall(encode((policies.items, namespaces.items)))}
        orders = msgspec.json.encode(Orders(copies, frozenset(kept)))
        (self.directory / ORDERS).write_bytes(orders)
        self.plane.processes[0].send_signal(signal.SIGUSR1)
        await until(self._is_copied, 600)
        await _together(_copy_in(port, orders) for port in self.ports)

    async def _is_copied(self) -> bool:
        return (self.directory / DONE).exists()

    async def open_ways_out(self) -> None:
        """Lets what is in the member that dies go elsewhere, too: until now it was to be there."""
        for group in (group for group in self._groups() if group.startswith(DIES)):
            affinity = {"clusterNames": _near(group, self.size, spare=1)}
            patch = {"spec": {"placement": {"clusterAffinity": affinity}}}
            await self.client.patch(PROPAGATION_POLICIES, group, patch, "default")

    def _groups(self) -> list[str]:
        return sorted({group_of(number, self.size) for number in range(self.size.bindings)})

    async def _python(self, name: str, module: str, *arguments: str) -> Process:
        with (self.directory / f"{name}.log").open("ab") as log:
            return await asyncio.create_subprocess_exec(
                sys.executable, "-m", module, *arguments, stdin=DEVNULL, stdout=log, stderr=log
            )


@asynccontextmanager
async def scene(size: Size, directory: Path) -> AsyncGenerator[Scene]:
    """A fleet whose clusters are Ready."""
    programs = os.environ.get("KUBEBUILDER_ASSETS")
    plane = kubernetes(directory, Path(programs)) if programs else leeward(directory, "karmada")
    async with plane as target:
        client = target.client()
        made = Scene(size, directory, target, client, [free_port() for _ in range(size.clusters)])
        try:
            if programs:
                await install(client)
            await made.start_members()
            await made.start_serve()
            await made.join()
            yield made
        finally:
            await made.close()
            await client.close()


def member(number: int) -> str:
    return f"member-{number:03}"


def application(number: int) -> str:
    return f"app-{number:05}"


def group_of(number: int, size: Size) -> str:
    """Applications of a group are in the same clusters; some of them are in the one that dies."""
    return f"{DIES if number < size.failing else LIVES}-{number % (size.clusters - 1):03}"


def _near(group: str, size: Size, spare: int = 0) -> list[str]:
    kind, _, ordinal = group.partition("-")
    others = [member(1 + (int(ordinal) + step) % (size.clusters - 1)) for step in range(COPIES + spare)]
    return [VICTIM, *others[: COPIES - 1 + spare]] if kind == DIES else others


def deployment(name: str, group: str) -> Manifest:
    """Deployment of some 1.5 KB, as many are."""
    environment = [{"name": f"VARIABLE_{number}", "value": "some value of it"} for number in range(12)]
    resources = {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "256Mi"}}
    container = {"name": "main", "image": "registry.local/app:1.2.3", "env": environment, "resources": resources}
    labels = {"app": name, "group": group}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
        },
    }


def _policy(group: str, names: list[str]) -> Manifest:
    tolerations = [
        {"key": f"cluster.karmada.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}
        for key in ("not-ready", "unreachable")
    ]
    placement = {
        "clusterAffinity": {"clusterNames": names},
        "clusterTolerations": tolerations,
        "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
        "spreadConstraints": [{"spreadByField": "cluster", "minGroups": COPIES, "maxGroups": COPIES}],
    }
    selector = {"apiVersion": "apps/v1", "kind": "Deployment", "labelSelector": {"matchLabels": {"group": group}}}
    return {"metadata": {"name": group}, "spec": {"resourceSelectors": [selector], "placement": placement}}


def client_of(port: int) -> Client:
    url = f"https://127.0.0.1:{port}"
    return Client(transport_of(Connection(url, insecure_skip_tls_verify=True, token=TOKEN)), "bench")


async def until(holds: Callable[[], Awaitable[bool]], seconds: float, pause_seconds: float = 0.25) -> None:
    """Returns when it holds. Raises: TimeoutError."""
    async with asyncio.timeout(seconds):
        while True:
            if await holds():
                return
            await asyncio.sleep(pause_seconds)


async def _answers(port: int) -> bool:
    client = client_of(port)
    try:
        return (await client.raw("GET", "/readyz", timeout_seconds=2)).code == 200
    except WorldError:
        return False
    finally:
        await client.close()


async def _copy_in(port: int, orders: bytes) -> None:
    client = client_of(port)
    try:
        await client.raw("POST", "/bench/copies", body=orders, timeout_seconds=120)
    finally:
        await client.close()


async def _together(requests: Iterable[Awaitable[object]]) -> None:
    """A few at a time."""
    left = iter(requests)

    async def some() -> None:
        for request in left:
            await request

    await asyncio.gather(*(some() for _ in range(CONCURRENT)))


async def _ignoring_existing(request: Awaitable[object]) -> None:
    try:
        await request
    except AlreadyExists:
        return


async def _stop(process: Process) -> None:
    if process.returncode is None:
        process.send_signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
