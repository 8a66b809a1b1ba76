"""Gates: a replacement starts when its data is there, and the old copy goes when somebody says so; never on doubt."""

import re
from dataclasses import dataclass
from typing import Any

import pytest

from kubeapi.codec import render_yaml
from kubeapi.core import EVENTS, NAMESPACES
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Invalid, Unreachable
from leeward.answers.explanation import ApplicationState, Explanation
from leeward.answers.imagined import ImaginedChange
from leeward.answers.subjects import asked_of, explain_in
from leeward.answers.what_if import what_if
from leeward.answers.what_if_sentences import answer_of
from leeward.api.meta import Condition, find_condition
from leeward.api.names import AWAITED_GATE_ANNOTATION, REPLACEMENT_HELD_CONDITION, work_name
from leeward.api.outage import MoveState
from leeward.api.resource import CLUSTERS, OUTAGES
from leeward.operations.drain import start_drain
from leeward.operations.status import look_at_fleet
from leeward.sim.world import Mode, World
from tests.world.pictures import picture
from tests.world.stories import CONFIG_MAPS, DEPLOYMENTS, POLICIES, deployment, in_world, policy, ready_replicas, tasks
from tests.world.test_detection import answers, status
from tests.world.test_explain import OVERRIDES
from tests.world.test_kinds import CLUSTER_POLICIES, DEFINITIONS
from tests.world.test_story_of_an_outage import metric

TWO: dict[str, Mode] = {"member1": "Push", "member2": "Push"}
PULL: dict[str, Mode] = {"member1": "Pull", "member2": "Pull"}
LEDGER, WORK = "ledger-deployment", work_name("Deployment", "ledger", "default")
TERMS: Manifest = {
    "clusterAffinities": [{"affinityName": name, "clusterNames": [name]} for name in ("member1", "member2")],
    "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"},
}
HOST = "https://gates.example.com"
WEBHOOK = {"webhook": f"{HOST}/promoted"}


@dataclass(frozen=True)
class Example:
    """A kind that promotes data: its gate, and its status before and after the promotion."""

    kind: Resource[Manifest]
    expression: str
    before: Manifest
    after: Manifest

    @property
    def gate(self) -> Manifest:
        return {"apiVersion": self.kind.api_version, "kind": self.kind.kind, "for": self.expression}

    @property
    def definition(self) -> Manifest:
        schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
        version = {"name": self.kind.version, "served": True, "storage": True, "schema": schema}
        names = {"plural": self.kind.plural, "singular": self.kind.kind.lower(), "kind": self.kind.kind}
        versions: list[Manifest] = [{**version, "subresources": {"status": {}}}]
        spec: Manifest = {"group": self.kind.group, "scope": "Namespaced", "names": names, "versions": versions}
        return {"metadata": {"name": f"{self.kind.plural}.{self.kind.group}"}, "spec": spec}


def conditions(**statuses: str) -> Manifest:
    return {"conditions": [{"type": name, "status": status} for name, status in statuses.items()]}


RAMEN = Example(
    Resource.of_manifests("ramendr.openshift.io/v1alpha1", "volumereplicationgroups", "VolumeReplicationGroup", True),
    "condition=ClusterDataReady",
    {"state": "Unknown", **conditions(DataReady="False", ClusterDataReady="False")},
    {"state": "Primary", **conditions(DataReady="True", ClusterDataReady="True")},
)
VOLSYNC = Example(
    Resource.of_manifests("volsync.backube/v1alpha1", "replicationdestinations", "ReplicationDestination", True),
    "jsonpath={.status.latestImage.name}",
    {"lastSyncStartTime": "2026-01-01T00:00:00Z"},
    {"latestImage": {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "volsync-ledger-dst-1"}},
)
CSI_ADDONS = Example(
    Resource.of_manifests("replication.storage.openshift.io/v1alpha1", "volumereplications", "VolumeReplication", True),
    "jsonpath={.status.state}=Primary",
    {"state": "Secondary", **conditions(Completed="True")},
    {"state": "Primary", **conditions(Completed="True")},
)
VELERO = Example(
    Resource.of_manifests("velero.io/v1", "restores", "Restore", True),
    "jsonpath={.status.phase}=Completed",
    {"phase": "InProgress"},
    {"phase": "Completed"},
)
EXAMPLES = {"ramen": RAMEN, "volsync": VOLSYNC, "csi-addons": CSI_ADDONS, "velero": VELERO}


def gated(placement: Manifest = TERMS, **annotations: object) -> Manifest:
    wanted = policy("ledger", placement)
    texts = {f"leeward.dev/{name.replace('_', '-')}": render_yaml(gate) for name, gate in annotations.items()}
    wanted["metadata"]["annotations"] = texts
    return wanted


def of_cluster(wanted: Manifest) -> Manifest:
    return {**wanted, "kind": CLUSTER_POLICIES.kind}


async def defined(world: World, example: Example) -> None:
    """The kind everywhere, and an object of it in each member that is not promoted."""
    for client in (world.client, *(world.member(name).client for name in world.members)):
        await client.create(DEFINITIONS, example.definition)
    await world.sleep(30)
    for name in world.members:
        await world.member(name).client.create(example.kind, {"metadata": {"name": "ledger"}}, "default")
        await report(world, name, example.kind, example.before)


async def report(
    world: World, member: str, kind: Resource[Manifest], status: Manifest, namespace: str = "default"
) -> None:
    await world.member(member).client.patch(kind, "ledger", {"status": status}, namespace, subresource="status")


async def deployed(world: World, wanted: Manifest, template: Manifest | None = None) -> None:
    await world.client.create(DEPLOYMENTS, template or deployment("ledger", 2), "default")
    if wanted["kind"] == CLUSTER_POLICIES.kind:
        await world.client.create(CLUSTER_POLICIES, wanted)
    else:
        await world.client.create(POLICIES, wanted, "default")
    await world.until(lambda: world.assigned(LEDGER) == {"member1": 2}, 60)
    await world.sleep(60)
    assert await ready_replicas(world, "member1", "ledger") == 2, "the first placement waits for no gate"


async def waiting(world: World, example: Example) -> None:
    """The application runs in member1, and its replacement would wait for the object of the example."""
    await defined(world, example)
    await deployed(world, gated(wait_for=example.gate))


async def promoted(world: World, example: Example) -> None:
    """The data is promoted in member2, and the replacement serves there."""
    await report(world, "member2", example.kind, example.after)
    await world.sleep(90)
    assert await ready_replicas(world, "member2", "ledger") == 2


def told(world: World) -> Condition | None:
    found = world.binding(LEDGER)
    condition = find_condition(found.status.conditions, REPLACEMENT_HELD_CONDITION) if found is not None else None
    return condition if condition is not None and condition.status == "True" else None


async def held_for(world: World, seconds: int) -> None:
    """Sees that nothing of it is made in member2 for so long."""
    for _ in range(seconds // 5):
        await world.sleep(5)
        assert world.work("member2", WORK) is None


async def held_in_an_outage(world: World, seconds: int = 120) -> Condition:
    """Loses member1, and sees for so long that its replacement does not start."""
    await world.member("member1").stop()
    await world.until(lambda: told(world) is not None, 1200)
    await held_for(world, seconds)
    condition = told(world)
    assert condition is not None
    return condition


async def reasons(world: World) -> list[str]:
    events = (await world.client.list(EVENTS, "default")).items
    return [event.message for event in events if event.reason == "ReplacementHeld"]


@pytest.mark.parametrize("name", EXAMPLES)
@in_world(TWO)
async def test_a_replacement_starts_when_its_data_is_promoted(world: World, name: str) -> None:
    example = EXAMPLES[name]
    await defined(world, example)
    await deployed(world, gated(wait_for=example.gate))
    foretold = what_if(await picture(world), ImaginedChange(fails=frozenset({"member1"})))
    gate = f"its gate on {example.kind.kind} default/ledger"
    assert foretold.applications[0].gates == (f"the replacement in member2 does not start until {gate} opens",)
    assert (
        answer_of(foretold) == "1 application is affected: it would serve with all replicas, and would wait for a gate"
    )
    await held_in_an_outage(world, 0)
    assert world.assigned(LEDGER) == {"member2": 2}
    await held_for(world, 120)
    condition = told(world)
    assert condition is not None
    assert condition.reason == "WaitingForGate"
    assert f"{example.kind.kind} default/ledger in member2" in condition.message
    await report(world, "member2", example.kind, example.after)
    assert metric(world, "leeward_held_replacements", reason="WaitingForGate") == 1
    await world.sleep(90)
    assert await ready_replicas(world, "member2", "ledger") == 2
    assert told(world) is None
    assert metric(world, "leeward_held_replacements", reason="WaitingForGate") == 0
    assert metric(world, "leeward_replacement_held_seconds_count") == 1
    assert 120 <= metric(world, "leeward_replacement_held_seconds_sum") <= 220


@in_world(TWO)
async def test_a_gate_that_nobody_could_look_at_holds_nothing_open(world: World) -> None:
    """The member refuses to show the object: that is no yes, and it is told."""
    await defined(world, CSI_ADDONS)
    await report(world, "member2", CSI_ADDONS.kind, CSI_ADDONS.after)
    await deployed(world, gated(wait_for=CSI_ADDONS.gate))
    answers(
        world.member("member2").place,
        lambda r: status(403, "Forbidden") if CSI_ADDONS.kind.plural in r.path else None,
    )
    await held_in_an_outage(world, 0)
    await held_for(world, 180)
    condition = told(world)
    assert condition is not None
    assert condition.reason == "CouldNotLook"
    answers(world.member("member2").place, lambda _: None)
    await world.sleep(90)
    assert await ready_replicas(world, "member2", "ledger") == 2


@in_world(TWO)
async def test_somebody_is_told_when_it_takes_too_long_and_every_answer_says_what_it_waits_for(world: World) -> None:
    await defined(world, RAMEN)
    await deployed(world, gated(wait_for={**RAMEN.gate, "tellAfter": "4m"}))
    await held_in_an_outage(world, 0)
    assert [each for each in await findings(world) if "waits for a gate" in each] != []
    await held_for(world, 300)
    condition = told(world)
    assert condition is not None
    assert condition.reason == "GateOverdue"
    assert [message.rpartition(" ")[2] for message in await reasons(world)][-1:] == ["(GateOverdue)"]
    answer = explain_in(await picture(world), asked_of("deploy/ledger", "default"))
    assert isinstance(answer, Explanation)
    assert answer.state is ApplicationState.HINDERED
    assert "VolumeReplicationGroup default/ledger in member2" in answer.headline
    (outage,) = (await world.client.list(OUTAGES)).items
    (listed,) = outage.status.listed
    assert (listed.state, listed.reason) == (MoveState.HELD, "GateOverdue")
    await report(world, "member2", RAMEN.kind, RAMEN.after)
    await world.sleep(120)
    (outage,) = (await world.client.list(OUTAGES)).items
    assert outage.status.listed[0].state is MoveState.MOVED


async def findings(world: World) -> list[str]:
    return [each.sentence for each in (await look_at_fleet(world.client, world.clock)).findings]


@in_world({**TWO, "member3": "Push"})
async def test_what_waits_for_a_gate_is_not_taken_for_a_cluster_that_swallows_it(world: World) -> None:
    """A third cluster is there, and hours go by: the data is promoted in the second."""
    three: Manifest = {**TERMS, "clusterAffinities": [*TERMS["clusterAffinities"], THIRD]}
    await defined(world, RAMEN)
    await deployed(world, gated(three, wait_for=RAMEN.gate))
    await held_in_an_outage(world, 0)
    await world.sleep(3 * 3600)
    assert world.assigned(LEDGER) == {"member2": 2}
    await promoted(world, RAMEN)
    await world.sleep(3600)
    assert world.assigned(LEDGER) == {"member2": 2}


THIRD: Manifest = {"affinityName": "member3", "clusterNames": ["member3"]}


@pytest.mark.parametrize("how", ["controllers", "apiserver"])
@in_world(TWO)
async def test_a_restart_opens_no_gate(world: World, how: str) -> None:
    await waiting(world, CSI_ADDONS)
    await held_in_an_outage(world, 0)
    world.crash_controllers()
    if how == "apiserver":
        await world.stop_apiserver()
        await world.sleep(10)
        await world.start_apiserver()
    world.start_controllers()
    await held_for(world, 120)
    await promoted(world, CSI_ADDONS)


@in_world(TWO)
async def test_a_cluster_that_is_unjoined_is_replaced_through_the_gate_too(world: World) -> None:
    await waiting(world, CSI_ADDONS)
    await world.client.delete(CLUSTERS, "member1")
    await world.until(lambda: world.assigned(LEDGER) == {"member2": 2}, 600)
    await held_for(world, 300)
    assert told(world) is not None
    await promoted(world, CSI_ADDONS)


@in_world(TWO)
async def test_a_restart_forgets_no_held_start_when_the_first_sync_cannot_render_it(world: World) -> None:
    """Nothing but the condition tells by then that the copy in member2 replaces another."""
    await waiting(world, CSI_ADDONS)
    await world.client.delete(CLUSTERS, "member1")
    await world.until(lambda: world.assigned(LEDGER) == {"member2": 2}, 600)
    await held_for(world, 600)
    world.crash_controllers()
    broken = {"plaintext": [{"path": "/spec/nothing/there", "operator": "replace", "value": 1}]}
    rules = {"overrideRules": [{"overriders": broken}]}
    await world.client.create(OVERRIDES, {"metadata": {"name": "broken"}, "spec": rules}, "default")
    world.start_controllers()
    await held_for(world, 300)
    assert told(world) is not None
    await world.client.delete(OVERRIDES, "broken", "default")
    await held_for(world, 300)
    assert told(world) is not None
    await report(world, "member2", CSI_ADDONS.kind, CSI_ADDONS.after)
    await world.sleep(90)
    assert (await ready_replicas(world, "member2", "ledger"), told(world)) == (2, None)


@in_world(TWO)
async def test_a_changed_placement_goes_through_the_gate_and_the_old_copy_serves_all_along(world: World) -> None:
    await waiting(world, CSI_ADDONS)
    elsewhere: Manifest = {"spec": {"placement": {"clusterAffinities": [TERMS["clusterAffinities"][1]]}}}
    await world.client.patch(POLICIES, "ledger", elsewhere, "default")
    await world.until(lambda: told(world) is not None, 60)
    await held_for(world, 300)
    assert await ready_replicas(world, "member1", "ledger") == 2
    await report(world, "member2", CSI_ADDONS.kind, CSI_ADDONS.after)
    await world.sleep(120)
    assert await ready_replicas(world, "member2", "ledger") == 2
    assert await ready_replicas(world, "member1", "ledger") == -1


@pytest.mark.parametrize("how", ["a drain", "an outage"])
@in_world(TWO)
async def test_the_old_copy_stays_until_its_gate_holds(world: World, how: str) -> None:
    """The new copy is healthy, and the old one stays until somebody says that its data is synchronized."""
    gate = {"apiVersion": "v1", "kind": "ConfigMap", "in": "ControlPlane", "for": "jsonpath={.data.synced}=yes"}
    await world.client.create(CONFIG_MAPS, {"metadata": {"name": "ledger"}, "data": {"synced": "no"}}, "default")
    await deployed(world, gated(keep_until=gate))
    if how == "a drain":
        await start_drain(world.client, "member1", None)
    else:
        world.member("member1").pause()
        await world.until(lambda: world.assigned(LEDGER) == {"member2": 2}, 1200)
        await world.sleep(60)
        world.member("member1").resume()
    await world.sleep(1800)
    for name in TWO:
        assert await ready_replicas(world, name, "ledger") == 2
    assert tasks(world, LEDGER) == ["member1"]
    work, condition = world.work("member2", WORK), told(world)
    assert work is not None
    assert AWAITED_GATE_ANNOTATION in work.metadata.annotations
    assert condition is not None
    assert "ConfigMap default/ledger in the control plane" in condition.message
    await picture(world)
    await world.client.patch(CONFIG_MAPS, "ledger", {"data": {"synced": "yes"}}, "default")
    await world.sleep(120)
    assert await ready_replicas(world, "member1", "ledger") == -1
    assert (tasks(world, LEDGER), told(world)) == ([], None)
    work = world.work("member2", WORK)
    assert work is not None
    assert AWAITED_GATE_ANNOTATION not in work.metadata.annotations


@in_world(TWO)
async def test_a_webhook_opens_the_gate_and_its_silence_does_not(world: World) -> None:
    asked: list[Manifest] = []
    answer: dict[str, Any] = {"allowed": False, "status": {"message": "the volume is Secondary"}}

    async def review(request: Manifest) -> Manifest:
        asked.append(request)
        if answer["allowed"] is None:
            raise Unreachable("connection refused")
        return answer

    world.interpreter_hosts.put(HOST, review)
    await deployed(world, of_cluster(gated(wait_for=WEBHOOK)))
    assert asked == []
    condition = await held_in_an_outage(world, 60)
    assert "the volume is Secondary" in condition.message
    answer["allowed"] = None
    await held_for(world, 60)
    assert (condition := told(world)) is not None
    assert condition.reason == "CouldNotLook"
    answer["allowed"] = True
    await world.sleep(90)
    assert await ready_replicas(world, "member2", "ledger") == 2
    assert asked[0]["cluster"] == "member2"
    assert asked[0]["resource"] == {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "namespace": "default",
        "name": "ledger",
    }


@pytest.mark.parametrize("is_propagated", [True, False])
@in_world(PULL)
async def test_in_a_pull_cluster_the_report_of_a_propagated_object_counts(world: World, is_propagated: bool) -> None:
    for client in (world.client, *(world.member(name).client for name in world.members)):
        await client.create(DEFINITIONS, RAMEN.definition)
    await world.sleep(60)
    if is_propagated:
        await world.client.create(RAMEN.kind, {"metadata": {"name": "ledger"}}, "default")
        groups = policy("groups", {}, RAMEN.kind.kind, RAMEN.kind.api_version)
        groups["spec"]["resourceSelectors"][0]["name"] = "ledger"
        await world.client.create(POLICIES, groups, "default")
        await world.sleep(60)
    else:
        await world.member("member2").client.create(RAMEN.kind, {"metadata": {"name": "ledger"}}, "default")
    await report(world, "member2", RAMEN.kind, RAMEN.before)
    await deployed(world, gated(wait_for=RAMEN.gate))
    await world.member("member1").stop()
    await world.until(lambda: told(world) is not None, 1800)
    await held_for(world, 120)
    condition = told(world)
    assert condition is not None
    assert condition.reason == ("WaitingForGate" if is_propagated else "CouldNotLook")
    await report(world, "member2", RAMEN.kind, RAMEN.after)
    await world.sleep(120)
    assert await ready_replicas(world, "member2", "ledger") == (2 if is_propagated else -1)


@pytest.mark.parametrize("kind", ["PropagationPolicy", "ClusterPropagationPolicy"])
@in_world(TWO)
async def test_only_an_administrator_names_an_object_of_another_namespace(world: World, kind: str) -> None:
    gate = {**VELERO.gate, "namespace": "velero", "name": "$(name)"}
    for client in (world.client, *(world.member(name).client for name in world.members)):
        await client.create(DEFINITIONS, VELERO.definition)
    await world.sleep(30)
    there = world.member("member2").client
    await there.create(NAMESPACES, {"metadata": {"name": "velero"}})
    await there.create(VELERO.kind, {"metadata": {"name": "ledger"}}, "velero")
    await report(world, "member2", VELERO.kind, VELERO.after, "velero")
    wanted = gated(wait_for=gate)
    resource = POLICIES if kind == "PropagationPolicy" else CLUSTER_POLICIES
    await world.client.create(DEPLOYMENTS, deployment("ledger", 2), "default")
    await world.client.create(resource, {**wanted, "kind": kind}, "default" if resource.namespaced else "")
    await world.until(lambda: world.assigned(LEDGER) == {"member1": 2}, 60)
    await world.sleep(60)
    await world.member("member1").stop()
    await world.until(lambda: world.assigned(LEDGER) == {"member2": 2}, 1800)
    await world.sleep(300)
    is_open = kind == "ClusterPropagationPolicy"
    assert await ready_replicas(world, "member2", "ledger") == (2 if is_open else -1)
    condition = told(world)
    assert is_open or (condition is not None and "only a ClusterPropagationPolicy" in condition.message)


@pytest.mark.parametrize("kind", ["PropagationPolicy", "ClusterPropagationPolicy"])
@in_world(TWO)
async def test_a_webhook_that_a_template_names_is_never_asked(world: World, kind: str) -> None:
    """The control plane would ask it from its own network: that is for administrators."""
    asked: list[Manifest] = []

    async def review(request: Manifest) -> Manifest:
        asked.append(request)
        return {"allowed": True}

    world.interpreter_hosts.put(HOST, review)
    template = deployment("ledger", 2)
    template["metadata"]["annotations"] = {"leeward.dev/wait-for": render_yaml(WEBHOOK)}
    await deployed(world, {**policy("ledger", TERMS), "kind": kind}, template)
    condition = await held_in_an_outage(world)
    assert condition.reason == "GateUnreadable"
    assert "leeward.dev/wait-for: webhook: only a ClusterPropagationPolicy may name one" in condition.message
    assert asked == []


@in_world(TWO)
async def test_a_template_has_its_own_gate_and_one_that_cannot_be_read_holds(world: World) -> None:
    template = deployment("ledger", 2)
    template["metadata"]["annotations"] = {"leeward.dev/wait-for": "for: nothing"}
    await deployed(world, policy("ledger", TERMS), template)
    condition = await held_in_an_outage(world)
    assert condition.reason == "GateUnreadable"
    assert "leeward.dev/wait-for: apiVersion: " in condition.message
    await world.client.patch(
        DEPLOYMENTS, "ledger", {"metadata": {"annotations": {"leeward.dev/wait-for": None}}}, "default"
    )
    await world.sleep(90)
    assert (await ready_replicas(world, "member2", "ledger"), told(world)) == (2, None)


@in_world(TWO)
async def test_a_policy_with_a_gate_that_makes_no_sense_is_refused(world: World) -> None:
    for gate, said in (
        ({"webhook": "http://gates.example.com"}, "must be https://"),
        ({"webhook": "https://169.254.169.254/"}, "metadata service"),
        ({**RAMEN.gate, "for": "ready"}, "for: must be condition=TYPE"),
        ({**RAMEN.gate, "name": "$(pod)"}, "name: $(pod) is none of $(cluster)"),
        ({**RAMEN.gate, "tellAfter": "soon"}, "must be a duration"),
        ([RAMEN.gate, WEBHOOK], "webhook: only a ClusterPropagationPolicy may name one; name an object"),
    ):
        with pytest.raises(Invalid, match=re.escape(said)):
            await world.client.create(POLICIES, gated(wait_for=gate), "default")
