"""A control plane that takes over from Karmada writes next to nothing: issue of its users' uids, Pods and addresses.

The recording is a Karmada at rest: 50 Deployments of all kinds of placement, one with a ConfigMap that it needs, an
OverridePolicy and a ClusterRole, in two Push members and one with Karmada's own agent.
"""

from collections import Counter
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from kubeapi.core import EVENTS
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubecluster.journal import Write
from leeward.api.resource import RESOURCE_BINDINGS, WORKS
from leeward.sim.world import World
from tests.migration.karmada_agent import KarmadaAgent
from tests.migration.recorded import CONTROL_PLANE, MEMBERS, RecordedWorld, recorded
from tests.world.stories import DEPLOYMENTS

WATCHED_SECONDS = 600
"""Twice the longest period in which something is looked at again."""
BINDINGS = ("/work.karmada.io/resourcebindings/", "/work.karmada.io/clusterresourcebindings/")
TEMPLATES = "/apps/deployments/"
OWN = ("/coordination.k8s.io/leases/", "//nodes/")
"""Heartbeats of whomever."""


class Writes:
    """Writes that become durable from now on, but for heartbeats."""

    def __init__(self, world: World) -> None:
        self.all: list[Write] = []
        world.journal.on_write(self._note)

    def _note(self, write: Write) -> None:
        if not write.record.key.startswith(OWN):
            self.all.append(write)

    def of(self, place: str, *prefixes: str) -> Counter[str]:
        return Counter(w.record.key for w in self.all if w.place == place and w.record.key.startswith(prefixes))


def take_over(story: Callable[[RecordedWorld, Writes], Awaitable[None]], *, own_agent: bool) -> None:
    """Runs a story in which Leeward's controllers have just been started. `own_agent`: Leeward's agent takes the place
    of Karmada's, which else goes on."""

    async def run() -> None:
        async with RecordedWorld() as world:
            await world.sleep(5)
            writes = Writes(world)
            member = world.member("member3")
            agent = KarmadaAgent(world, member)
            if own_agent:
                member.start_agent()
            else:
                agent.start()
            world.start_controllers()
            await story(world, writes)
            await agent.stop()

    run_virtual(run())


def specs(server: str, plural: str) -> dict[str, Manifest]:
    """Specs by namespace and name, as recorded."""
    found = (manifest for kind, manifest in recorded(server) if kind == plural)
    return {f"{each['metadata']['namespace']}/{each['metadata']['name']}": each["spec"] for each in found}


def kept(world: World, place_prefix: str) -> dict[str, Manifest]:
    assert world.store is not None
    records = world.store.list(place_prefix).records
    decoded = (msgspec.json.decode(record.value) for record in records)
    return {f"{each['metadata']['namespace']}/{each['metadata']['name']}": each["spec"] for each in decoded}


def assert_next_to_nothing_is_written(world: World, writes: Writes) -> None:
    for name in MEMBERS:
        assert writes.of(name, "/") == Counter(), name
    for prefix in (*BINDINGS, "/work.karmada.io/works/"):
        counts = writes.of(World.NAME, prefix)
        assert set(counts.values()) <= {1}, counts.most_common(3)
    assert set(writes.of(World.NAME, TEMPLATES).values()) <= {1}, "their first conditions, which are no work of adopt"
    others = [key for key in writes.of(World.NAME, "/apps/") if not key.startswith(TEMPLATES)]
    assert not others
    assert writes.of(World.NAME, "//configmaps/", "/policy.karmada.io/") == Counter()
    assert kept(world, "/work.karmada.io/works/") == specs(CONTROL_PLANE, "works")
    assert kept(world, "/work.karmada.io/resourcebindings/") == specs(CONTROL_PLANE, "resourcebindings")


@pytest.mark.long
def test_a_switch_with_a_new_agent_writes_no_object_of_a_member() -> None:
    async def story(world: RecordedWorld, writes: Writes) -> None:
        await world.sleep(WATCHED_SECONDS)
        assert all(world.is_ready(name) for name in MEMBERS)
        assert_next_to_nothing_is_written(world, writes)

    take_over(story, own_agent=True)


@pytest.mark.long
def test_a_switch_beside_karmadas_own_agent_writes_nothing_of_its_works() -> None:
    async def story(world: RecordedWorld, writes: Writes) -> None:
        await world.sleep(WATCHED_SECONDS)
        assert all(world.is_ready(name) for name in MEMBERS)
        assert_next_to_nothing_is_written(world, writes)
        assert writes.of(World.NAME, "/work.karmada.io/works/karmada-es-member3/") == Counter()
        events = (await world.client.list(EVENTS)).items
        told = [event for event in events if event.reason == "AgentTellsNoGeneration"]
        assert [(event.involved_object.name, event.count) for event in told] == [("member3", 1)]

    take_over(story, own_agent=False)


@pytest.mark.long
def test_a_failover_to_a_member_with_karmadas_own_agent_ends() -> None:
    """Reports of that agent are taken as evidence: the copies are ready, templates say so, and no task stays."""

    async def story(world: RecordedWorld, writes: Writes) -> None:
        await world.sleep(60)
        before = {work.name: work for work in (await world.client.list(WORKS, "karmada-es-member3")).items}
        await world.member("member1").stop()
        await world.sleep(900)
        bindings = (await world.client.list(RESOURCE_BINDINGS, "default")).items
        assert not [binding.name for binding in bindings if binding.spec.graceful_eviction_tasks]
        moved = {work.name for work in (await world.client.list(WORKS, "karmada-es-member3")).items} - before.keys()
        assert moved
        for binding in bindings:
            clusters = {target.name for target in binding.spec.clusters}
            if binding.spec.resource.kind == "Deployment" and "member1" not in clusters:
                template = await world.client.get(DEPLOYMENTS, binding.spec.resource.name, "default")
                assert template["status"]["readyReplicas"] == sum(t.replicas for t in binding.spec.clusters)
        assert writes.of("member2", "/apps/deployments/")

    take_over(story, own_agent=False)
