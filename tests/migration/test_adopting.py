"""A control plane is taken over from Karmada with its Clusters, fails a cluster over, and is given back."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import pytest

from kubeapi.core import LEASES
from kubeapi.loop.clock import Clock
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Client, WorldError
from kubecluster.journal import Write
from leeward.api.names import CLUSTER_NAMESPACE, FLAPPING_TAINT, HEARTBEAT_NAME, SETTINGS_ANNOTATION, SYSTEM_NAMESPACE
from leeward.api.resource import CLUSTERS, OUTAGES, PROPAGATION_POLICIES, RESOURCE_BINDINGS, WORKS
from leeward.api.schema import CUSTOM_KINDS
from leeward.app.install.manifests import DEFINITIONS
from leeward.app.local.errors import FleetError
from leeward.app.migration.adopting import adopt, plan
from leeward.app.migration.handing_back import hand_back
from leeward.app.migration.kinds import API_SERVICES, CLUSTER_MANIFESTS, CLUSTERS_SERVICE, CONFIG_MAP_MANIFESTS
from leeward.app.migration.review import refusals
from leeward.core.settings_in_force import SettingsInForce, render_settings
from leeward.operations.bindings import list_manifests
from leeward.webhook.configurations import MUTATING, VALIDATING
from tests.migration.aggregated import SERVICE, AggregatedWorld
from tests.migration.joining_agent import JoiningAgent
from tests.migration.karmada_agent import KarmadaAgent
from tests.migration.recorded import CONTROL_PLANE, MEMBERS, recorded
from tests.migration.test_switch import WATCHED_SECONDS, Writes, assert_next_to_nothing_is_written
from tests.world.stories import POLICIES, policy

SECRET_MANIFESTS: Resource[Manifest] = Resource.of_manifests("v1", "secrets", "Secret", True)
LEASE_MANIFESTS: Resource[Manifest] = Resource.of_manifests("coordination.k8s.io/v1", "leases", "Lease", True)
OWNED_WORKS = {
    f"/work.karmada.io/works/{work['metadata']['namespace']}/{work['metadata']['name']}"
    for work in (entry.manifest for entry in recorded(CONTROL_PLANE) if entry.plural == "works")
    if work["metadata"].get("ownerReferences")
}
"""The impersonators' roles: they belong to their Cluster, which has another uid after each switch."""
MOST_WRITES, FEWEST_WRITES = 200, 30
Switch = Callable[[Client, Clock, Callable[[str], None]], Awaitable[None]]
Story = Callable[[AggregatedWorld], Awaitable[None]]


def play(story: Story, *, applications: bool = True) -> None:
    async def run() -> None:
        async with AggregatedWorld(applications=applications) as world:
            await world.sleep(5)
            await story(world)

    run_virtual(run())


def of(plural: str) -> dict[str, Manifest]:
    return {e.manifest["metadata"]["name"]: e.manifest for e in recorded(CONTROL_PLANE) if e.plural == plural}


async def owners(client: Client) -> dict[str, Sequence[str]]:
    """The uids that Secrets and Leases of clusters belong to, by kind and name."""
    found: dict[str, Sequence[str]] = {}
    for resource in (SECRET_MANIFESTS, LEASE_MANIFESTS):
        for each in (await client.list(resource, CLUSTER_NAMESPACE)).items:
            references = each["metadata"].get("ownerReferences", [])
            found[f"{resource.kind}/{each['metadata']['name']}"] = [reference["uid"] for reference in references]
    return found


async def uids(client: Client) -> dict[str, str]:
    return {
        each["metadata"]["name"]: each["metadata"]["uid"] for each in await list_manifests(client, CLUSTER_MANIFESTS)
    }


def references_in(world: AggregatedWorld) -> int:
    assert world.store is not None
    kept = [
        r.value
        for p in ("//secrets/", "/coordination.k8s.io/leases/", "/work.karmada.io/works/")
        for r in world.store.list(p).records
    ]
    return sum(value.count(b'"kind":"Cluster",') for value in kept)


def cluster_of(owned: str) -> str:
    return owned.partition("/")[2].removesuffix("-impersonator")


async def assert_owned(client: Client) -> None:
    """Everything belongs to the Cluster that is served under its name."""
    served, found = await uids(client), await owners(client)
    assert set(found) == {f"Secret/{n}{s}" for n in MEMBERS for s in ("", "-impersonator")} | {"Lease/member3"}
    assert all(references == [served[cluster_of(owned)]] for owned, references in found.items()), found


def test_a_plan_names_what_will_change_and_writes_nothing() -> None:
    async def story(world: AggregatedWorld) -> None:
        writes = Writes(world)
        planned = await plan(world.user, world.clock)
        assert not writes.all
        assert not refusals(planned.remarks)
        said = "\n".join(remark.sentence for remark in planned.remarks)
        assert "3 Clusters (member1, member2, member3) kept by karmada-system/karmada-aggregated-apiserver" in said
        assert "MutatingWebhookConfiguration mutating-config (8 webhooks of Karmada's)" in said
        assert "member3: the agent there goes on" in said

    play(story)


async def without_webhooks(world: AggregatedWorld) -> None:
    for kind in (MUTATING, VALIDATING):
        for configured in (await world.client.list(kind)).items:
            await world.client.delete(kind, configured["metadata"]["name"])


def test_a_plan_names_features_in_use_that_leeward_does_not_have_or_has_switched_off() -> None:
    async def story(world: AggregatedWorld) -> None:
        await without_webhooks(world)
        definition = await world.client.get(DEFINITIONS, PROPAGATION_POLICIES.group_resource)
        spec = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        term = spec["placement"]["properties"]["clusterAffinities"]["items"]["properties"]
        term["ofANewerKarmada"] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        await world.client.update(DEFINITIONS, definition, PROPAGATION_POLICIES.group_resource)
        newer = {"clusterAffinities": [{"affinityName": name, "ofANewerKarmada": {"a": 1}} for name in ("a", "b")]}
        await world.client.create(POLICIES, policy("newer", newer), "default")
        binding = (await world.client.list(RESOURCE_BINDINGS, "default")).items[0]
        parts = {"components": [{"name": "a", "replicas": 1}], "workloadAffinityGroups": {"affinityGroup": "g"}}
        await world.client.patch(RESOURCE_BINDINGS, binding.name, {"spec": parts}, "default")
        planned = await plan(world.user, world.clock)
        assert not refusals(planned.remarks)
        said = [remark.sentence for remark in planned.remarks]
        unknown = "spec.placement.clusterAffinities[].ofANewerKarmada is a field that this Leeward does not know"
        assert [each for each in said if each.startswith(f"propagationpolicy/default/newer: {unknown}")]
        for gate in ("MultiplePodTemplatesScheduling", "WorkloadAffinity"):
            of_gate = [each for each in said if f"--feature-gates={gate}=true" in each]
            assert [each.partition(":")[0] for each in of_gate] == [f"resourcebinding/default/{binding.name}"]
        assert not [each for each in said if "is a field" in each and "newer" not in each], (
            "the recorded ones have none"
        )

    play(story)


def test_a_plan_is_silent_about_a_gate_that_the_heartbeat_tells_is_on() -> None:
    async def story(world: AggregatedWorld) -> None:
        await without_webhooks(world)
        binding = (await world.client.list(RESOURCE_BINDINGS, "default")).items[0]
        parts = {"components": [{"name": "a", "replicas": 1}], "workloadAffinityGroups": {"affinityGroup": "g"}}
        await world.client.patch(RESOURCE_BINDINGS, binding.name, {"spec": parts}, "default")
        told = render_settings(SettingsInForce(told=True, gates=("WorkloadAffinity",)))
        metadata: Manifest = {"name": HEARTBEAT_NAME, "annotations": {SETTINGS_ANNOTATION: told}}
        await world.client.create(LEASES, {"metadata": metadata}, SYSTEM_NAMESPACE)
        said = [remark.sentence for remark in (await plan(world.user, world.clock)).remarks]
        off = [each for each in said if "off by default" in each]
        assert not [each for each in off if "WorkloadAffinity" in each]
        assert [each for each in off if "--feature-gates=MultiplePodTemplatesScheduling=true" in each]

    play(story)


@pytest.mark.long
def test_clusters_move_with_all_that_belongs_to_them() -> None:
    async def story(world: AggregatedWorld) -> None:
        before = {name: (each["spec"], each["status"]) for name, each in of("clusters").items()}
        await assert_owned(world.user)
        referring = list[int]()

        def look(write: Write) -> None:
            """Counts references when another server begins to serve the Clusters: the collector acts on them."""
            if write.record.key.endswith(f"/apiservices//{CLUSTERS_SERVICE}"):
                referring.append(references_in(world))

        world.journal.on_write(look)
        await adopt(world.user, world.clock, lambda _: None)
        assert len(referring) == 2
        assert set(referring) == {0}
        after = {e["metadata"]["name"]: e for e in await list_manifests(world.client, CLUSTER_MANIFESTS)}
        assert {name: (each["spec"], each["status"]) for name, each in after.items()} == before
        assert all(each["metadata"]["finalizers"] == ["karmada.io/cluster-controller"] for each in after.values())
        assert set((await uids(world.client)).values()).isdisjoint((await uids(world.aggregated)).values())
        await assert_owned(world.user)
        for resource in (MUTATING, VALIDATING):
            assert not (await world.client.list(resource)).items
        with pytest.raises(FleetError, match="adopted already"):
            await adopt(world.user, world.clock, lambda _: None)

    play(story)


def test_who_runs_refuses_the_switch_whatever_its_clock_says() -> None:
    async def story(world: AggregatedWorld) -> None:
        held = {"holderIdentity": "karmada-0", "leaseDurationSeconds": 15, "renewTime": "2020-01-01T00:00:00.000000Z"}
        lease = {"metadata": {"name": "karmada-scheduler"}, "spec": held}
        await world.client.create(LEASES, lease, SYSTEM_NAMESPACE)
        assert not refusals((await plan(world.user, world.clock)).remarks)

        async def renew() -> None:
            for second in range(60):
                await world.sleep(2)
                later = {**held, "renewTime": f"2020-01-01T00:00:{second:02d}.000000Z"}
                await world.client.patch(LEASES, "karmada-scheduler", {"spec": later}, SYSTEM_NAMESPACE)

        renewing = asyncio.create_task(renew())
        writes = Writes(world)
        with pytest.raises(FleetError, match="karmada-scheduler runs: it holds its Lease"):
            await adopt(world.user, world.clock, lambda _: None)
        assert not [write for write in writes.all if "/leases/" not in write.record.key]
        renewing.cancel()

    play(story)


def test_the_agents_of_pull_members_go_on_through_the_switch() -> None:
    """Karmada's hold a Lease beside those of its components, and renew it."""

    async def story(world: AggregatedWorld) -> None:
        agent = JoiningAgent(world.client, "member3", world.clock.now)

        async def lead() -> None:
            while True:
                await agent.lead()
                await world.sleep(2)

        leading = asyncio.create_task(lead())
        await world.sleep(1)
        await adopt(world.user, world.clock, lambda _: None)
        said = list[str]()
        await hand_back(world.user, world.clock, said.append)
        leading.cancel()
        assert len(said) == len(set(said)), "each step is told once"
        assert "putting ClusterRoleBinding system:karmada:agents back" in said

    play(story)


def test_it_goes_there_and_back_where_new_kinds_are_put_off_at_first() -> None:
    """A kube-apiserver since 1.34: 429 while the watch cache of a definition fills."""

    async def run() -> None:
        async with AggregatedWorld(applications=False, initializing_seconds=15) as world:
            await adopt(world.user, world.clock, lambda _: None)
            await assert_owned(world.user)
            world.start_controllers()
            await world.sleep(60)
            for cluster in (await world.user.list(CLUSTERS)).items:
                assert cluster.is_ready or cluster.spec.sync_mode == "Pull"
            await world.stop_controllers()
            await world.sleep(60)
            await hand_back(world.user, world.clock, lambda _: None)
            await assert_handed_back(world)

    run_virtual(run())


@pytest.mark.long
def test_there_and_back_after_a_failover() -> None:
    """The way there and back with Karmada's own agent in member3, as it was recorded."""

    async def story(world: AggregatedWorld) -> None:
        agent = KarmadaAgent(world, world.member("member3"))
        agent.start()
        await adopt(world.user, world.clock, lambda _: None)
        writes = Writes(world)
        world.start_controllers()
        await world.sleep(WATCHED_SECONDS)
        assert_next_to_nothing_is_written(world, writes)
        await world.member("member1").stop()
        await world.sleep(900)
        bindings = (await world.client.list(RESOURCE_BINDINGS, "default")).items
        moved = [each for each in bindings if "member1" not in {target.name for target in each.spec.clusters}]
        assert len(moved) >= 30
        await world.member("member1").start()
        await world.sleep(900)
        await world.stop_controllers()
        await world.sleep(60)

        specs = {
            f"{kind.plural}/{name}": spec
            for kind in (RESOURCE_BINDINGS, WORKS)
            for name, spec in (await specs_of(world, kind)).items()
        }
        back = Writes(world)
        await hand_back(world.user, world.clock, lambda _: None)
        after = {
            f"{kind.plural}/{name}": spec
            for kind in (RESOURCE_BINDINGS, WORKS)
            for name, spec in (await specs_of(world, kind)).items()
        }
        assert after == specs
        for name in MEMBERS:
            assert back.of(name, "/") == Counter()
        assert set(back.of(world.NAME, "/work.karmada.io/resourcebindings/").values()) <= {1}
        works = back.of(world.NAME, "/work.karmada.io/works/")
        assert {key for key, count in works.items() if count > 1} <= OWNED_WORKS
        assert all(works[key] <= 3 for key in OWNED_WORKS), "their owner goes, another comes, and a mark is taken off"
        await assert_handed_back(world)
        await agent.stop()

    play(story)


async def specs_of(world: AggregatedWorld, resource: Resource[Any]) -> dict[str, Manifest]:
    found = await list_manifests(world.client, resource)
    return {f"{e['metadata']['namespace']}/{e['metadata']['name']}": e["spec"] for e in found}


async def assert_handed_back(world: AggregatedWorld) -> None:
    service = await world.client.get(API_SERVICES, CLUSTERS_SERVICE)
    assert service["spec"] == SERVICE["spec"]
    assert service["metadata"]["labels"] == SERVICE["metadata"]["labels"]
    assert await uids(world.user) == {name: each["metadata"]["uid"] for name, each in of("clusters").items()}
    await assert_owned(world.user)
    definitions = {each["metadata"]["name"] for each in await list_manifests(world.client, DEFINITIONS)}
    assert definitions == {kind.resource.group_resource for kind in CUSTOM_KINDS} - {
        CLUSTERS.group_resource,
        OUTAGES.group_resource,
    }
    names = {each["metadata"]["name"] for r in (MUTATING, VALIDATING) for each in (await world.client.list(r)).items}
    assert names == {"mutating-config", "validating-config"}
    assert not [
        each["metadata"]["name"]
        for each in (await world.client.list(CONFIG_MAP_MANIFESTS, SYSTEM_NAMESPACE)).items
        if each["metadata"]["name"].startswith("leeward")
    ]
    for resource in (RESOURCE_BINDINGS, WORKS):
        for each in await list_manifests(world.client, resource):
            marks = [key for key in each["metadata"].get("annotations", {}) if key.startswith("leeward.dev/")]
            assert not marks, each["metadata"]["name"]


def test_a_karmada_that_does_not_answer_leaves_everything_as_it_was() -> None:
    async def story(world: AggregatedWorld) -> None:
        await adopt(world.user, world.clock, lambda _: None)
        before = await list_manifests(world.client, CLUSTER_MANIFESTS)
        aggregated, world.layer.aggregated = world.layer.aggregated, None
        with pytest.raises(FleetError, match="does not show its Clusters after 60 s"):
            await hand_back(world.user, world.clock, lambda _: None)
        after = await list_manifests(world.client, CLUSTER_MANIFESTS)
        assert [each["spec"] for each in after] == [each["spec"] for each in before]
        assert [each["metadata"]["uid"] for each in after] == [each["metadata"]["uid"] for each in before]
        assert all(each["metadata"]["finalizers"] for each in after)
        await assert_owned(world.user)
        world.layer.aggregated = aggregated
        await hand_back(world.user, world.clock, lambda _: None)
        await assert_handed_back(world)

    play(story)


@pytest.mark.long
def test_a_switch_that_is_killed_before_any_of_its_writes_goes_on() -> None:
    """A switch and back for each write: everything belongs to the Cluster that is served, whenever it has ended."""

    async def story(world: AggregatedWorld) -> None:
        killed = Counter[str]()
        for number in range(MOST_WRITES):
            for name, switch in (("adopt", adopt), ("hand-back", hand_back)):
                killed[name] += await is_killed(world, switch, number)
                if name == "adopt":
                    await assert_owned(world.user)
                    assert set((await uids(world.user)).values()).isdisjoint((await uids(world.aggregated)).values())
                else:
                    await assert_handed_back(world)
            if sum(killed.values()) < 2 * (number + 1):
                break
        assert min(killed.values()) > FEWEST_WRITES

    play(story, applications=False)


async def is_killed(world: AggregatedWorld, switch: Switch, number: int) -> bool:
    """Tells whether it was killed before its write of this number; it was begun again then."""
    world.layer.writes_until_cut = number
    try:
        await switch(world.user, world.clock, lambda _: None)
    except WorldError:
        world.layer.writes_until_cut = None
        await switch_again(world, switch)
        return True
    finally:
        world.layer.writes_until_cut = None
    return False


async def switch_again(world: AggregatedWorld, switch: Switch) -> None:
    """Goes on with a switch; one that was killed after its last step says that there is nothing more to do."""
    said = ""
    try:
        await switch(world.user, world.clock, lambda _: None)
    except FleetError as error:
        said = str(error)
    assert not said or "adopted already" in said or "was not adopted" in said


@pytest.mark.long
def test_a_switch_that_was_killed_is_given_back_as_it_was() -> None:
    """A kill before any of its writes: nothing has left Karmada's server, and all belongs to its Cluster again."""

    async def story(world: AggregatedWorld) -> None:
        number = 0
        before = [each["spec"] for each in await list_manifests(world.aggregated, CLUSTER_MANIFESTS)]
        for number in range(MOST_WRITES):
            world.layer.writes_until_cut = number
            try:
                await adopt(world.user, world.clock, lambda _: None)
            except WorldError:
                world.layer.writes_until_cut = None
            else:
                break
            await switch_again(world, hand_back)
            served = await list_manifests(world.aggregated, CLUSTER_MANIFESTS)
            assert [each["spec"] for each in served] == before
            assert not [each for each in served if "deletionTimestamp" in each["metadata"]]
            await assert_owned(world.user)
        assert number > FEWEST_WRITES

    play(story, applications=False)


def test_a_switch_that_goes_on_takes_what_has_changed_meanwhile() -> None:
    """The switch was killed before anything was taken away; Karmada ran for another week."""

    async def story(world: AggregatedWorld) -> None:
        world.layer.writes_until_cut = 5
        with pytest.raises(WorldError):
            await adopt(world.user, world.clock, lambda _: None)
        world.layer.writes_until_cut = None
        member1 = await world.aggregated.get(CLUSTER_MANIFESTS, "member1")
        new = {"metadata": {"name": "member9"}, "spec": {**member1["spec"], "id": "9"}}
        uid = (await world.aggregated.create(CLUSTER_MANIFESTS, new))["metadata"]["uid"]
        owner = {"apiVersion": CLUSTERS.api_version, "kind": CLUSTERS.kind, "name": "member9", "uid": uid}
        secret = {"metadata": {"name": "member9", "ownerReferences": [owner]}}
        await world.client.create(SECRET_MANIFESTS, secret, CLUSTER_NAMESPACE)
        await world.aggregated.patch(CLUSTER_MANIFESTS, "member2", {"spec": {"region": "eu"}})
        await adopt(world.user, world.clock, lambda _: None)
        served = {e["metadata"]["name"]: e for e in await list_manifests(world.client, CLUSTER_MANIFESTS)}
        assert set(served) == {*MEMBERS, "member9"}
        assert served["member2"]["spec"]["region"] == "eu"
        assert (await owners(world.client))["Secret/member9"] == [served["member9"]["metadata"]["uid"]]

    play(story, applications=False)


def test_what_could_not_be_looked_at_refuses_the_switch() -> None:
    """A Lease that belongs to a Cluster would be collected when its reference was overlooked."""

    async def story(world: AggregatedWorld) -> None:
        world.layer.failing = "/apis/coordination.k8s.io/v1"
        with pytest.raises(WorldError):
            await adopt(world.user, world.clock, lambda _: None)
        world.layer.failing = ""
        await assert_owned(world.user)
        assert not (await world.client.list(CONFIG_MAP_MANIFESTS, SYSTEM_NAMESPACE)).items

    play(story, applications=False)


def test_a_definition_of_an_older_karmada_refuses_the_switch_and_names_what_it_lacks() -> None:
    async def story(world: AggregatedWorld) -> None:
        name = RESOURCE_BINDINGS.group_resource
        definition = await world.client.get(DEFINITIONS, name)
        tasks = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"][
            "gracefulEvictionTasks"
        ]["items"]["properties"]
        del tasks["clustersBeforeFailover"]
        tasks["purgeMode"]["enum"] = ["Immediately", "Graciously", "Never"]
        await world.client.update(DEFINITIONS, definition, name)
        with pytest.raises(FleetError) as raised:
            await adopt(world.user, world.clock, lambda _: None)
        for missing in (".clustersBeforeFailover", ".purgeMode=Directly", ".purgeMode=Gracefully"):
            assert f"spec.gracefulEvictionTasks[]{missing}" in str(raised.value)

    play(story, applications=False)


def test_a_cluster_that_is_being_removed_is_not_handed_back() -> None:
    async def story(world: AggregatedWorld) -> None:
        await adopt(world.user, world.clock, lambda _: None)
        await world.client.delete(CLUSTER_MANIFESTS, "member2")
        with pytest.raises(FleetError, match="member2 is being removed"):
            await hand_back(world.user, world.clock, lambda _: None)
        await assert_owned(world.user)

    play(story, applications=False)


def test_who_has_joined_and_left_since_has_joined_and_left_there_and_no_hold_down_stays() -> None:
    async def story(world: AggregatedWorld) -> None:
        await adopt(world.user, world.clock, lambda _: None)
        member1 = await world.client.get(CLUSTER_MANIFESTS, "member1")
        new = {"metadata": {"name": "member9"}, "spec": {**member1["spec"], "id": "9"}}
        await world.client.create(CLUSTER_MANIFESTS, new)
        taints = [{"key": FLAPPING_TAINT, "effect": "NoSchedule"}, {"key": "mine", "effect": "NoSchedule"}]
        await world.client.patch(CLUSTER_MANIFESTS, "member1", {"spec": {"taints": taints}})
        await world.client.patch(CLUSTER_MANIFESTS, "member2", {"metadata": {"finalizers": None}})
        await world.client.delete(CLUSTER_MANIFESTS, "member2")
        await hand_back(world.user, world.clock, lambda _: None)
        served = {e["metadata"]["name"]: e for e in await list_manifests(world.aggregated, CLUSTER_MANIFESTS)}
        assert set(served) == {*MEMBERS, "member9"}
        assert "deletionTimestamp" in served["member2"]["metadata"]
        assert [taint["key"] for taint in served["member1"]["spec"]["taints"]] == ["mine"]

    play(story, applications=False)


def test_an_api_server_that_does_not_know_yet_who_keeps_the_clusters_ends_nothing() -> None:
    """Server of several that still asks Karmada's: what it answers has the uids of before."""

    async def story(world: AggregatedWorld) -> None:
        world.layer.lagging = True
        with pytest.raises(FleetError, match="not served by their definition after 60 s"):
            await adopt(world.user, world.clock, lambda _: None)
        assert not any((await owners(world.client)).values()), "nothing belongs to anybody, and nothing is collected"
        world.layer.lagging = False
        await adopt(world.user, world.clock, lambda _: None)
        await assert_owned(world.user)

    play(story, applications=False)
