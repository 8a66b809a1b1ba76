"""The memory of a manifest that an informer keeps: as mappings, and packed in its cache.

The objects are those of a Deployment that was propagated in a simulated fleet: its template, and what became of it in a
member, with what their managers own. KiB for each of many, by what Python itself has allocated.
"""

import re
import tracemalloc
from collections.abc import Callable
from uuid import uuid4

from bench.binding import MEMBERS, policy
from bench.copies import NAMESPACE, deployment
from bench.member import DEPLOYMENTS
from controller_runtime.identity import Key
from controller_runtime.informer_cache import InformerCache, without_owned_fields
from controller_runtime.packing import RecentObjects
from kubeapi import codec
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeclient import NotFound
from leeward.api.resource import PROPAGATION_POLICIES
from leeward.manager.timing import Timing
from leeward.sim.world import World

OBJECTS = 2_000
SETTLED_SECONDS = 60
GOAL_RATIO = 0.1
_ID = re.compile(rb'"[0-9a-f]{8}-[0-9a-f-]{27}"')


def run() -> None:
    template, *copies = run_virtual(_propagated())
    print(f"{'KiB of an object':<24}{'mappings':>10}{'cache':>8}{'ratio':>8}{'goal':>6}")
    for title, obj in (("template", template), ("object in a member", copies[0])):
        body = codec.encode(obj)
        plain, packed = _kib(lambda body=body: _mappings(body)), _kib(lambda body=body: _cached(body))
        print(f"{title:<24}{plain:>10.1f}{packed:>8.1f}{packed / plain:>8.2f}{GOAL_RATIO:>6g}")


def _mappings(body: bytes) -> object:
    return {Key(NAMESPACE, f"app-{number}"): _manifest(body, number) for number in range(OBJECTS)}


def _cached(body: bytes) -> object:
    cache: InformerCache[Manifest] = InformerCache(dict, RecentObjects(0))
    for number in range(OBJECTS):
        cache.put(Key(NAMESPACE, f"app-{number}"), without_owned_fields(_manifest(body, number)))
    return cache


def _manifest(body: bytes, number: int) -> Manifest:
    """Manifest like that of `body`, with a name and IDs of its own."""
    text = body.replace(b"app-0", f"app-{number}".encode())
    return codec.decode_manifest(_ID.sub(lambda _: f'"{uuid4()}"'.encode(), text))


def _kib(made: Callable[[], object]) -> float:
    tracemalloc.start()
    kept = made()
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    del kept
    return used / OBJECTS / 1024


async def _propagated() -> list[Manifest]:
    """The template, and what became of it in members."""
    async with World(dict.fromkeys(MEMBERS, "Push"), Timing.karmada()) as world:
        await world.until(lambda: all(world.is_ready(name) for name in MEMBERS), SETTLED_SECONDS)
        await world.client.create(PROPAGATION_POLICIES, policy(), NAMESPACE)
        await world.client.create(DEPLOYMENTS, deployment(0), NAMESPACE)
        await world.sleep(SETTLED_SECONDS)
        found = [await world.client.get(DEPLOYMENTS, "app-0", NAMESPACE)]
        for name in MEMBERS:
            try:
                found.append(await world.member(name).client.get(DEPLOYMENTS, "app-0", NAMESPACE))
            except NotFound:
                continue
        return found
