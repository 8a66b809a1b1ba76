"""The cost of a binding: what `serve` spends on a Deployment that is propagated to two clusters, and on one whose
cluster dies.

`serve` is a process of its own beside a control plane (the embedded API server, with our webhook) and three members
(`bench.member`), each a process, too. What counts is the processor's time of `serve`, its memory, and the requests that
the servers have counted. With KUBEBUILDER_ASSETS the times are also given in *copies* (`copies.py`), measured in the
same run.

BENCH_BINDINGS says how many Deployments there are, BENCH_IDLE_SECONDS how long the idle process is watched after them.
"""

import asyncio
import os
import re
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from bench.copies import NAMESPACE, copy_seconds, deployment
from bench.member import DEPLOYMENTS
from bench.servers import TOKEN, Target, free_port, running
from kubeapi.codec import render_yaml
from kubeapi.core import SECRETS
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Client, WorldError
from leeward.api.resource import CLUSTERS, PROPAGATION_POLICIES, RESOURCE_BINDINGS
from leeward.api.work import ResourceBinding

MEMBERS = ("member1", "member2", "member3")
CREATORS = 8
POLL_SECONDS, REST_SECONDS = 1.0, 4.0
SURVEY_SECONDS = 60.0
"""Time by which the losses of what is new have been surveyed, as far as it goes."""
DEADLINE_SECONDS, START_SECONDS = 1_800.0, 300.0
WRITES = ("POST", "PUT", "PATCH", "APPLY", "DELETE")
TIMING = (
    "--cluster-status-update-frequency=2s",
    "--cluster-failure-threshold=6s",
    "--cluster-success-threshold=2s",
    "--cluster-monitor-grace-period=30s",
    "--failover-eviction-timeout=3s",
    "--graceful-eviction-timeout=20m",
    "--health-probe-bind-address=0",
)
GOALS = {"propagated": 1.2, "failed over": 0.8}
GOAL_KIB = 40
_REQUESTS = re.compile(r"^apiserver_request_total\{(.*)\} ([0-9.e+]+)$", re.MULTILINE)
_RECONCILED = re.compile(r"^controller_runtime_reconcile_total\{(.*)\} ([0-9.e+]+)$", re.MULTILINE)
_WOKEN = re.compile(r"^karmada_scheduler_queue_incoming_bindings_total\{(.*)\} ([0-9.e+]+)$", re.MULTILINE)
_LABEL = re.compile(r'(\w+)="([^"]*)"')


def run() -> None:
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_DIRECTORY")) as directory:
        asyncio.run(_measure(Path(directory)))


@dataclass(frozen=True, slots=True)
class Reading:
    """Processor time used and requests counted by an instant."""

    at: float
    cpu: float
    memory: int
    requests: Mapping[str, float]
    """Requests to the control plane, by verb and resource."""
    to_members: Mapping[str, float]
    reconciled: Mapping[str, float]
    """Reconciliations by controller."""
    woken: Mapping[str, float]
    """Bindings that the scheduler was to look at, by cause."""

    def writes(self, *, events: bool) -> float:
        return sum(n for what, n in self.requests.items() if what.startswith(WRITES) and (" events" in what) is events)

    @property
    def reads(self) -> float:
        return sum(n for what, n in self.requests.items() if what.startswith("GET"))


@dataclass
class Fleet:
    control_plane: Target
    members: Mapping[str, Target]
    serve: Target
    client: Client
    idle: float = 0.0
    """Seconds of `serve` in a second in which nothing happens."""

    async def read(self) -> Reading:
        cpu, memory, at = self.serve.processor_seconds(), self.serve.memory_bytes(), time.monotonic()
        requests = _requests(await _metrics(self.client))
        reconciled, woken = await asyncio.to_thread(_counted_by, self.serve.port)
        return Reading(at, cpu, memory, requests, await self._to_members(), reconciled, woken)

    async def _to_members(self) -> Mapping[str, float]:
        """Requests to the members that live."""
        counted = dict[str, float]()
        for member in self.members.values():
            if member.processes[0].returncode is None:
                client = member.client()
                for what, count in _requests(await _metrics(client)).items():
                    counted[what] = counted.get(what, 0.0) + count
                await client.close()
        return counted

    async def rest(self, seconds: float = REST_SECONDS) -> None:
        """Returns when nothing has been written for so long."""
        before, since = -1.0, time.monotonic()
        while time.monotonic() - since < seconds:
            await asyncio.sleep(POLL_SECONDS)
            reading = await self.read()
            written = reading.writes(events=True) + reading.writes(events=False)
            if written != before:
                before, since = written, time.monotonic()

    async def wait(self, healthy: int, without: str = "") -> None:
        """Waits until so many bindings are healthy in two clusters, none of them `without`."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            while True:
                items = (await self.client.list(RESOURCE_BINDINGS, NAMESPACE)).items
                if sum(_is_healthy(binding, without) for binding in items) >= healthy:
                    return
                await asyncio.sleep(POLL_SECONDS)


async def _measure(directory: Path) -> None:
    bindings = int(os.environ.get("BENCH_BINDINGS", "300"))
    copy = await copy_seconds(directory)
    if copy:
        print(f"one copy (POST and status PATCH of a Deployment, kube-apiserver): {copy * 1e3:.1f} ms", flush=True)
    async with serving_fleet(directory) as fleet:
        print(f"serve is process {fleet.serve.processes[0].pid}, before anything {_mib(fleet)} MiB", flush=True)
        fleet.idle = await _idle(fleet, 10.0)
        print(f"idle, with nothing: {fleet.idle:.1%} of a core", flush=True)
        await propagate(fleet, 0, bindings // 2)
        before = await fleet.read()
        await propagate(fleet, bindings // 2, bindings)
        after = await fleet.read()
        made = bindings - bindings // 2
        _tell("propagated", before, after, made, fleet.idle, copy)
        print(f"memory of a binding: {(after.memory - before.memory) / made / 1024:.0f} KiB (goal {GOAL_KIB})")
        for when in ("just placed", "a minute later"):
            idle = await _idle(fleet, float(os.environ.get("BENCH_IDLE_SECONDS", "20")))
            print(f"idle, with {bindings} bindings, {when}: {idle:.1%} of a core", flush=True)
            await asyncio.sleep(SURVEY_SECONDS)
        lost, moved = await _most_used(fleet)
        before = await fleet.read()
        fleet.members[lost].processes[0].kill()
        await fleet.wait(bindings, without=lost)
        await fleet.rest()
        _tell("failed over", before, await fleet.read(), moved, fleet.idle, copy)
        print(f"memory at the end: {_mib(fleet)} MiB", flush=True)


async def _most_used(fleet: Fleet) -> tuple[str, int]:
    """The cluster in which most bindings are, and how many these are."""
    items = (await fleet.client.list(RESOURCE_BINDINGS, NAMESPACE)).items
    return Counter(target.name for binding in items for target in binding.spec.clusters).most_common(1)[0]


async def propagate(fleet: Fleet, first: int, last: int) -> None:
    numbers = iter(range(first, last))

    async def create() -> None:
        for number in numbers:
            await fleet.client.create(DEPLOYMENTS, deployment(number), NAMESPACE)

    await asyncio.gather(*(create() for _ in range(CREATORS)))
    await fleet.wait(last)
    await fleet.rest()


async def _idle(fleet: Fleet, seconds: float) -> float:
    """The part of a core that is used meanwhile."""
    before = await fleet.read()
    await asyncio.sleep(seconds)
    after = await fleet.read()
    written = {what: n - before.requests.get(what, 0) for what, n in after.requests.items() if what.startswith(WRITES)}
    print(f"  written while idle: { {what: n for what, n in written.items() if n} }")
    return (after.cpu - before.cpu) / (after.at - before.at)


def _tell(what: str, before: Reading, after: Reading, bindings: int, idle: float, copy: float) -> None:
    seconds = after.at - before.at
    spent = after.cpu - before.cpu - idle * seconds
    each = spent / bindings
    in_copies = f", {each / copy:.2f} copies (goal {GOALS[what]})" if copy else ""
    writes, events = (after.writes(events=e) - before.writes(events=e) for e in (False, True))
    reads = after.reads - before.reads
    print(
        f"{what}, {bindings} bindings in {seconds:.0f} s: {each * 1e3:.1f} ms of serve each{in_copies}; writes "
        f"{writes / bindings:.1f}, events {events / bindings:.1f}, GETs {reads / bindings:.1f}",
        flush=True,
    )
    for title, now, then in (
        ("control plane", after.requests, before.requests),
        ("members", after.to_members, before.to_members),
        ("reconciled", after.reconciled, before.reconciled),
        ("scheduler woken by", after.woken, before.woken),
    ):
        difference = {what: n - then.get(what, 0) for what, n in now.items()}
        often = sorted(((n, what) for what, n in difference.items() if n > bindings / 20), reverse=True)
        print(f"  {title}: " + ", ".join(f"{n / bindings:.2f} {what}" for n, what in often), flush=True)


def _mib(fleet: Fleet) -> int:
    return fleet.serve.memory_bytes() // 2**20


def _is_healthy(binding: ResourceBinding, without: str) -> bool:
    healthy = {item.cluster_name for item in binding.status.aggregated_status if item.health == "Healthy"}
    assigned = {target.name for target in binding.spec.clusters}
    is_left = binding.spec.graceful_eviction_tasks or without in assigned
    return len(assigned) == 2 and assigned <= healthy and not is_left


async def _metrics(client: Client) -> str:
    return (await client.raw("GET", "/metrics", accept="*/*", timeout_seconds=60)).body.decode()


def _requests(metrics: str) -> Mapping[str, float]:
    """Counts by verb and resource; heartbeats and what the servers do for themselves are left out."""
    counted: dict[str, float] = {}
    for labels, count in _REQUESTS.findall(metrics):
        label = dict[str, str](_LABEL.findall(labels))
        resource, sub = label.get("resource", ""), label.get("subresource", "")
        if resource and resource not in ("leases", "tokenreviews", "subjectaccessreviews"):
            code = label.get("code", "200")
            refused = "" if code.startswith("2") else f" ({code})"
            what = f"{label.get('verb', '')} {resource}{'/' if sub else ''}{sub}{refused}"
            counted[what] = counted.get(what, 0.0) + float(count)
    return counted


def _counted_by(port: int) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Reconciliations by controller, those of all members together; and what woke the scheduler, by cause."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        metrics: str = answer.read().decode()
    reconciled = dict[str, float]()
    for labels, count in _RECONCILED.findall(metrics):
        controller = dict[str, str](_LABEL.findall(labels))["controller"].partition("/")[0]
        reconciled[controller] = reconciled.get(controller, 0.0) + float(count)
    woken = {dict[str, str](_LABEL.findall(labels))["event"]: float(count) for labels, count in _WOKEN.findall(metrics)}
    return reconciled, woken


@asynccontextmanager
async def serving_fleet(directory: Path, *more: str) -> AsyncGenerator[Fleet]:
    """A fleet of three members with `serve`, which is given `more` flags."""
    async with AsyncExitStack() as stack:

        async def start(name: str, command: Sequence[str], port: int = 0) -> Target:
            place = directory / name
            place.mkdir()
            processes = await stack.enter_async_context(running([[sys.executable, "-m", *command]], place))
            target = Target(name, port, processes)
            if port:
                await target.wait_ready()
            return target

        kubeconfig, port = directory / "kubeconfig", free_port()
        tokens = directory / "tokens.csv"
        tokens.write_text(f'{TOKEN},bench,1,"system:masters"\n')
        flags = ("--secure-port", str(port), "--token-auth-file", str(tokens), "--data-dir", str(directory / "data"))
        control_plane = await start("apiserver", ("leeward.cli", "apiserver", *flags), port)
        _write_kubeconfig(kubeconfig, port)
        installing = await start("init", ("leeward.cli", "init", "--kubeconfig", str(kubeconfig)))
        assert await installing.processes[0].wait() == 0, (directory / "init" / "0.log").read_text()
        client = control_plane.client()
        stack.push_async_callback(client.close)
        hook = free_port()
        listening = ("--bind-address=127.0.0.1", f"--secure-port={hook}", f"--url=https://127.0.0.1:{hook}")
        await start("webhook", ("leeward.cli", "webhook", "--kubeconfig", str(kubeconfig), *listening))

        async def is_hooked() -> bool:
            return bool((await client.list(_HOOKS)).items)

        async def are_ready() -> bool:
            return sum(cluster.is_ready for cluster in (await client.list(CLUSTERS)).items) == len(MEMBERS)

        await _until(is_hooked)
        members = {name: free_port() for name in MEMBERS}
        started = {
            name: await start(name, ("bench.member", str(directory / name), str(member)), member)
            for name, member in members.items()
        }
        metrics = free_port()
        flags = ("--kubeconfig", str(kubeconfig), f"--metrics-bind-address=127.0.0.1:{metrics}", *TIMING, *more)
        serve = replace(await start("serve", ("leeward.cli", "serve", *flags)), port=metrics)
        for name, member in members.items():
            await _join(client, name, member)
        fleet = Fleet(control_plane, started, serve, client)
        await _until(are_ready)
        await client.create(PROPAGATION_POLICIES, policy(), NAMESPACE)
        await fleet.rest()
        yield fleet


_HOOKS = Resource.of_manifests(
    "admissionregistration.k8s.io/v1",
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    namespaced=False,
)


async def _until(is_so: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(START_SECONDS):
        while True:
            if await is_so():
                return
            await asyncio.sleep(POLL_SECONDS)


async def _join(client: Client, name: str, port: int) -> None:
    """Joins with the administrator's token, where `leeward join` makes an account."""
    namespace = "karmada-cluster"
    spaces = Resource.of_manifests("v1", "namespaces", "Namespace", namespaced=False)
    with suppress(WorldError):
        await client.create(spaces, {"metadata": {"name": namespace}})
    secret = {"metadata": {"name": name, "namespace": namespace}, "stringData": {"token": TOKEN}}
    await client.create(SECRETS, secret, namespace)
    spec = {
        "id": name,
        "syncMode": "Push",
        "apiEndpoint": f"https://127.0.0.1:{port}",
        "insecureSkipTLSVerification": True,
        "secretRef": {"namespace": namespace, "name": name},
    }
    await client.create(CLUSTERS, {"metadata": {"name": name}, "spec": spec})


def _write_kubeconfig(path: Path, port: int) -> None:
    cluster = {"server": f"https://127.0.0.1:{port}", "insecure-skip-tls-verify": True}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "bench",
        "clusters": [{"name": "bench", "cluster": cluster}],
        "users": [{"name": "bench", "user": {"token": TOKEN}}],
        "contexts": [{"name": "bench", "context": {"cluster": "bench", "user": "bench"}}],
    }
    path.write_text(render_yaml(config))


def policy() -> Manifest:
    toleration = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 2}
    weights = [{"targetCluster": {"clusterNames": [name]}, "weight": 1} for name in MEMBERS]
    placement = {
        "clusterAffinity": {"clusterNames": list(MEMBERS)},
        "clusterTolerations": [
            {"key": f"cluster.karmada.io/{key}", **toleration} for key in ("not-ready", "unreachable")
        ],
        "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}],
        "replicaScheduling": {
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Weighted",
            "weightPreference": {"staticWeightList": weights},
        },
    }
    selectors = [{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": NAMESPACE}]
    metadata = {"name": "all", "namespace": NAMESPACE}
    return {"metadata": metadata, "spec": {"resourceSelectors": selectors, "placement": placement}}
