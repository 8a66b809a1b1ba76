"""Answers of `leeward explain` come true: places, instants, and why something does not move."""

import re
from datetime import datetime, timedelta

import pytest

from kubeapi.codec import decode_manifest
from kubeapi.meta import Manifest, parse_time
from kubeapi.resource import Resource
from kubeclient import Client
from kubecluster.network import LinkedTransport
from leeward.answers.cluster_explanation import ClusterExplanation
from leeward.answers.explanation import ApplicationState, Explanation
from leeward.answers.fleet_state import BindingName
from leeward.answers.next_steps import NextStep
from leeward.answers.subjects import asked_of, explain_in, read_asked
from leeward.answers.work_explanation import WorkExplanation
from leeward.api.meta import find_condition
from leeward.api.names import CLUSTER_OUTAGE_CONDITION, EVICTION_HELD_CONDITION
from leeward.api.resource import CLUSTERS, RESOURCE_BINDINGS
from leeward.operations import OperationFailed
from leeward.sim.world import ADMIN, World
from tests.world.pictures import Requests, picture
from tests.world.stories import DEPLOYMENTS, POLICIES, apply, by_weight, deployment, held, in_world, policy, tasks

OVERRIDES = Resource.of_manifests("policy.karmada.io/v1alpha1", "overridepolicies", "OverridePolicy", True)
WITHIN = timedelta(seconds=1)
NO_EXECUTE = "cluster.karmada.io/not-ready:NoExecute"
WEB, SOLO = "web-deployment", "solo-deployment"
ANY_ROOM: Manifest = {
    "replicaScheduling": {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    }
}
ONLY_MEMBER1 = {
    "clusterAffinity": {"clusterNames": ["member1"]},
    "replicaScheduling": {"replicaSchedulingType": "Divided"},
}


async def start(world: World) -> None:
    await apply(world.client, deployment("web", 3), policy("web", by_weight({"member1": 1, "member2": 1})))
    await apply(world.client, deployment("solo", 2), policy("solo", ONLY_MEMBER1))
    await world.until(lambda: bool(world.assigned(WEB) and world.assigned(SOLO)), 60)
    await world.sleep_to_whole(10, offset=51)


async def explain(world: World, resource: str = "deploy/web") -> Explanation:
    answer = explain_in(await picture(world), asked_of(resource, "default"))
    assert isinstance(answer, Explanation)
    return answer


async def explain_cluster(world: World, name: str) -> ClusterExplanation:
    answer = explain_in(await picture(world), asked_of(f"cluster/{name}", "default"))
    assert isinstance(answer, ClusterExplanation)
    return answer


def instant_of(told: Explanation | ClusterExplanation, words: str) -> datetime:
    """Instant of the one step that says so."""
    (found,) = [step.at for step in told.next if words in step.sentence]
    assert found is not None
    return found


@in_world()
async def test_what_is_well_says_why_it_is_there_and_that_nothing_follows(world: World) -> None:
    await start(world)
    told = await explain(world)
    assert (told.state, told.needs_somebody, told.next, told.helps) == (ApplicationState.WELL, False, (), ())
    gets = world.assigned(WEB)
    assert sorted(gets.values()) == [1, 2]
    by_number = sorted(gets, key=lambda name: -gets[name])
    assert [(row.cluster, row.assigned, row.ready) for row in told.where] == [(n, gets[n], gets[n]) for n in by_number]
    assert told.why[0] == "Claimed by PropagationPolicy default/web (priority 0)."
    parts = ", ".join(f"{name} would get {gets[name]} (3 * 1/2 = 1.50)" for name in ("member1", "member2"))
    assert told.why[1:] == [
        "If the application were placed again now, 2 of 3 clusters would be eligible: member1, member2.",
        f"3 replicas would be divided by weight: {parts}.",
    ]
    (refused,) = [verdict for verdict in told.verdicts if verdict.plugin]
    assert (refused.clusters, refused.plugin) == (("member3",), "ClusterAffinity")
    assert told.decides == world.assigned(WEB)


@in_world()
async def test_each_instant_of_an_outage_is_told_before_it_comes_and_so_is_where_the_copy_goes(world: World) -> None:
    await start(world)
    await world.member("member1").stop()
    await world.until(
        lambda: find_condition(world.cluster("member1").status.conditions, "leeward.dev/Failing") is not None
    )
    turns = instant_of(await explain_cluster(world, "member1"), "counts as not Ready")
    await world.until(lambda: not world.is_ready("member1"))
    assert abs(world.clock.now() - turns) <= WITHIN
    await world.sleep(5)

    told = await explain(world)
    taint, leaves = instant_of(told, "gets the taint NoExecute"), instant_of(told, "the copy in member1 is evicted")
    assert told.state is ApplicationState.OUTAGE
    assert told.reasons_at == leaves
    assert any(step.sentence.endswith(", unless member1 is back by then") and step.at == leaves for step in told.next)
    of_cluster = await explain_cluster(world, "member1")
    assert leaves == instant_of(of_cluster, "1 application leaves member1")
    assert leaves == instant_of(of_cluster, "1 application is due to leave member1, but cannot"), (
        "solo has no other place"
    )
    (kept,) = [verdict.clusters for verdict in told.verdicts if not verdict.plugin]
    await world.until(lambda: NO_EXECUTE in world.taints("member1"))
    assert abs(world.clock.now() - taint) <= WITHIN
    await world.until(lambda: world.assigned(WEB) == dict.fromkeys(kept, 3))
    assert abs(world.clock.now() - leaves) <= WITHIN
    on_return = NextStep(None, "the copy in member1 is deleted when member1 is back")
    told = await explain(world)
    assert (told.state, on_return in told.next) == (ApplicationState.MOVING, True)

    await world.until(lambda: not tasks(world, WEB))
    told = await explain(world)
    assert (told.state, told.next) == (ApplicationState.WELL, (on_return,))
    await world.member("member1").start()
    await world.until(lambda: world.is_ready("member1"))
    await world.sleep(10)
    assert (await explain(world)).next == ()


@in_world()
async def test_what_is_held_says_the_words_of_its_condition_and_what_would_help_and_that_does(world: World) -> None:
    await start(world)
    await world.member("member1").stop()
    await world.until(lambda: held(world, SOLO) == "NoPlaceToGo")
    told, binding = await explain(world, "deploy/solo"), world.binding(SOLO)
    assert binding is not None
    condition = find_condition(binding.status.conditions, EVICTION_HELD_CONDITION)
    assert condition is not None
    assert (told.state, told.needs_somebody, told.reason) == (ApplicationState.HELD, True, "NoPlaceToGo")
    assert told.headline == "Cannot move (NoPlaceToGo): The policy allows member1 only, and member1 is down."
    assert condition.message.startswith("The policy allows member1 only, and member1 is down. 2 replicas stay")
    assert [(row.cluster, row.ready) for row in told.where] == [("member1", None)], "what is not seen is not known"
    helps = {each.change: each.effect for each in told.helps}
    assert helps["add member2 and member3 to the policy"] == "2 more replicas would fit in member2 and member3 together"
    assert helps["if member1 comes back"] == "the 2 replicas there count as running immediately"

    await world.client.patch(POLICIES, "solo", {"spec": {"placement": {"clusterAffinity": None}}}, "default")
    await world.until(lambda: sum(world.assigned(SOLO).get(name, 0) for name in ("member2", "member3")) == 2)


@in_world()
async def test_the_wide_table_of_bindings_and_clusters_says_what_is_held_and_since_when(world: World) -> None:
    await start(world)
    assert await column(world, RESOURCE_BINDINGS.path("default"), "LEAVES-AT") == {SOLO: "", WEB: ""}
    await world.member("member1").stop()
    await world.until(lambda: not world.is_ready("member1"))
    await world.sleep(60)
    leaves = instant_of(await explain(world), "the copy in member1 is evicted")
    wide = await column(world, RESOURCE_BINDINGS.path("default"), "LEAVES-AT")
    assert parse_time(wide[WEB]) == leaves
    assert wide[SOLO] == "", "nothing says that it leaves, as it has no place to go"
    await world.until(lambda: held(world, SOLO) == "NoPlaceToGo")
    assert await column(world, RESOURCE_BINDINGS.path("default"), "LEAVES-AT") == {SOLO: "", WEB: ""}
    assert await column(world, RESOURCE_BINDINGS.path("default"), "HELD") == {SOLO: "NoPlaceToGo", WEB: ""}
    assert await column(world, RESOURCE_BINDINGS.path("default"), "LEAVING") == {SOLO: "", WEB: "member1"}
    assert (await column(world, CLUSTERS.path(), "SINCE"))["member1"] == "10m"


async def column(world: World, path: str, name: str) -> dict[str, str]:
    """Column of the table that kubectl prints, by the name of the row."""
    response = await world.client.raw("GET", path, accept="application/json;as=Table;g=meta.k8s.io;v=v1")
    table = decode_manifest(response.body)
    index = [each["name"].upper() for each in table["columnDefinitions"]].index(name)
    return {row["cells"][0]: str(row["cells"][index] or "") for row in table["rows"]}


@in_world()
async def test_the_sentence_of_an_outage_is_that_of_the_condition(world: World) -> None:
    await start(world)
    await world.member("member1").stop()
    await world.until(lambda: not world.is_ready("member1"))
    await world.sleep(5)
    for resource, name in (("deploy/web", WEB), ("deploy/solo", SOLO)):
        binding = world.binding(name)
        condition = find_condition(binding.status.conditions, CLUSTER_OUTAGE_CONDITION) if binding else None
        assert condition is not None
        told = await explain(world, resource)
        said = re.sub(r"( is due to leave)? at [^ ,]+Z(, but)?", "", condition.message.rstrip(".")).partition("): ")[2]
        sentences = [step.sentence for step in told.next]
        assert said in sentences, "with the instant beside it"
        assert not any(re.search(r"\dT\d", each) for each in (*sentences, *told.why, told.headline)), "one time format"


@in_world()
async def test_a_live_answer_is_that_of_the_picture_and_nothing_is_written(world: World) -> None:
    await start(world)
    client = Client(LinkedTransport(world.place, ADMIN), "leeward")
    requests = Requests(world)
    for resource in ("deploy/web", "deployments/web", f"rb/{WEB}", "cluster/member1"):
        asked = asked_of(resource, "default")
        live = explain_in(await read_asked(client, world.clock, asked, "world"), asked)
        assert live == explain_in(await picture(world), asked)
    assert set(requests.methods) == {"GET"}


@in_world()
async def test_a_work_says_what_is_believed_of_its_copy(world: World) -> None:
    await start(world)
    name = next(work.name for work in (await picture(world)).works_of(BindingName("default", WEB)).values())
    asked = asked_of(f"work/{name}", "karmada-es-member1")
    told = explain_in(await picture(world), asked)
    assert isinstance(told, WorkExplanation)
    assert (told.cluster, told.needs_somebody) == ("member1", False)
    await world.member("member1").stop()
    await world.until(lambda: not world.is_ready("member1"))
    told = explain_in(await picture(world), asked)
    assert isinstance(told, WorkExplanation)
    assert told.needs_somebody
    assert told.why[0].startswith("Nothing is known of member1 (since")


@in_world()
async def test_room_is_told_as_arithmetic_that_adds_up(world: World) -> None:
    app = deployment("web", 4)
    app["spec"]["template"]["spec"]["containers"][0]["resources"] = {"requests": {"cpu": "2"}}
    await apply(world.client, app, policy("web", ANY_ROOM))
    await world.until(lambda: sum(world.assigned(WEB).values()) == 4, 60)
    await world.sleep(60)
    told = await explain(world)
    assert {row.cluster for row in told.room} == {"member1", "member2", "member3"}
    for row in told.room:
        assert row.allocatable - row.requested - row.reserved == row.free
        assert row.requested == 2 * world.assigned(WEB).get(row.cluster, 0)
        assert (row.resource, row.each, row.room <= row.free // row.each) == ("cpu", 2, True)


async def refusal(world: World, resource: str, namespace: str = "default") -> str:
    """Words on a resource that has no binding."""
    with pytest.raises(OperationFailed) as refused:
        await read_asked(world.client, world.clock, asked_of(resource, namespace), "world")
    return str(refused.value)


@in_world()
async def test_a_template_without_a_binding_is_told_which_policy_nearly_selects_it(world: World) -> None:
    assert "there is no Deployment web in namespace default" in await refusal(world, "deploy/web")
    assert "serves no kind 'gizmo'" in await refusal(world, "gizmo/web")
    await apply(world.client, deployment("web", 3))
    assert "no policy selects its kind" in await refusal(world, "deploy/web")
    with pytest.raises(OperationFailed, match="No policy in the picture selects a deployment there"):
        explain_in(await picture(world), asked_of("deploy/web", "default"))
    near = policy("near", ONLY_MEMBER1)
    near["spec"]["resourceSelectors"] = [
        {"apiVersion": "apps/v1", "kind": "Deployment", "labelSelector": {"matchLabels": {"tier": "front"}}}
    ]
    await apply(world.client, policy("other", ONLY_MEMBER1), near)
    await world.sleep(5)
    with pytest.raises(OperationFailed, match="PropagationPolicy default/near selects Deployment by labels, and"):
        explain_in(await picture(world), asked_of("deploy/web", "default"))
    told = await refusal(world, "deploy/web")
    assert "PropagationPolicy default/near nearly does: the policy asks for the label tier=front" in told
    assert "`kubectl label deployment web -n default --overwrite tier=front` lets it" in told

    await world.client.patch(DEPLOYMENTS, "web", {"metadata": {"labels": {"tier": "front"}}}, "default")
    await world.until(lambda: world.assigned(WEB) == {"member1": 3}, 30)


@in_world()
async def test_a_label_is_no_way_out_where_the_expressions_of_the_selector_miss_too(world: World) -> None:
    near = policy("near", ONLY_MEMBER1)
    labels = {"matchLabels": {"tier": "front"}, "matchExpressions": [{"key": "zone", "operator": "Exists"}]}
    near["spec"]["resourceSelectors"] = [{"apiVersion": "apps/v1", "kind": "Deployment", "labelSelector": labels}]
    await apply(world.client, deployment("web", 3), near)
    await world.sleep(5)
    told = await refusal(world, "deploy/web")
    assert "the policy asks for the label tier=front, and the template has no such label" in told
    assert "do not match the selector's matchExpressions: zone Exists. Add a selector with the name web" in told
    assert "kubectl label" not in told
    await world.client.patch(DEPLOYMENTS, "web", {"metadata": {"labels": {"zone": "z"}}}, "default")
    assert "--overwrite tier=front` lets it" in await refusal(world, "deploy/web")


@in_world()
async def test_a_template_that_is_older_than_a_lazy_policy_is_told_to_change(world: World) -> None:
    await apply(world.client, deployment("web", 3))
    await world.sleep(5)
    lazy = policy("web", ONLY_MEMBER1)
    lazy["spec"]["activationPreference"] = "Lazy"
    await apply(world.client, lazy)
    await world.sleep(60)
    told = await refusal(world, "deploy/web")
    assert "selects it, and its activationPreference is Lazy" in told
    assert "Change the template" in told
    await world.client.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 4}}, "default")
    await world.until(lambda: world.assigned(WEB) == {"member1": 4}, 30)


@in_world()
async def test_a_template_that_is_never_propagated_is_told_so_before_any_policy(world: World) -> None:
    selecting = policy("web", ONLY_MEMBER1)
    await apply(world.client, deployment("web", 3), selecting, namespace="kube-public")
    await apply(world.client, policy("mine", ONLY_MEMBER1))
    await world.sleep(5)
    told = await refusal(world, "deploy/web", "kube-public")
    assert "nothing of kube-public is propagated: it is reserved for the control plane, or in --skipped" in told
    assert told.endswith("Create it in another namespace")
    told = await refusal(world, "propagationpolicy/mine")
    assert "PropagationPolicy is never propagated: it is the control plane's own" in told


@in_world()
async def test_a_template_that_waits_for_a_dependent_override_says_which(world: World) -> None:
    waiting = policy("web", ONLY_MEMBER1)
    waiting["spec"]["dependentOverrides"] = ["nope"]
    await apply(world.client, deployment("web", 3), waiting)
    await world.sleep(5)
    told = await refusal(world, "deploy/web")
    assert "waits for OverridePolicy nope, which spec.dependentOverrides names. Create OverridePolicy nope" in told
    selector = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    spec = {"resourceSelectors": [selector], "overrideRules": []}
    await world.client.create(OVERRIDES, {"metadata": {"name": "nope"}, "spec": spec}, "default")
    await world.until(lambda: world.assigned(WEB) == {"member1": 3}, 30)
