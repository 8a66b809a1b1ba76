"""Summaries of members: added up anew from all Pods, as it was, beside those that are kept by difference.

One member with 20,000 Pods on 700 Nodes, listed in pages over a transport that has them ready, and then a hundredth of
the Pods changes between two looks; both ways in the same run. CPU times of this process with its threads, the decoding
of answers included; bytes are what Python has allocated, by tracemalloc, in a run of their own. At last a fleet of a
hundred such members, and what the process takes of memory with it.
"""

import asyncio
import json
import resource
import time
import tracemalloc
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, cast

from controller_runtime.cache_budget import CacheBudget
from controller_runtime.follower import PAGE_SIZE
from controller_runtime.informers import Informers
from kubeapi.codec import from_wire
from kubeapi.core import NODES, PODS
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeclient import Client, Request, Response
from leeward.api.cluster import ResourceModel
from leeward.api.counted import COUNTED_NODES, COUNTED_PODS
from leeward.api.defaulting import default_resource_models
from leeward.core.cluster_health.summary import Summary
from leeward.planning.node_table import NodeTable
from leeward.planning.pod_table import PodTable
from leeward.planning.usage_summary import UsageSummary
from tests.unit.planning import summary_reference

PODS_THERE, NODES_THERE, APPLICATIONS = 20_000, 700, 1_000
CHANGED = PODS_THERE // 100
MEMBERS, GOAL_MIB = 100, 600
MODELS = tuple(from_wire(model, ResourceModel) for model in default_resource_models())
MiB = 1024 * 1024


class Answers:
    """A transport to a member whose lists are there already, and whose watch tells what is put into `events`."""

    def __init__(self, pages: dict[str, list[bytes]]) -> None:
        self._pages = pages
        self.events = asyncio.Queue[bytes]()
        self.requests = 0

    async def send(self, request: Request, *, timeout_seconds: float) -> Response:
        self.requests += 1
        return Response(200, self._pages[request.path][int(request.query.get("continue") or 0)])

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[bytes], None]:
        self.requests += 1
        yield self._told(request.path == PODS.path())

    async def _told(self, is_pods: bool) -> AsyncGenerator[bytes, None]:
        while is_pods:
            yield await self.events.get()
            self.events.task_done()
        await asyncio.Event().wait()

    async def close(self) -> None: ...


Follow = Callable[[Informers], Awaitable[Callable[[], Summary]]]
"""Begins to follow a member, and returns when it is listed; what it returns is the summary of now."""


async def anew(informers: Informers) -> Callable[[], Summary]:
    nodes, pods = informers.of(NODES), informers.of(PODS)
    await nodes.wait_synced(600)
    await pods.wait_synced(600)
    return lambda: summary_reference.summarize(cast(Any, list(nodes.list())), cast(Any, list(pods.list())), MODELS)


async def by_difference(informers: Informers) -> Callable[[], Summary]:
    nodes, pods = informers.reflect(COUNTED_NODES, NodeTable), informers.reflect(COUNTED_PODS, PodTable)
    await nodes.synced(600)
    await pods.synced(600)
    usage = UsageSummary()

    def summary() -> Summary:
        assert nodes.table is not None
        assert pods.table is not None
        return usage.summary(nodes.table, pods.table, MODELS)

    return summary


def run() -> None:
    pages = {
        NODES.path(): pages_of([node(number) for number in range(NODES_THERE)]),
        PODS.path(): pages_of([pod(number, number % NODES_THERE) for number in range(PODS_THERE)]),
    }
    size = sum(map(len, pages[PODS.path()])) // PODS_THERE
    print(f"{PODS_THERE:,} Pods of {size:,} bytes as JSON, on {NODES_THERE} Nodes")
    old, new = asyncio.run(_measured(anew, pages)), asyncio.run(_measured(by_difference, pages))
    assert old["summary"] == new["summary"]
    print(f"{'':<44}{'anew':>12}{'difference':>12}{'ratio':>8}")
    for what, unit, each in (
        ("listed, and the first summary", "µs a Pod", PODS_THERE / 1e6),
        (f"{CHANGED} events", "µs an event", CHANGED / 1e6),
        (f"the look after {CHANGED} events", "ms", 1e-3),
    ):
        _print(f"{what}, {unit}", old[what] / each, new[what] / each)
    before = [asyncio.run(_allocated(follow, pages)) / PODS_THERE for follow in (anew, by_difference)]
    _print("memory, with the Nodes, bytes a Pod", *before)
    _fleet(pages)


def _print(what: str, old: float, new: float) -> None:
    print(f"{what:<44}{old:>12.2f}{new:>12.2f}{old / new:>8.1f}", flush=True)


async def _measured(follow: Follow, pages: dict[str, list[bytes]]) -> dict[str, Any]:
    """CPU seconds of each part, and the last summary."""
    answers, found = Answers(pages), dict[str, Any]()
    async with Supervisor("bench") as supervisor:
        began = time.process_time()
        summary = await follow(Informers(Client(answers), Randomness(0), supervisor, CacheBudget()))
        first = summary()
        found["listed, and the first summary"] = time.process_time() - began
        for number in range(CHANGED):
            answers.events.put_nowait(changed_pod(number))
        began = time.process_time()
        await answers.events.join()
        found[f"{CHANGED} events"] = time.process_time() - began
        asked = answers.requests
        began = time.process_time()
        found["summary"] = summary()
        found[f"the look after {CHANGED} events"] = time.process_time() - began
        assert found["summary"] != first
        assert asked == answers.requests, "a look asks for nothing"
    return found


async def _allocated(follow: Follow, pages: dict[str, list[bytes]]) -> int:
    """Bytes that are kept of one member."""
    async with Supervisor("bench") as supervisor:
        tracemalloc.start()
        summary = await follow(Informers(Client(Answers(pages)), Randomness(0), supervisor, CacheBudget()))
        summary()
        kept = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
    return kept


def _fleet(pages: dict[str, list[bytes]]) -> None:
    async def follow_all() -> None:
        async with Supervisor("bench") as supervisor:
            summaries: list[Callable[[], Summary]] = []
            for number in range(MEMBERS):
                informers = Informers(Client(Answers(pages)), Randomness(number), supervisor, CacheBudget())
                summaries.append(await by_difference(informers))
            assert len({str(summary()) for summary in summaries}) == 1
            kept = _resident() - before
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"{MEMBERS * PODS_THERE:,} Pods in {MEMBERS} members: {kept / MiB:.0f} MiB, goal {GOAL_MIB} MiB")
            print(f"bytes a Pod: {kept / MEMBERS / PODS_THERE:.0f}; peak of the process: {peak:.0f} MiB")

    before = _resident()
    asyncio.run(follow_all())


def _resident() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize()


def pages_of(items: list[dict[str, Any]]) -> list[bytes]:
    starts = range(0, len(items), PAGE_SIZE)
    return [
        json.dumps(
            {
                "metadata": {"resourceVersion": "9", "continue": str(number + 1) if number + 1 < len(starts) else ""},
                "items": items[start : start + PAGE_SIZE],
            }
        ).encode()
        for number, start in enumerate(starts)
    ]


def changed_pod(number: int) -> bytes:
    """An event: a Pod has ended, or another one of its name is on another Node."""
    changed = pod(number, (number * 7 + 3) % NODES_THERE)
    changed["metadata"]["resourceVersion"] = str(100 + number)
    changed["status"]["phase"] = "Succeeded" if number % 2 else "Running"
    return json.dumps({"type": "MODIFIED", "object": changed}).encode()


def node(number: int) -> dict[str, Any]:
    memory = 32_000_000 + 1_024 * (number % 50)
    return {
        "metadata": metadata(f"node-{number}", ""),
        "spec": {"podCIDR": "10.0.0.0/24"},
        "status": {
            "allocatable": {"cpu": "15890m", "memory": f"{memory}Ki", "pods": "110", "ephemeral-storage": "90Gi"},
            "conditions": [{"type": "Ready", "status": "True", "reason": "KubeletReady", "message": "x" * 40}],
            "images": [{"names": ["registry.example/" + "i" * 60], "sizeBytes": 10_000_000}] * 20,
        },
    }


def pod(number: int, on: int) -> dict[str, Any]:
    application = number % APPLICATIONS
    requests = {"cpu": f"{100 + application % 40 * 10}m", "memory": f"{128 + application}Mi"}
    container = {
        "name": "web",
        "image": "registry.example/web@sha256:" + "0" * 64,
        "env": [{"name": f"VARIABLE_{i}", "value": "value" * 4} for i in range(10)],
        "resources": {"requests": requests, "limits": {"memory": "2Gi"}},
        "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}],
    }
    return {
        "metadata": metadata(f"application-{application}-7c5ddbdf54-{number:05x}", f"team-{application % 50}"),
        "spec": {"nodeName": f"node-{on}", "containers": [container, {**container, "name": "proxy"}]},
        "status": {
            "phase": "Running",
            "conditions": [{"type": kind, "status": "True"} for kind in ("Ready", "PodScheduled", "Initialized")],
            "containerStatuses": [{"name": "web", "ready": True, "image": container["image"]}] * 2,
        },
    }


def metadata(name: str, namespace: str) -> dict[str, Any]:
    return {
        "name": name,
        "namespace": namespace,
        "uid": f"{hash(name) & 0xFFFFFFFFFFFF:036x}",
        "resourceVersion": "8",
        "creationTimestamp": "2026-11-23T12:00:00Z",
        "labels": {"app.kubernetes.io/name": name.rsplit("-", 2)[0], "pod-template-hash": "7c5ddbdf54"},
        "managedFields": [{"manager": "kubelet", "fieldsV1": {f"f:field{i}": {} for i in range(40)}}] * 2,
    }
