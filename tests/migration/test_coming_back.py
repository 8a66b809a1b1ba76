"""Returns of what a switch has taken away, two switches at once, and one that is begun where it must not be."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from kubeapi.core import LEASES
from kubeapi.meta import Manifest
from kubeclient import Client, Forbidden
from kubecluster.network import LinkedTransport
from kubeserver.handler import User
from leeward.api.names import CLUSTER_NAMESPACE, KUBE_SYSTEM_NAMESPACE, SWITCH_LEASE, SYSTEM_NAMESPACE, leader_identity
from leeward.app.local.errors import FleetError
from leeward.app.migration.adopting import adopt, plan
from leeward.app.migration.came_back import find_returned, refuse_karmadas
from leeward.app.migration.handing_back import hand_back
from leeward.app.migration.kinds import API_SERVICES, CLUSTER_MANIFESTS, CLUSTERS_SERVICE
from leeward.app.migration.one_at_a_time import SETTINGS, alone
from leeward.app.migration.review import refusals
from leeward.operations.bindings import list_manifests
from leeward.webhook.configurations import MUTATING, VALIDATING
from tests.migration.aggregated import SERVICE, AggregatedWorld
from tests.migration.recorded import recorded_webhooks
from tests.migration.test_adopting import LEASE_MANIFESTS, assert_handed_back, assert_owned, play, uids

NEWER = {"app.kubernetes.io/version": "newer"}


def quiet(_said: str) -> None:
    """Listens to nothing."""


def adopted(story: Callable[[AggregatedWorld], Awaitable[None]]) -> None:
    """Plays a story in a control plane that has been adopted."""

    async def after(world: AggregatedWorld) -> None:
        await adopt(world.user, world.clock, quiet)
        await story(world)

    play(after, applications=False)


async def put_webhooks_back(world: AggregatedWorld) -> None:
    """Karmada's webhooks, as its operator writes them with a newer release."""
    for plural, manifest in recorded_webhooks():
        kind = MUTATING if plural == MUTATING.plural else VALIDATING
        metadata = {"name": manifest["metadata"]["name"], "labels": NEWER}
        await world.client.create(kind, {**manifest, "metadata": metadata})


async def put_service_back(world: AggregatedWorld) -> None:
    present = await world.client.get(API_SERVICES, CLUSTERS_SERVICE)
    metadata = {**SERVICE["metadata"], "resourceVersion": present["metadata"]["resourceVersion"]}
    await world.client.update(API_SERVICES, {**SERVICE, "metadata": metadata}, CLUSTERS_SERVICE)


async def findings(world: AggregatedWorld) -> list[str]:
    return [each.sentence for each in (await find_returned(world.user, world.clock.now())).findings]


async def work_as_ours(world: AggregatedWorld) -> None:
    """Renews the Lease of the scheduler as `leeward serve` does."""
    held = {"holderIdentity": leader_identity("host", "1"), "leaseDurationSeconds": 15}
    await world.client.create(LEASES, {"metadata": {"name": "karmada-scheduler"}, "spec": held}, SYSTEM_NAMESPACE)
    while True:
        renewed = {"spec": {"renewTime": f"{world.clock.now():%Y-%m-%dT%H:%M:%S.%fZ}"}}
        await world.client.patch(LEASES, "karmada-scheduler", renewed, SYSTEM_NAMESPACE)
        await world.sleep(2)


def test_webhooks_that_come_back_are_found_and_taken_away_beside_our_controllers() -> None:
    async def story(world: AggregatedWorld) -> None:
        assert await findings(world) == []
        working = asyncio.create_task(work_as_ours(world))
        await put_webhooks_back(world)
        found = await findings(world)
        assert len(found) == 2
        assert all("is here again: where nobody answers it, it refuses writes" in said for said in found)
        assert not refusals((await plan(world.user, world.clock)).remarks)
        await adopt(world.user, world.clock, quiet)
        assert await findings(world) == []
        with pytest.raises(FleetError, match="adopted already"):
            await adopt(world.user, world.clock, quiet)
        working.cancel()
        await world.sleep(60)
        await hand_back(world.user, world.clock, quiet)
        for kind in (MUTATING, VALIDATING):
            (configured,) = (await world.client.list(kind)).items
            assert configured["metadata"]["labels"] == NEWER, "it is given back as it was last"
        await assert_handed_back(world)

    adopted(story)


def test_an_api_service_that_comes_back_is_taken_away_and_the_clusters_are_as_we_keep_them() -> None:
    """Karmada's controllers ran for a while, and have written what belongs to a Cluster as that server shows it."""

    async def story(world: AggregatedWorld) -> None:
        await world.client.patch(CLUSTER_MANIFESTS, "member2", {"spec": {"region": "eu"}})
        ours = await uids(world.client)
        await put_service_back(world)
        assert (await findings(world)) == [
            "the Clusters are asked of Karmada's API server again, as it kept them before the switch"
        ]
        owner = (await world.user.get(CLUSTER_MANIFESTS, "member3"))["metadata"]["uid"]
        assert owner != ours["member3"]
        reference = {"apiVersion": SERVICE["spec"]["group"] + "/v1alpha1", "kind": "Cluster", "name": "member3"}
        stale: Manifest = {"metadata": {"ownerReferences": [{**reference, "uid": owner}]}}
        await world.client.patch(LEASE_MANIFESTS, "member3", stale, CLUSTER_NAMESPACE)
        await adopt(world.user, world.clock, quiet)
        assert await findings(world) == []
        assert await uids(world.user) == ours
        served = {each["metadata"]["name"]: each for each in await list_manifests(world.user, CLUSTER_MANIFESTS)}
        assert served["member2"]["spec"]["region"] == "eu"
        await assert_owned(world.user)
        await hand_back(world.user, world.clock, quiet)
        await assert_handed_back(world)

    adopted(story)


def test_an_api_service_is_not_taken_away_under_our_controllers() -> None:
    async def story(world: AggregatedWorld) -> None:
        await put_service_back(world)
        working = asyncio.create_task(work_as_ours(world))
        await world.sleep(1)
        with pytest.raises(FleetError, match=r"controllers work \(karmada-scheduler\).*stop `leeward serve`"):
            await adopt(world.user, world.clock, quiet)
        working.cancel()

    adopted(story)


def test_a_control_plane_that_is_karmadas_or_was_is_not_taken_leeward_out_of() -> None:
    """Roles that Karmada's agents live by have the names of ours."""

    async def story(world: AggregatedWorld) -> None:
        with pytest.raises(FleetError, match="kept by Karmada's aggregated API server"):
            await refuse_karmadas(world.user)
        await adopt(world.user, world.clock, quiet)
        with pytest.raises(FleetError, match="`leeward hand-back` gives it back; to keep it without either, let the"):
            await refuse_karmadas(world.user)
        for name in await uids(world.user):
            await world.client.patch(CLUSTER_MANIFESTS, name, {"metadata": {"finalizers": None}})
            await world.client.delete(CLUSTER_MANIFESTS, name)
        await refuse_karmadas(world.user)

    play(story, applications=False)


def test_of_two_switches_at_once_the_second_waits_and_finds_the_first_done() -> None:
    async def story(world: AggregatedWorld) -> None:
        async def switch(client: Client) -> None:
            await adopt(client, world.clock, quiet)

        both = (alone(world.layer, world.clock, world.randomness, switch, quiet) for _ in range(2))
        first, second = await asyncio.gather(*both, return_exceptions=True)
        assert sorted(map(str, (first, second)))[0] == "None"
        (said,) = [str(each) for each in (first, second) if each is not None]
        assert "adopted already" in said
        await assert_owned(world.user)
        await assert_no_lease(world)

    play(story, applications=False)


async def assert_no_lease(world: AggregatedWorld) -> None:
    names = {lease.name for lease in (await world.client.list(LEASES)).items}
    assert SWITCH_LEASE not in names


def test_who_finds_another_switch_at_work_is_told_and_writes_nothing() -> None:
    async def story(world: AggregatedWorld) -> None:
        async def endless(_client: Client) -> None:
            await asyncio.Event().wait()

        begun = list[Client]()

        async def second(client: Client) -> None:
            begun.append(client)

        working = asyncio.create_task(alone(world.layer, world.clock, world.randomness, endless, quiet))
        await world.sleep(1)
        with pytest.raises(
            FleetError, match=r"another `leeward adopt` or `leeward hand-back` is at work \(.*_leeward_"
        ):
            await alone(world.layer, world.clock, world.randomness, second, quiet)
        assert not begun
        working.cancel()

    play(story, applications=False)


def test_a_switch_that_was_killed_holds_up_the_next_one_for_as_long_as_its_lease_lasts() -> None:
    async def story(world: AggregatedWorld) -> None:
        held = {
            "holderIdentity": leader_identity("host", "dead"),
            "leaseDurationSeconds": 15,
            "renewTime": f"{world.clock.now():%Y-%m-%dT%H:%M:%S.%fZ}",
        }
        await world.client.create(LEASES, {"metadata": {"name": SWITCH_LEASE}, "spec": held}, KUBE_SYSTEM_NAMESPACE)
        began = world.clock.monotonic()
        begun = list[float]()

        async def note(_client: Client) -> None:
            begun.append(world.clock.monotonic() - began)

        told = list[str]()
        await alone(world.layer, world.clock, world.randomness, note, told.append)
        assert told == [
            "waiting until host_leeward_dead has ended, which switches this control plane, or was killed a moment ago"
        ]
        assert SETTINGS.lease_seconds <= begun[0] <= SETTINGS.lease_seconds + SETTINGS.retry_seconds
        await assert_no_lease(world)

    play(story, applications=False)


def test_who_may_not_switch_is_told_at_once() -> None:
    async def story(world: AggregatedWorld) -> None:
        nobody = LinkedTransport(world.place, User("nobody", ()))
        before = world.clock.monotonic()
        with pytest.raises(Forbidden, match='namespaces "karmada-system" is forbidden'):
            await alone(nobody, world.clock, world.randomness, lambda client: adopt(client, world.clock, quiet), quiet)
        assert world.clock.monotonic() - before < 1

    play(story, applications=False)


def test_what_refuses_a_switch_is_told_and_no_task_is_said_to_have_died(caplog: pytest.LogCaptureFixture) -> None:
    async def story(world: AggregatedWorld) -> None:
        async def refuse(_client: Client) -> None:
            raise FleetError("something is in the way")

        with pytest.raises(FleetError, match="something is in the way"):
            await alone(world.layer, world.clock, world.randomness, refuse, quiet)
        await assert_no_lease(world)

    play(story, applications=False)
    assert not [record for record in caplog.records if record.exc_info]
