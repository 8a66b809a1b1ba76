"""Real applications, written after their charts, live through an outage: each of their objects, in every cluster.

Propagated, changed, failed over, returned, deleted. What a story asserts is the same for all of them; where an
application runs, and what of it stays, is what its policies say.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from leeward.api.meta import find_condition
from leeward.api.resource import OUTAGES
from leeward.manager.timing import Timing
from leeward.sim.world import Mode, World
from tests.applications.application import Application, applications
from tests.applications.contents import Contents, Key, contents_of, key_of, resources_of, uids
from tests.applications.deployed import (
    Deployed,
    clusters_led_to,
    clusters_of,
    held_reason,
    is_in,
    not_ready,
    status_problem,
)
from tests.world.stories import play

MEMBERS: Mapping[str, Mode] = {"member1": "Push", "member2": "Pull"}
HOME, SPARE = "member1", "member2"
TIMING = Timing(
    failover_eviction_timeout=60, default_not_ready_toleration_seconds=60, default_unreachable_toleration_seconds=60
)
"""Otherwise Karmada's: what takes most of an outage is waiting."""
SETTLING_SECONDS, OUTAGE_SECONDS, RETURN_SECONDS = 40, 240, 120
MADE_ANEW = frozenset({"Pod", "ReplicaSet", "ControllerRevision", "EndpointSlice"})
"""Kinds whose objects workloads make anew by themselves."""
NONE = frozenset[str]()
STARTS = frozenset({"CronJob", "Job"})
LIVED_IN = frozenset({"CustomResourceDefinition", "Namespace", "PersistentVolumeClaim"})


@dataclass(frozen=True)
class Expected:
    """`stays`: why templates stay in a cluster that died, other than those that have all clusters or are lived in.

    `waits` are templates that are made in their new cluster when it is known that they are gone in the old one.
    A template that waited serves on in the cluster that is back. `beside` it objects stay there, too, and `leaves` are
    objects that leave the other cluster, since nothing there needs them any more.
    """

    stays: Mapping[str, str] = field(default_factory=dict[str, str])
    waits: frozenset[str] = frozenset()
    beside: frozenset[str] = frozenset()
    leaves: frozenset[str] = frozenset()

    def why(self, key: Key) -> str:
        """The reason that the binding of a template gives."""
        return self.stays.get(f"{key.kind} {key.name}", "SharedResource" if key.kind in LIVED_IN else "NothingToGain")


NOTHING_ELSE = Expected()
EXPECTED: Mapping[str, Expected] = {
    "argo": Expected(
        beside=frozenset(
            {
                "ConfigMap workflow-controller-configmap",
                "Role build",
                "RoleBinding build",
                "Service argo-server",
                "ServiceAccount argo-server",
                "ServiceAccount argo-workflow-controller",
                "Workflow build-1",
            }
        ),
    ),
    "cloudnative-pg": Expected(
        dict.fromkeys(
            ("Cluster pg", "ScheduledBackup nightly", "Secret app-owner", "Secret backup-credentials"), "NoPlaceToGo"
        )
    ),
    "redis": Expected({"StatefulSet redis-master": "VolumesStay", "StatefulSet redis-replicas": "VolumesStay"}),
    "strimzi-kafka": Expected(
        dict.fromkeys(("Kafka events", "KafkaNodePool brokers", "KafkaTopic orders", "KafkaUser shop"), "NoPlaceToGo")
    ),
    "wordpress-mysql": Expected(
        waits=frozenset({"StatefulSet mysql"}),
        beside=frozenset({"Service mysql", "Service mysql-headless", "Ingress wordpress"}),
        leaves=frozenset({"ConfigMap mysql", "ServiceAccount mysql"}),
    ),
}


async def assert_runs(
    deployed: Deployed,
    away: frozenset[str] = frozenset(),
    waits: frozenset[str] = frozenset(),
    beside: frozenset[str] = frozenset(),
) -> None:
    """Every template is where its binding says, complete, and says so; every Pod has what it names."""
    members, bindings = await deployed.members(), await deployed.bindings()
    present = await contents_of(deployed.world.client)
    for name, contents in members.items():
        assert not_ready(contents) == {}, name
    for key in map(key_of, deployed.application.templates):
        if key.kind == "Namespace" and key not in bindings:
            assert all(key in contents for contents in members.values()), key
            continue
        binding = bindings[key]
        clusters = clusters_of(binding)
        assert clusters, key
        is_waiting = f"{key.kind} {key.name}" in waits
        there = {name for name, contents in members.items() if key in contents}
        kept = {HOME} if f"{key.kind} {key.name}" in beside else NONE
        assert there == (set() if is_waiting else (clusters - away) | kept), key
        if away & clusters or is_waiting:
            continue
        for condition in ("FullyApplied", *(("Scheduled",) if binding.spec.placement else ())):
            found = find_condition(binding.status.conditions, condition)
            assert found is not None, (key, condition)
            assert found.status == "True", (key, found)
        items = {item.cluster_name: item for item in binding.status.aggregated_status}
        leaving = {task.from_cluster for task in binding.spec.graceful_eviction_tasks}
        assert set(items) == clusters | leaving, key
        assert all(item.applied and item.health != "Unhealthy" for item in items.values()), (key, items)
        if key.kind in ("Service", "Ingress"):
            clusters = clusters_led_to(present[key], bindings, deployed.application.templates)
        assert status_problem(present[key], len(clusters), is_unseen=bool(away & leaving)) == "", key


def assert_changed(application: Application, members: Mapping[str, Contents]) -> None:
    for part in application.change:
        wanted = {**part, "metadata": {"name": part["metadata"]["name"]}}
        copies = [contents[key_of(part)] for contents in members.values() if key_of(part) in contents]
        assert copies, key_of(part)
        assert all(is_in(wanted, copy) for copy in copies), (key_of(part), copies)


def lasting(contents: Contents, passing: frozenset[str] = MADE_ANEW) -> dict[Key, str]:
    """The uids of what nobody has a reason to make anew; what CronJobs start comes and goes."""
    return {
        key: found["metadata"]["uid"]
        for key, found in contents.items()
        if key.kind not in passing
        and not any(o["kind"] in STARTS for o in found["metadata"].get("ownerReferences", ()))
    }


def assert_kept(before: Mapping[Key, str], after: Mapping[Key, str]) -> None:
    """Checks that all that was there is there, and is the same."""
    assert differing(before, {key: uid for key, uid in after.items() if key in before}) == {}


def differing(before: Mapping[Key, str], after: Mapping[Key, str]) -> dict[Key, tuple[str, str]]:
    """Objects that have come, gone, or been made anew: their uids before and after."""
    keys = {key for key, _ in before.items() ^ after.items()}
    return {key: (before.get(key, ""), after.get(key, "")) for key in sorted(keys)}


async def live_through(world: World, application: Application, expected: Expected) -> None:
    deployed = Deployed(world, application, await resources_of(world.client))
    own, before = await contents_of(world.client), await deployed.members()
    await deployed.apply()
    await deployed.settle(SETTLING_SECONDS)
    await assert_runs(deployed)

    created = await deployed.members()
    await deployed.change()
    await deployed.settle(SETTLING_SECONDS)
    await assert_runs(deployed)
    changed = await deployed.members()
    assert_changed(application, changed)
    for name, contents in created.items():
        assert_kept(lasting(contents), lasting(changed[name]))

    await world.member(HOME).stop()
    await deployed.settle(OUTAGE_SECONDS)
    await assert_runs(deployed, frozenset({HOME}), expected.waits)
    bindings = await deployed.bindings()
    left = {key: each for key, each in bindings.items() if any(t.name == HOME for t in each.spec.clusters)}
    assert {key: held_reason(each) for key, each in left.items()} == {key: expected.why(key) for key in left}
    assert {f"{key.kind} {key.name}" for key in left} >= set(expected.stays)
    spare = (await deployed.members())[SPARE]
    assert_kept(lasting(changed[SPARE], NONE), lasting(spare, NONE))

    await world.member(HOME).start()
    await deployed.settle(RETURN_SECONDS)
    await assert_runs(deployed, beside=expected.beside)
    if application.ends:
        await deployed.report(application.ends)
        await world.sleep(RETURN_SECONDS)
        await assert_runs(deployed)
    returned = await deployed.members()
    left = {key for key in spare if key not in returned[SPARE] and key.kind not in STARTS | MADE_ANEW}
    assert {f"{key.kind} {key.name}" for key in left} == expected.leaves
    stayed = {key: each for key, each in spare.items() if key not in left}
    assert_kept(lasting(stayed, NONE), lasting(returned[SPARE], NONE))
    assert_kept(lasting(returned[HOME]), lasting(changed[HOME]))
    bindings = await deployed.bindings()
    assert not any(binding.spec.graceful_eviction_tasks for binding in bindings.values())

    await deployed.delete(namespaces=False)
    await world.sleep(SETTLING_SECONDS)
    await deployed.delete(namespaces=True)
    await world.sleep(SETTLING_SECONDS)
    for name, after in (await deployed.members()).items():
        assert differing(uids(before[name]), uids(after)) == {}, name
    left = {key: uid for key, uid in uids(await contents_of(world.client)).items() if key.kind != OUTAGES.kind}
    assert differing(uids(own), left) == {}, "but for what tells of the outage"


@pytest.mark.long
@pytest.mark.parametrize("application", applications(), ids=lambda application: application.name)
def test_an_application_lives_through_an_outage(application: Application) -> None:
    async def story(world: World) -> None:
        await live_through(world, application, EXPECTED.get(application.name, NOTHING_ELSE))

    play(story, MEMBERS, TIMING)
