"""The dashboard's server on a large fleet: the first view, what a change costs, and what one more viewer costs."""

import asyncio
import gc
import resource
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, TypeVar

import msgspec

from bench.foresight import NOW, fleet_state
from bench.servers import Target
from kubeapi.resource import Resource
from kubeclient import Client
from leeward.answers.fleet_state import RecordedFleet
from leeward.api.resource import CLUSTERS as CLUSTER_KIND
from leeward.api.resource import RESOURCE_BINDINGS
from leeward.api.work import AggregatedStatusItem, ResourceBinding, ResourceBindingStatus
from leeward.dashboard.feed import Feed
from leeward.dashboard.rights import WHOLE_SIGHT
from leeward.dashboard.seen_fleet import SeenFleet
from leeward.dashboard.views import FleetRenderer

T = TypeVar("T")
BINDINGS, CLUSTERS = 10_000, 100
VIEWERS, ROUNDS, AT_ONCE = 100, 20, 32


def run() -> None:
    state = fleet_state(BINDINGS, CLUSTERS)
    bindings = [reported(binding) for binding in state.recorded.bindings]
    seen = SeenFleet(control_plane="bench", now=NOW, clusters=state.recorded.clusters, bindings=bindings)
    renderer, feed = FleetRenderer(WHOLE_SIGHT), Feed("bench")
    gc.collect()
    print(f"{BINDINGS} applications, {CLUSTERS} clusters; seconds of the processor")
    before = _memory()
    first, collections = _timed(lambda: renderer.render(seen))
    feed.publish(seen.now, collections)
    framing, (_, frames) = _timed(feed.open)
    size = sum(len(frame.plain) for frame in frames) / 2**20
    print(f"  first view: rendered {first:.3f}, framed {framing:.3f}; {size:.1f} MiB")
    packing, packed = _timed(lambda: sum(len(frame.packed) for frame in frames))
    print(f"  compressed {packing:.3f}, to {packed / 2**10:.0f} KiB: of one version, for all who come")
    print(f"  memory of the rows {(_memory() - before) / 2**20:.0f} MiB")
    readers = [feed.open()[0] for _ in range(VIEWERS)]
    rendering = publishing = 0.0
    for number in range(ROUNDS):
        seen = _changed(seen, number)
        took, collections = _timed(lambda seen=seen: renderer.render(seen))
        rendering += took
        publishing += _timed(lambda seen=seen, collections=collections: feed.publish(seen.now, collections))[0]
    print(f"  one changed application: rendered {rendering / ROUNDS:.3f}, of {renderer.last}")
    print(f"  a change told to {len(readers)} viewers {publishing / ROUNDS:.4f}")
    each, _ = _timed(lambda: [feed.open() for _ in range(VIEWERS)])
    print(f"  one more viewer {each / VIEWERS:.4f}, who shares all of it")


def reported(binding: ResourceBinding) -> ResourceBinding:
    """Binding with a report by which all of it serves."""
    items = tuple(
        AggregatedStatusItem(cluster_name=target.name, status={"readyReplicas": 2}, applied=True, health="Healthy")
        for target in binding.spec.clusters
    )
    return msgspec.structs.replace(binding, status=ResourceBindingStatus(aggregated_status=items))


async def fill(target: Target, recorded: RecordedFleet) -> None:
    """Writes the clusters, and the bindings with their reports, to a server."""
    client = target.client()
    await _create(client, CLUSTER_KIND, recorded.clusters)
    await _create(client, RESOURCE_BINDINGS, [reported(each) for each in recorded.bindings])
    await client.close()


async def _create(client: Client, kind: Resource[Any], objects: Sequence[Any]) -> None:
    few = asyncio.Semaphore(AT_ONCE)

    async def create(each: Any) -> None:
        async with few:
            made = await client.create(kind, each, each.namespace)
            made = msgspec.structs.replace(made, status=each.status)
            await client.update(kind, made, each.name, each.namespace, "status")

    await asyncio.gather(*map(create, objects))


def _changed(seen: SeenFleet, number: int) -> SeenFleet:
    """One binding other than it was, a second later."""
    bindings = list(seen.bindings)
    status = msgspec.structs.replace(bindings[number].status, last_scheduled_time=NOW + timedelta(seconds=number))
    bindings[number] = msgspec.structs.replace(bindings[number], status=status)
    return SeenFleet(
        control_plane="bench",
        now=seen.now + timedelta(seconds=1),
        clusters=seen.clusters,
        bindings=bindings,
    )


def _timed(work: Callable[[], T]) -> tuple[float, T]:
    begun = time.process_time()
    result = work()
    return time.process_time() - begun, result


def _memory() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
