"""Stalls: the work that the largest object of each field makes at once, from admission to its deletion.

    has            the right to write one object of a kind
    does           makes each list, map and text of it as large as the API server takes it, one at a time
    must not get   a piece of work that keeps the loop for more than a quarter of a second

The fields are those of our types, so that a new one is played, or fails here until `largest_objects.py` has an element
of it. Holds: L4.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import pytest

from kubeapi.codec import encode
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import AlreadyExists, Invalid, NotFound, WorldError
from leeward.api.resource import (
    CLUSTER_OVERRIDE_POLICIES,
    CLUSTER_PROPAGATION_POLICIES,
    CLUSTER_RESOURCE_BINDINGS,
    OUTAGES,
    OVERRIDE_POLICIES,
    PROPAGATION_POLICIES,
    RESOURCE_BINDINGS,
)
from leeward.api.schema import CUSTOM_KINDS
from leeward.api.validation import type_problem
from leeward.manager.timing import Timing
from leeward.sim.world import World
from tests.security.largest_objects import BASES, FIXED, fields_of, namespace_of, with_field
from tests.security.pieces import MOST_STEPS, Pieces, recorded
from tests.world.stories import apply, deployment, policy
from tests.world.test_dashboard import Page
from tests.world.test_overrides import BOTH

TWO = ("member1", "member2")
MOST_BYTES = 3_000_000
MOST_VALUES = 99_000
"""Bounds of a body that the API server reads at all."""
TOLD_COUNT = re.compile(
    r"at most (\d+) (?:items|affinities|overriders|terms)|may (?:have at most|have|name) (\d+)(?! bytes)"
)
TOLD_BYTES = re.compile(r"(?:more than|at most) (\d+) (?:bytes|characters)")
TOLD_AMOUNT = re.compile(r"more than (\d+) (fields|values)")
TOLD_STORED = re.compile(r"would be (\d+) bytes")
KINDS = [each.resource for each in CUSTOM_KINDS]
TWINS = {
    CLUSTER_PROPAGATION_POLICIES: PROPAGATION_POLICIES,
    CLUSTER_OVERRIDE_POLICIES: OVERRIDE_POLICIES,
    CLUSTER_RESOURCE_BINDINGS: RESOURCE_BINDINGS,
}
"""Cluster-wide kinds by those of the same types. Of these the lists and maps are played that are in no list: the same
code looks at each element, and what may differ looks at the whole."""
CONFIGURED = PROPAGATION_POLICIES
"""Kind with which metadata are played."""
TOGETHER = 12
"""Objects that are there at the same time, each with another large field."""
AGAIN = 5
"""Times that a long piece is looked at again: another program of the machine may have had its caches. A piece is long
if it is long each time."""


def played_fields(kind: Resource[Any]) -> Iterator[str]:
    """Fields that are played with the kind. Of several that have one type, the first has its inner fields, too."""
    for path, schema in fields_of(kind):
        of_all = path.startswith(".metadata") and kind is not CONFIGURED
        of_policies = path.startswith(".spec.placement.") and kind is not PROPAGATION_POLICIES
        of_twin = kind in TWINS and (schema.get("type") == "string" or "[]" in path or "{}" in path)
        if not FIXED.search(path) and not of_all and not of_policies and not of_twin:
            yield path


class Attack:
    """Objects of one kind in a world; `long` has the pieces that were too long, by field."""

    def __init__(self, world: World, kind: Resource[Any], pieces: Pieces, page: Page) -> None:
        self._world, self._kind, self._pieces, self._page = world, kind, pieces, page
        self._resource = Resource.of_manifests(kind.api_version, kind.plural, kind.kind, kind.namespaced)
        self._namespace = namespace_of(kind)
        self._sizes: dict[str, int] = {}
        self.long: dict[str, str] = {}
        self.refused: dict[str, str] = {}

    async def play(self, paths: Sequence[str]) -> None:
        """Writes an object for each field, one after the other, and lives with all of them. Where something was long
        all are played again: what was short once is not long."""
        ever_short, long = set[str](), dict[str, str]()
        for _ in range(AGAIN + 1):
            long.clear()
            for number, path in enumerate(paths):
                self._pieces.begin()
                await self._write(path, f"large{number}")
                self._tell(long, path)
            self._pieces.begin()
            await self._live([f"large{number}" for number in range(len(paths))])
            self._tell(long, " or ".join(paths))
            ever_short |= {*paths, " or ".join(paths)} - long.keys()
            if long.keys() <= ever_short:
                return
            for path in long:  # a refusal may have been long: refused bodies are sent again, too
                self._sizes.pop(path, None)
        self.long.update({path: told for path, told in long.items() if path not in ever_short})

    def _tell(self, long: dict[str, str], path: str) -> None:
        if self._pieces.longest > MOST_STEPS:
            long[path] = f"{self._pieces.longest} steps of {self._sizes.get(path, 0)} at {self._pieces.where}"

    async def _write(self, path: str, name: str) -> None:
        """Writes the largest object that is taken."""
        size = self._sizes.get(path) or self._most(path)
        while size:
            manifest = with_field(self._kind, path, size, name)
            self._pieces.pass_over()
            try:
                await (self._write_status if path.startswith(".status") else self._create)(manifest)
            except WorldError as error:
                self.refused[path] = str(error)[:300]
                size = _smaller(size, encode(manifest), str(error))
            else:
                self.refused.pop(path, None)
                break
        self._sizes[path] = size

    def _most(self, path: str) -> int:
        """Size of the largest body that is read."""
        few, many = (encode(with_field(self._kind, path, count)) for count in (100, 1_100))
        values = max(many.count(b",") - few.count(b","), 1)
        return int(min(MOST_BYTES * 1_000 / max(len(many) - len(few), 1), MOST_VALUES * 1_000 / values))

    async def _create(self, manifest: Manifest) -> None:
        await self._world.client.create(self._resource, manifest, self._namespace)

    async def _write_status(self, manifest: Manifest) -> None:
        there = {key: value for key, value in manifest.items() if key != "status"}
        with suppress(AlreadyExists):
            await self._create(there)
        subresource, name = "" if self._kind is OUTAGES else "status", manifest["metadata"]["name"]
        patch = {"status": manifest["status"]}
        await self._world.client.patch(self._resource, name, patch, self._namespace, subresource=subresource)

    async def _live(self, names: Sequence[str]) -> None:
        """Everybody looks at the objects, somebody changes them, and they are deleted."""
        client = self._world.client
        await self._page.told(self._world, 20)
        for name in names:
            with suppress(Invalid, NotFound):
                await client.patch(self._resource, name, {"metadata": {"annotations": {"a": "b"}}}, self._namespace)
        await self._world.sleep(20)
        for name in names:
            with suppress(NotFound):
                await client.delete(self._resource, name, self._namespace)
        await self._world.sleep(5)
        for name in names:
            with suppress(NotFound):
                await client.patch(self._resource, name, {"metadata": {"finalizers": None}}, self._namespace)
        await self._world.sleep(20)


def _smaller(size: int, body: bytes, said: str) -> int:
    """The next size to try, by what a refusal says of its bound."""
    if told := TOLD_COUNT.search(said):
        bound = int(told[1] or told[2])
    elif told := TOLD_BYTES.search(said):
        stored = TOLD_STORED.search(said)
        bound = int(size * 0.97 * int(told[1]) / (int(stored[1]) if stored else len(body)))
    elif told := TOLD_AMOUNT.search(said):
        found = body.count(b'":' if told[2] == "fields" else b",")
        bound = int(size * 0.97 * int(told[1]) / found) if found > int(told[1]) else size // 2
    else:
        bound = size // 8
    return bound if bound < size else size // 8


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_every_field_has_an_object_in_which_it_is_large(kind: Resource[Any]) -> None:
    """A field whose elements are not known here gives an object that its type cannot hold."""
    fields = [path for path, _ in fields_of(kind) if not FIXED.search(path)]
    assert len(fields) > 10
    for path in fields:
        assert type_problem(with_field(kind, path, 2)) is None, path


def test_every_field_is_played_with_a_kind_that_has_its_type() -> None:
    played = {kind: {*played_fields(kind)} for kind in KINDS}
    for kind in KINDS:
        twin = TWINS.get(kind, kind)
        assert [*fields_of(kind)] == [*fields_of(twin)]
        fields = {path for path, _ in fields_of(kind) if not FIXED.search(path)}
        shared = {path for path in fields if path.startswith((".metadata", ".spec.placement."))}
        assert fields - shared - played[twin] == set()
        assert shared - played[PROPAGATION_POLICIES] == set()


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_l4_no_object_of_a_kind_stops_the_loop(kind: Resource[Any]) -> None:
    long, refused = dict[str, str](), dict[str, str]()

    async def story(pieces: Pieces) -> None:
        async with World(dict.fromkeys(TWO, "Push"), Timing.karmada()) as world, Supervisor("page") as supervisor:
            await world.until(lambda: all(world.is_ready(name) for name in TWO), 60)
            claimed = [] if "placement" in str(BASES[kind]) else [policy("app", BOTH)]
            await apply(world.client, deployment("web", 2), policy("web", BOTH), deployment("app", 2), *claimed)
            await world.sleep(60)
            attack = Attack(world, kind, pieces, Page(world, supervisor))
            fields = [*played_fields(kind)]
            for at in range(0, len(fields), TOGETHER):
                await attack.play(fields[at : at + TOGETHER])
            long.update(attack.long)
            refused.update(attack.refused)

    with recorded() as pieces:
        run_virtual(story(pieces))
    assert (long, refused) == ({}, {})
