"""Start on what is stored: the control plane comes up with any object in its store, and lets it be deleted.

    has            the right to write objects of each kind, past admission
    does           makes a list of each as large as the API server takes it
    must not get   a control plane that does not come up, or whose API server does not let these objects be deleted

Holds: L4.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from kubeapi.codec import encode
from kubeapi.resource import Resource
from kubeclient import ApiError, NotFound
from kubeserver.limits import MAX_STORED_BYTES, MAX_VALUES
from leeward.api.resource import OUTAGES, RESOURCE_BINDINGS
from leeward.api.schema import CUSTOM_KINDS
from leeward.sim.world import World
from tests.security.largest_objects import FIXED, fields_of, namespace_of, with_field
from tests.security.worlds import UnaskedWorld, play_in
from tests.world.stories import ready_replicas
from tests.world.test_unwatched_time import PUSH, web_runs

TERMS = ".spec.placement.clusterAffinities"


def largest(kind: Resource[Any]) -> tuple[str, int]:
    """Field of the kind that has the most elements where it is as large as may be, and their number."""

    def fields() -> Iterator[tuple[bool, int, str]]:
        for path, _ in fields_of(kind):
            if FIXED.search(path) or path.startswith(".metadata") or (".status" in path and kind is not OUTAGES):
                continue
            few, many = (encode(with_field(kind, path, count)) for count in (100, 1_100))
            values = max(many.count(b",") - few.count(b","), 1)
            size = min(MAX_STORED_BYTES * 900 / max(len(many) - len(few), 1), MAX_VALUES * 990 / values)
            yield values > 1, int(size), path

    _, size, path = max(fields())
    return path, size


async def store(world: World, kind: Resource[Any], name: str, path: str, size: int) -> Resource[Any]:
    """Stores the largest object that is taken with the owners of its fields."""
    raw = Resource.of_manifests(kind.api_version, kind.plural, kind.kind, kind.namespaced)
    while True:
        try:
            await world.client.create(raw, with_field(kind, path, size, name), namespace_of(kind))
        except ApiError:
            size = size * 2 // 3
        else:
            return raw


@pytest.mark.long
def test_l4_the_control_plane_comes_up_with_the_largest_object_of_each_kind() -> None:
    async def story(world: World) -> None:
        await web_runs(world)
        runs = [await ready_replicas(world, name, "web") for name in world.members]
        stored = list[tuple[Resource[Any], str, str]]()
        await world.stop_controllers()
        for kind in (each.resource for each in CUSTOM_KINDS):
            raw = await store(world, kind, "large", *largest(kind))
            stored.append((raw, "large", namespace_of(kind)))
        raw = await store(world, RESOURCE_BINDINGS, "terms", TERMS, 15_000)
        stored.append((raw, "terms", namespace_of(RESOURCE_BINDINGS)))
        await world.stop_apiserver()
        await world.start_control_plane()
        await world.sleep(20)
        for raw, name, namespace in stored:
            await world.client.delete(raw, name, namespace)
        await world.sleep(20)
        left = list[str]()
        for raw, name, namespace in stored:
            try:
                await world.client.get(raw, name, namespace)
            except NotFound:
                continue
            left.append(raw.kind)
        assert left == []
        assert [await ready_replicas(world, name, "web") for name in world.members] == runs

    play_in(UnaskedWorld, story, PUSH)
