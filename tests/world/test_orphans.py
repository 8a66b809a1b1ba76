"""A control plane restored from an old backup: what was placed since runs on, is listed, and goes when asked."""

import asyncio
from collections.abc import Mapping
from datetime import datetime

import pytest
from msgspec.structs import replace

from controller_runtime.identity import key_of
from kubeapi.codec import to_wire
from kubeapi.core import NAMESPACES
from kubeapi.meta import Manifest
from kubeclient import Client
from kubecluster.network import LinkedTransport
from kubeserver.inprocess import ADMIN
from kubeserver.store.backup import revision_behind
from kubeserver.store.medium import Loaded
from leeward.api.cluster import Cluster
from leeward.api.names import (
    BINDING_NAME_ANNOTATION,
    HUB_ANNOTATION,
    MANAGED_LABEL,
    PRESERVED_ANNOTATION,
    SKIP_NAMESPACE_LABEL,
    execution_space,
    work_name,
)
from leeward.api.resource import CLUSTERS, WORKS
from leeward.api.work import Work
from leeward.app.connect import UnusableTransport
from leeward.app.member_clients import ThroughProxy
from leeward.app.migration.came_back import find_returned
from leeward.core.execution.claims import owners_of
from leeward.operations.findings import Severity
from leeward.operations.identities import find_nameless
from leeward.operations.orphan_findings import SECONDS, OrphanFindings
from leeward.operations.orphan_findings import told as told_by_status
from leeward.operations.orphan_works import OrphanWork, delete_orphan_work
from leeward.operations.orphans import AT_ONCE, Findings, Orphan, Reach, StillServes, delete_orphan, find_orphans
from leeward.operations.status import FleetStatus, Found, look_at_fleet
from leeward.sim.world import Mode, World
from tests.builders import cluster
from tests.world.stories import CONFIG_MAPS, DEPLOYMENTS, apply, deployment, in_world, policy, ready_replicas, tasks
from tests.world.stories import POLICIES as NAMESPACED_POLICIES
from tests.world.test_dependencies import config, reading
from tests.world.test_detection import answers, status
from tests.world.test_kinds import CRON_TAB_DEFINITION, CRON_TABS, DEFINITIONS
from tests.world.test_nothing_to_gain import POLICIES, cluster_policy
from tests.world.test_ownership import on, second_control_plane

ONE_COPY: Manifest = {
    "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1}],
    "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"},
}
NEW = work_name("Deployment", "new", "default")
THREE: Mapping[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Pull"}


def reach_in(world: World) -> Reach:
    async def reach(cluster: Cluster) -> Client:
        return Client(LinkedTransport(world.member(cluster.name).place, ADMIN), "leeward")

    return reach


async def found_in(world: World) -> Findings:
    return await find_orphans(world.client, reach_in(world))


def told(orphans: tuple[Orphan, ...]) -> set[str]:
    return {str(orphan) for orphan in orphans}


async def restored_without_new(world: World) -> None:
    """`web` is in the backup, `new` is not; a user's own object lies beside them."""
    await apply(world.client, deployment("web", 2), policy("web", on("member1", "member3")))
    own = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "own", "labels": {MANAGED_LABEL: "true"}}}
    await world.member("member1").client.create(CONFIG_MAPS, own, "default")
    await world.sleep(60)
    backup = await world.medium.load()
    await apply(world.client, deployment("new", 2), policy("new", on("member1", "member3")))
    await world.sleep(30)
    await world.stop_controllers()
    await world.stop_apiserver()
    world.medium.replace(backup)
    await world.start_control_plane()
    await world.sleep(300)


@in_world(THREE)
async def test_what_was_placed_after_the_backup_runs_on_and_is_listed(world: World) -> None:
    await restored_without_new(world)
    for member in ("member1", "member3"):
        assert await ready_replicas(world, member, "new") == 2
    found = await found_in(world)
    assert told(found.orphans) == {
        "Deployment default/new in member1",
        "Deployment default/new in member3",
    }, "no ReplicaSet, nothing of web, nothing of the user's"
    assert (found.doubtful, found.unreadable) == ((), {})


@in_world(THREE)
async def test_an_orphan_is_deleted_and_nothing_else(world: World) -> None:
    await restored_without_new(world)
    before = {name: await uids(world, name) for name in THREE}
    for orphan in (await found_in(world)).orphans:
        assert await delete_orphan(world.client, reach_in(world), orphan)
        assert not await delete_orphan(world.client, reach_in(world), orphan), "it is gone"
    await world.sleep(60)
    after = {name: await uids(world, name) for name in THREE}
    for name in THREE:
        assert before[name].keys() - after[name].keys() == ({"Deployment/new"} if name != "member2" else set())
        assert after[name].items() <= before[name].items()
    assert (await found_in(world)).orphans == ()


async def uids(world: World, member: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for resource in (DEPLOYMENTS, CONFIG_MAPS):
        for item in (await world.member(member).client.list(resource, "default")).items:
            found[f"{resource.kind}/{item['metadata']['name']}"] = item["metadata"]["uid"]
    return found


@in_world(THREE)
async def test_what_was_placed_again_since_it_was_listed_is_not_deleted(world: World) -> None:
    await restored_without_new(world)
    (first, *_) = (await found_in(world)).orphans
    uid = first.uid
    await apply(world.client, deployment("new", 2), policy("new", on("member1", "member3")))
    await world.sleep(30)
    assert (await found_in(world)).orphans == ()
    assert not await delete_orphan(world.client, reach_in(world), first)
    found = await world.member(first.cluster).client.get(DEPLOYMENTS, "new", "default")
    assert found["metadata"]["uid"] == uid, "it was adopted"


@in_world(THREE)
async def test_a_member_that_cannot_be_read_is_said_and_nothing_is_concluded_of_it(world: World) -> None:
    await restored_without_new(world)
    answers(world.member("member1").place, lambda r: status(403, "Forbidden") if "deployments" in r.path else None)
    await world.member("member3").stop()
    found = await found_in(world)
    assert found.orphans == ()
    assert set(found.unreadable) == {"member1", "member3"}
    assert "deployments" in found.unreadable["member1"]


@in_world(THREE)
async def test_status_tells_of_orphans_and_reads_members_once_a_minute(world: World) -> None:
    await restored_without_new(world)
    asked: list[str] = []
    answers(world.member("member1").place, lambda r: asked.append(r.path))
    status_of_orphans = OrphanFindings()

    async def seen() -> FleetStatus:
        async def source(client: Client, now: datetime) -> Found:
            return await status_of_orphans.find(client, reach_in(world), now)

        asked.clear()
        found = await look_at_fleet(world.client, world.clock, (source,))
        listed.append(any("deployments" in path for path in asked))
        return found

    listed: list[bool] = []
    (finding,) = (await seen()).findings
    assert (finding.severity, finding.about, finding.next) == (
        Severity.NEEDS_SOMEBODY,
        "orphans",
        "leeward orphans",
    )
    assert finding.sentence == ("2 objects in members that the control plane has forgotten: 1 in member1, 1 in member3")
    await world.sleep(30)
    assert (await seen()).findings == [finding]
    await world.sleep(31)
    assert (await seen()).findings == [finding]
    assert listed == [True, False, True]


@in_world(THREE)
async def test_status_says_which_credentials_are_missing_and_that_there_is_no_proxy(world: World) -> None:
    """A control plane was adopted from a Karmada whose Secrets are not filled in: the rest is told."""
    problem = "the Secret karmada-cluster/member1 has no data.token"

    async def reach(cluster: Cluster) -> Client:
        match cluster.name:
            case "member1":
                return Client(UnusableTransport(problem))
            case "member3":
                return Client(ThroughProxy(LinkedTransport(world.place, ADMIN), "member3"))
            case _:
                return await reach_in(world)(cluster)

    async def find(client: Client, now: datetime) -> Found:
        return await OrphanFindings().find(client, reach, now)

    seen = await look_at_fleet(world.client, world.clock, (find,))
    (finding,) = seen.findings
    assert (finding.severity, finding.about) == (Severity.NEEDS_SOMEBODY, "cluster/member1")
    assert finding.sentence == "the credentials of 1 cluster are missing or cannot be used"
    assert finding.details == (f"member1: {problem}",)
    assert seen.unseen == []
    assert seen.notes == ["orphans are not looked for in member3: this control plane has no cluster proxy"]
    assert [row.name for row in seen.clusters or ()] == ["member1", "member2", "member3"]

    await world.member("member1").stop()
    await world.until(lambda: not world.is_ready("member1"), 120)
    seen = await look_at_fleet(world.client, world.clock, (find,))
    assert [finding.about for finding in seen.findings] == ["cluster/member1"], "its Cluster says what is wrong"
    assert seen.unseen == []
    assert seen.notes[0] == "orphans are not looked for in member1: not Ready"


@in_world(THREE)
async def test_status_waits_a_bounded_time_for_members_and_says_which_it_has_not_read(world: World) -> None:
    await restored_without_new(world)

    async def reach(cluster: Cluster) -> Client:
        if cluster.name == "member1":
            await asyncio.Event().wait()
        return await reach_in(world)(cluster)

    before = world.clock.monotonic()
    found = await OrphanFindings().find(world.client, reach, world.clock.now())
    assert world.clock.monotonic() - before == pytest.approx(SECONDS, abs=1)
    assert found.unseen == ["orphans in member1: the cluster was not read within 5 s; `leeward orphans` looks again"]
    assert [finding.sentence for finding in found.findings] == [
        "1 object in members that the control plane has forgotten: 1 in member3"
    ], "what the others hold is told all the same"


@in_world(THREE)
async def test_members_that_do_not_answer_cost_status_one_deadline_altogether(world: World) -> None:
    for number in range(2 * AT_ONCE):
        await world.client.create(CLUSTERS, cluster(f"silent{number}"))

    async def reach(_: Cluster) -> Client:
        return await asyncio.get_running_loop().create_future()

    async def orphans(client: Client, now: datetime) -> Found:
        return await OrphanFindings().find(client, reach, now)

    before = world.clock.monotonic()
    seen = await look_at_fleet(world.client, world.clock, (orphans, find_returned, find_nameless))
    assert world.clock.monotonic() - before == pytest.approx(SECONDS, abs=1)
    assert seen.clusters is not None
    assert len([each for each in seen.unseen if "not read within 5 s" in each]) > 0


async def restored_under_controllers_that_go_on(world: World) -> dict[str, str]:
    """Restores, and writes once more the Works of an application that is not in the backup, as a controller does that
    has not heard of the restore. Gives what runs of that by member, with its uid.
    """
    await apply(world.client, deployment("web", 2), policy("web", on("member1", "member3")))
    await world.sleep(60)
    backup = await world.medium.load()
    await apply(world.client, deployment("new", 2), policy("new", on("member1", "member3")))
    await world.sleep(60)
    before = {name: (await uids(world, name))["Deployment/new"] for name in ("member1", "member3")}
    works = [work for work in (await world.client.list(WORKS)).items if is_of(work, "new")]
    await world.stop_apiserver()
    await world.sleep(20)
    newest = (await world.medium.load()).records[-1].revision
    world.medium.replace(Loaded(backup.records, revision_behind(backup.records[-1].revision, newest)))
    await world.start_apiserver()
    for work in works:
        kept = {"labels": work.metadata.labels, "annotations": work.metadata.annotations}
        metadata = {"name": work.name, "finalizers": list(work.metadata.finalizers), **kept}
        await world.client.create(WORKS, {"metadata": metadata, "spec": to_wire(work.spec)}, work.namespace)
    await world.sleep(130)
    return before


def is_of(work: Work, app: str) -> bool:
    return work.metadata.annotations[BINDING_NAME_ANNOTATION] == f"{app}-deployment"


@pytest.mark.long
@in_world(THREE)
async def test_s5_works_of_a_binding_that_a_restored_control_plane_has_forgotten_stay_and_are_listed(
    world: World,
) -> None:
    before = await restored_under_controllers_that_go_on(world)
    assert world.binding("new-deployment") is None
    found = await found_in(world)
    assert {str(work) for work in found.works} == {
        f"Work {execution_space(name)}/{NEW} of ResourceBinding default/new-deployment" for name in before
    }
    assert (found.orphans, found.doubtful) == ((), ())
    assert [finding.sentence for finding in told_by_status(found).findings] == [
        "2 Works whose binding is gone: 1 in member1, 1 in member3"
    ]
    await world.stop_controllers()
    world.start_controllers()
    await world.sleep(120)
    for name, uid in before.items():
        await world.member(name).client.patch(DEPLOYMENTS, "new", {"spec": {"replicas": 1}}, "default")
        await world.sleep(60)
        assert (await uids(world, name))["Deployment/new"] == uid, "it runs on, whatever happens to it"
    assert [work.uid for work in (await found_in(world)).works] == [work.uid for work in found.works]


@in_world(THREE)
async def test_a_work_whose_binding_is_gone_is_deleted_when_that_is_asked_for_and_takes_along_what_it_made(
    world: World,
) -> None:
    await restored_under_controllers_that_go_on(world)
    (first, second) = (await found_in(world)).works
    assert await delete_orphan_work(world.client, first)
    await world.sleep(60)
    assert "Deployment/new" not in await uids(world, first.cluster)
    assert "Deployment/new" in await uids(world, second.cluster)
    assert not await delete_orphan_work(world.client, first), "it is gone"
    await apply(world.client, deployment("new", 2), policy("new", on("member1", "member3")))
    await world.sleep(60)
    assert not await delete_orphan_work(world.client, second), "its binding is there again"
    assert (await found_in(world)).works == ()
    assert await delete_orphan_works_of(world, "web") == []


async def delete_orphan_works_of(world: World, app: str) -> list[str]:
    """Tries to delete Works as orphans though their binding lives; gives what was deleted."""
    works = (await world.client.list(WORKS)).items
    named = [work for work in works if is_of(work, app)]
    assert len(named) == 2
    taken = [
        OrphanWork("", key_of(w), w.metadata.uid, w.metadata.resource_version, tuple(owners_of(w)), ()) for w in named
    ]
    return [str(each) for each in taken if await delete_orphan_work(world.client, each)]


@in_world()
async def test_s6_an_orphan_in_which_others_may_keep_something_is_known_as_such(world: World) -> None:
    """`leeward orphans --delete` leaves it alone, and so a Work that has made one."""
    await world.sleep(60)
    backup = await world.medium.load()
    await world.client.create(NAMESPACES, {"metadata": {"name": "team", "labels": {SKIP_NAMESPACE_LABEL: "true"}}})
    await world.client.create(POLICIES, cluster_policy(on("member1"), ("v1", "Namespace", "team")))
    await apply(world.client, deployment("new", 2), policy("new", on("member1")))
    await world.sleep(30)
    works = (await world.client.list(WORKS)).items
    await world.stop_controllers()
    await world.stop_apiserver()
    world.medium.replace(backup)
    await world.start_apiserver()
    found = {str(orphan): orphan.is_shared for orphan in (await found_in(world)).orphans}
    assert found == {"Namespace team in member1": True, "Deployment default/new in member1": False}
    for work in works:
        again = replace(work, metadata=replace(work.metadata, uid="", resource_version="", finalizers=()))
        await world.client.create(WORKS, again, work.namespace)
    listed = {work.owners[0].name: work.is_shared for work in (await found_in(world)).works}
    assert listed == {"team-namespace": True, "new-deployment": False}


@pytest.mark.parametrize("what", ["no identity", "a copy of another name"])
@in_world(THREE)
async def test_what_is_not_known_to_be_ours_is_listed_apart_and_not_deleted(world: World, what: str) -> None:
    await restored_without_new(world)
    client = world.member("member1").client
    if what == "no identity":
        patch = {"metadata": {"annotations": {HUB_ANNOTATION: None}}}
        await client.patch(DEPLOYMENTS, "new", patch, "default")
        expected = "Deployment default/new in member1"
    else:
        found = await client.get(DEPLOYMENTS, "new", "default")
        await client.create(DEPLOYMENTS, copied(found, "mine"), "default")
        expected = "Deployment default/mine in member1"
    found = await found_in(world)
    assert told(found.doubtful) == {expected}
    assert expected not in told(found.orphans)
    for orphan in found.doubtful:
        assert not await delete_orphan(world.client, reach_in(world), orphan)


def copied(found: Manifest, name: str) -> Manifest:
    """Copy as made by somebody who edits what `kubectl get -o yaml` printed."""
    kept = {key: found["metadata"][key] for key in ("labels", "annotations")}
    return {**{k: v for k, v in found.items() if k != "status"}, "metadata": {"name": name, **kept}}


@in_world(THREE)
async def test_what_belongs_to_another_control_plane_is_no_orphan_of_this_one(world: World) -> None:
    async with second_control_plane(world) as second:
        await apply(second.client, deployment("theirs", 1), policy("theirs", on("member1")))
        await second.sleep(30)
        assert await ready_replicas(world, "member1", "theirs") == 1
        found = await found_in(world)
        assert (found.orphans, found.doubtful) == ((), ())


@pytest.mark.parametrize("changes", [False, True])
@in_world(THREE)
async def test_what_was_left_on_purpose_is_listed_apart_and_not_deleted(world: World, changes: bool) -> None:
    """The last word of its policy counts."""
    kept, asked = policy("kept", on("member1")), {"preserveResourcesOnDeletion": True}
    kept["spec"] |= {} if changes else asked
    await apply(world.client, deployment("kept", 2), kept)
    await world.sleep(60)
    if changes:
        await world.client.patch(NAMESPACED_POLICIES, "kept", {"spec": asked}, "default")
        await world.sleep(60)
    metadata = await metadata_of_kept(world)
    await world.client.delete(DEPLOYMENTS, "kept", "default")
    await world.sleep(60)
    found = await found_in(world)
    assert told(found.preserved) == {"Deployment default/kept in member1"}
    assert (found.orphans, found.doubtful) == ((), ())
    assert not told_by_status(found).findings, "nothing is to be done about it"
    (orphan,) = found.preserved
    assert not await delete_orphan(world.client, reach_in(world), orphan)
    released = await metadata_of_kept(world)
    assert released["uid"] == metadata["uid"]
    assert released["labels"] == {"app": "kept", PRESERVED_ANNOTATION: "true"}
    await apply(world.client, deployment("kept", 2))
    not_asked = {"preserveResourcesOnDeletion": False, "conflictResolution": "Overwrite"}
    await world.client.patch(NAMESPACED_POLICIES, "kept", {"spec": not_asked}, "default")
    await world.sleep(60)
    assert (await metadata_of_kept(world))["uid"] == metadata["uid"], "it was taken over"
    taken_over = await metadata_of_kept(world)
    assert PRESERVED_ANNOTATION not in taken_over["annotations"] | taken_over["labels"]


async def metadata_of_kept(world: World) -> Manifest:
    return (await world.member("member1").client.get(DEPLOYMENTS, "kept", "default"))["metadata"]


@in_world({"member1": "Push", "member2": "Push"})
async def test_s1_a_copy_that_serves_alone_is_not_deleted(world: World) -> None:
    """The restored control plane has the application run elsewhere, where it has been lost by now."""
    anywhere = policy("web", {"clusterAffinity": {"clusterNames": ["member1", "member2"]}, **ONE_COPY})
    await apply(world.client, deployment("web", 2), anywhere)
    await world.until(lambda: bool(world.assigned("web-deployment")), 60)
    await world.sleep(60)
    (there,) = world.assigned("web-deployment")
    (other,) = {"member1", "member2"} - {there}
    backup = await world.medium.load()
    await world.member(there).stop()
    await world.until(lambda: set(world.assigned("web-deployment")) == {other})
    await world.until(lambda: not tasks(world, "web-deployment"))
    await world.stop_controllers()
    await world.stop_apiserver()
    world.medium.replace(backup)
    await world.start_apiserver()
    (orphan,) = (await found_in(world)).orphans
    assert str(orphan) == f"Deployment default/web in {other}"
    before = await uids(world, other)
    world.start_controllers()
    await world.sleep(120)
    with pytest.raises(StillServes, match="its replacement is not healthy"):
        await delete_orphan(world.client, reach_in(world), orphan)
    assert await uids(world, other) == before
    await world.member(there).start()
    await world.until(lambda: world.is_ready(there))
    await world.sleep(60)
    for each in (await found_in(world)).orphans:
        assert await delete_orphan(world.client, reach_in(world), each), "the other one serves by now"


async def restored(world: World, backup: Loaded) -> None:
    await world.stop_controllers()
    await world.stop_apiserver()
    world.medium.replace(backup)
    await world.start_control_plane()
    await world.sleep(30)


@in_world({"member1": "Push", "member2": "Push"})
async def test_s1_a_custom_resource_that_is_alone_is_not_deleted(world: World) -> None:
    """An operator in the member makes a database from it, which goes with it."""
    for client in (world.client, *(world.member(name).client for name in world.members)):
        await client.create(DEFINITIONS, CRON_TAB_DEFINITION)
    await world.sleep(30)
    await world.client.create(CRON_TABS, {"metadata": {"name": "data"}, "spec": {"replicas": 1}}, "default")
    chosen = policy("data", {"clusterAffinity": {"clusterNames": ["member1", "member2"]}, **ONE_COPY})
    chosen["spec"]["resourceSelectors"] = [{"apiVersion": "stable.example.com/v1", "kind": "CronTab"}]
    await apply(world.client, chosen)
    await world.until(lambda: bool(world.assigned("data-crontab")), 60)
    await world.sleep(60)
    (lost,) = world.assigned("data-crontab")
    (other,) = {"member1", "member2"} - {lost}
    backup = await world.medium.load()
    await world.member(lost).stop()
    await world.until(lambda: set(world.assigned("data-crontab")) == {other})
    await world.until(lambda: not tasks(world, "data-crontab"), 3600)
    await restored(world, backup)
    (orphan,) = (await found_in(world)).orphans
    with pytest.raises(StillServes):
        await delete_orphan(world.client, reach_in(world), orphan)
    assert (await world.member(other).client.get(CRON_TABS, "data", "default"))["metadata"]["uid"] == orphan.uid


@in_world(THREE)
async def test_s1_what_was_applied_again_and_is_not_placed_yet_is_not_deleted(world: World) -> None:
    await restored_without_new(world)
    await world.stop_controllers()
    await apply(world.client, deployment("new", 2))
    found = (await found_in(world)).orphans
    assert told(found) == {"Deployment default/new in member1", "Deployment default/new in member3"}
    for orphan in found:
        with pytest.raises(StillServes):
            await delete_orphan(world.client, reach_in(world), orphan)


@pytest.mark.parametrize("app", ["web", "config", "web that reads"])
@in_world(THREE)
async def test_what_is_well_where_it_is_placed_needs_no_orphan(world: World, app: str) -> None:
    """Placement that has changed after the backup."""
    templates = {"web": [deployment("web", 2)], "config": [config("c")], "web that reads": [reading("web", "c")]}[app]
    templates += [config("c")] if app == "web that reads" else []
    name, kind, version = templates[0]["metadata"]["name"], templates[0]["kind"], templates[0]["apiVersion"]
    chosen = policy(name, on("member1"), kind, version)
    chosen["spec"]["propagateDeps"] = True
    await apply(world.client, *templates, chosen)
    await world.sleep(60)
    backup = await world.medium.load()
    moved = {"spec": {"placement": on("member1", "member3")}}
    await world.client.patch(NAMESPACED_POLICIES, name, moved, "default")
    await world.sleep(60)
    await restored(world, backup)
    await world.sleep(70)
    found = (await found_in(world)).orphans
    assert [orphan.cluster for orphan in found] == ["member3"] * len(templates)
    assert all([await delete_orphan(world.client, reach_in(world), orphan) for orphan in found])
