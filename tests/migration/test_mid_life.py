"""A control plane is taken over while things are under way: a member is away, an eviction of Karmada's is open, a
program of Karmada's comes back; and what Karmada has left behind can be deleted afterwards."""

import asyncio
from collections.abc import Mapping

import pytest

from kubeapi.core import LEASES
from kubeapi.meta import Manifest
from kubeclient import Client, NotFound
from leeward.api.names import SYSTEM_NAMESPACE
from leeward.api.resource import PROPAGATION_POLICIES, RESOURCE_BINDINGS, WORKS
from leeward.api.work import Binding
from leeward.app.local.errors import FleetError
from leeward.app.migration.adopting import adopt, plan
from leeward.app.migration.kinds import CLUSTER_MANIFESTS
from leeward.operations.bindings import list_manifests
from leeward.sim.world import World
from tests.migration.aggregated import AggregatedWorld
from tests.migration.karmada_agent import KarmadaAgent
from tests.migration.recorded import MEMBERS, RecordedWorld
from tests.migration.test_adopting import assert_owned, play
from tests.migration.test_switch import Writes, take_over
from tests.world.stories import DEPLOYMENTS, ready_replicas, with_room, without_room

TAINTED_AT = "2026-11-22T12:00:00Z"
"""An hour and more before the switch."""


def quiet(_said: str) -> None:
    """Listens to nothing."""


async def uids_in(client: Client) -> dict[str, str]:
    """Deployments of a member, by name."""
    return {each["metadata"]["name"]: each["metadata"]["uid"] for each in await list_manifests(client, DEPLOYMENTS)}


async def bindings(world: World) -> Mapping[str, Binding]:
    return {each.name: each for each in (await world.client.list(RESOURCE_BINDINGS, "default")).items}


def clusters_of(binding: Binding) -> set[str]:
    return {target.name for target in binding.spec.clusters}


async def is_gone(world: World, name: str) -> bool:
    for member in MEMBERS:
        if name in await uids_in(world.member(member).client):
            return False
    works = [each for each in (await world.client.list(WORKS)).items if each.name.startswith(f"{name}-")]
    return not works and f"{name}-deployment" not in await bindings(world)


@pytest.mark.long
def test_a_member_that_karmada_had_tainted_and_that_is_back_keeps_its_copies() -> None:
    """Karmada saw member1 die and was stopped; it is back by the time of the switch. No policy tolerates anything."""

    async def story(world: AggregatedWorld) -> None:
        agent = KarmadaAgent(world, world.member("member3"))
        agent.start()
        await taint_as_karmada_does(world, "member1")
        before = {name: clusters_of(each) for name, each in (await bindings(world)).items()}
        copies = {member: await uids_in(world.member(member).client) for member in MEMBERS}
        said = [remark.sentence for remark in (await plan(world.user, world.clock)).remarks]
        (told,) = [each for each in said if "NoExecute" in each]
        assert told.startswith("member1 has a NoExecute taint (cluster.karmada.io/not-ready): applications that do not")
        await adopt(world.user, world.clock, quiet)
        world.start_controllers()
        for _ in range(8):
            await world.sleep(40)
            found = await bindings(world)
            assert {name: clusters_of(each) for name, each in found.items()} == before
            assert not [name for name, each in found.items() if each.spec.graceful_eviction_tasks]
        assert not (await world.client.get(CLUSTER_MANIFESTS, "member1"))["spec"].get("taints")
        assert {member: await uids_in(world.member(member).client) for member in MEMBERS} == copies
        await agent.stop()

    play(story)


async def taint_as_karmada_does(world: AggregatedWorld, name: str) -> None:
    key = "cluster.karmada.io/not-ready"
    taints = [{"key": key, "effect": effect, "timeAdded": TAINTED_AT} for effect in ("NoSchedule", "NoExecute")]
    await world.aggregated.patch(CLUSTER_MANIFESTS, name, {"spec": {"taints": taints}})
    ready = {"type": "Ready", "status": "False", "reason": "ClusterNotReachable", "message": "cluster is not reachable"}
    status = {"conditions": [{**ready, "lastTransitionTime": TAINTED_AT}]}
    await world.aggregated.patch(CLUSTER_MANIFESTS, name, {"status": status}, subresource="status")


@pytest.mark.long
def test_an_eviction_that_karmada_had_begun_takes_no_copy_before_there_is_another() -> None:
    """Karmada's scheduler had placed the replacement, for which member2 has no room; the grace period is long over."""

    async def story(world: AggregatedWorld) -> None:
        agent = KarmadaAgent(world, world.member("member3"))
        agent.start()
        both = {"member1", "member2"}
        name, binding = next((n, b) for n, b in (await bindings(world)).items() if both == set(divided_over(b)))
        application, shares = name.removesuffix("-deployment"), divided_over(binding)
        task = {
            "fromCluster": "member1",
            "replicas": shares["member1"],
            "reason": "TaintUntolerated",
            "producer": "TaintManager",
            "purgeMode": "Gracefully",
            "creationTimestamp": TAINTED_AT,
        }
        moved = [{"name": "member2", "replicas": binding.spec.replicas}]
        spec = {"spec": {"clusters": moved, "gracefulEvictionTasks": [task]}}
        await without_room(world, "member2")
        await adopt(world.user, world.clock, quiet)
        await world.client.patch(RESOURCE_BINDINGS, name, spec, "default")
        world.start_controllers()
        for _ in range(12):
            await world.sleep(60)
            assert await ready_in_all(world, application) >= binding.spec.replicas
        await with_room(world, "member2")
        await world.sleep(120)
        assert await ready_in_all(world, application) == binding.spec.replicas
        assert not (await bindings(world))[name].spec.graceful_eviction_tasks
        await agent.stop()

    play(story)


def divided_over(binding: Binding) -> dict[str, int]:
    """Replicas by cluster, of one that is divided."""
    shares = {target.name: target.replicas for target in binding.spec.clusters}
    return shares if sum(shares.values()) == binding.spec.replicas else {}


async def ready_in_all(world: AggregatedWorld, application: str) -> int:
    counts = [await ready_replicas(world, member, application) for member in MEMBERS]
    return sum(count for count in counts if count > 0)


@pytest.mark.long
def test_what_karmada_has_left_behind_can_be_deleted() -> None:
    """Templates, whose bindings and Works have Karmada's finalizers; a policy; and what follows a template."""

    async def story(world: RecordedWorld, _writes: Writes) -> None:
        await world.sleep(60)
        before = {member: await uids_in(world.member(member).client) for member in MEMBERS}
        kept = [member for member in MEMBERS if "app-02" in before[member]]
        assert kept
        await world.client.delete(DEPLOYMENTS, "app-01", "default")
        await world.client.delete(DEPLOYMENTS, "dep-cm", "default")
        await world.client.delete(PROPAGATION_POLICIES, "app-02", "default")
        await world.sleep(120)
        assert await is_gone(world, "app-01")
        assert await is_gone(world, "dep-cm")
        assert "cm-dep-configmap" not in await bindings(world), "what followed it goes with it"
        with pytest.raises(NotFound):
            await world.client.get(PROPAGATION_POLICIES, "app-02", "default")
        for member in kept:
            there = await uids_in(world.member(member).client)
            assert there["app-02"] == before[member]["app-02"], "who loses its policy stays, as with Karmada"

    take_over(story, own_agent=False)


@pytest.mark.long
def test_a_program_of_karmadas_that_comes_back_in_the_middle_is_told_and_the_switch_goes_on_without_it() -> None:
    async def story(world: AggregatedWorld) -> None:
        held = {"holderIdentity": "karmada-0", "leaseDurationSeconds": 15}

        async def come_back() -> None:
            await world.client.create(
                LEASES, {"metadata": {"name": "karmada-scheduler"}, "spec": held}, SYSTEM_NAMESPACE
            )
            while True:
                renewed: Manifest = {"spec": {"renewTime": f"{world.clock.now():%Y-%m-%dT%H:%M:%S.%fZ}"}}
                await world.client.patch(LEASES, "karmada-scheduler", renewed, SYSTEM_NAMESPACE)
                await world.sleep(2)

        coming = list[asyncio.Task[None]]()

        def tell(said: str) -> None:
            if said.startswith("moving"):
                coming.append(asyncio.create_task(come_back()))

        with pytest.raises(FleetError, match="karmada-scheduler began to run meanwhile: stop it, and run"):
            await adopt(world.user, world.clock, tell)
        await assert_owned(world.user)
        with pytest.raises(FleetError, match="karmada-scheduler runs: it holds its Lease"):
            await adopt(world.user, world.clock, quiet)
        for each in coming:
            each.cancel()
        await world.sleep(60)
        await adopt(world.user, world.clock, quiet)
        await assert_owned(world.user)

    play(story, applications=False)
