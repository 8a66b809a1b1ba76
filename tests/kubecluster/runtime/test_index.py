"""Indexes of an informer's objects: they say what a search through all of them would."""

import asyncio
import random

from controller_runtime.index import Index, IndexOfMany
from controller_runtime.informer import Informer
from kubeapi.core import CONFIG_MAPS, ConfigMap
from tests.kubecluster.runtime.small_world import SmallWorld, tell

CHANGES, OBJECTS, VALUES = 200, 12, "abcde"


def test_objects_are_found_by_each_of_their_values_as_by_a_search_through_all() -> None:
    async def story(world: SmallWorld) -> None:
        informer: Informer[ConfigMap] = world.informer()
        draw, found = random.Random(0), 0
        many, one = IndexOfMany(informer, lambda each: each.data), Index(informer, _first)
        await informer.wait_synced()
        for _ in range(CHANGES):
            await _change(world, informer, draw)
            await asyncio.sleep(0.1)
            for value in VALUES:
                having = {each.name for each in informer.list() if value in each.data}
                assert {each.name for each in many.get(value)} == having
                assert {each.name for each in one.get(value)} == {e.name for e in informer.list() if _first(e) == value}
                found += len(having)
        assert found > CHANGES

    tell(story)


def _first(found: ConfigMap) -> str | None:
    return min(found.data, default=None)


async def _change(world: SmallWorld, informer: Informer[ConfigMap], draw: random.Random) -> None:
    """Makes an object, gives it other values, or deletes it."""
    name = f"map-{draw.randrange(OBJECTS)}"
    known = informer.get(name, "default")
    if known is None:
        await world.write(name, **dict.fromkeys(draw.sample(VALUES, 2), ""))
    elif draw.random() < 0.3:
        await world.delete(name)
    else:
        data: dict[str, str | None] = {**dict.fromkeys(known.data), **dict.fromkeys(draw.sample(VALUES, 2), "")}
        await world.direct.patch(CONFIG_MAPS, name, {"data": data}, "default")
