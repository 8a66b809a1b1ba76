"""Enforcement of quotas (gate FederatedQuotaEnforcement): growth beyond one is refused, and no failover is."""

import pytest

from kubeapi.core import EVENTS
from kubeapi.meta import Manifest
from kubeclient import Forbidden
from leeward.answers.explanation import NOTHING_MOVES, ApplicationState, Explanation
from leeward.answers.subjects import asked_of, explain_in
from leeward.api.meta import find_condition
from leeward.api.resource import CLUSTERS, FEDERATED_RESOURCE_QUOTAS, RESOURCE_BINDINGS
from leeward.manager.gates import switch_gates
from leeward.manager.settings import ManagerSettings
from leeward.sim.world import World
from tests.world.pictures import picture
from tests.world.stories import DEPLOYMENTS, apply, by_weight, in_world, policy, tasks
from tests.world.test_detection import answers, status
from tests.world.test_quota import asking, change_quota, create_quota, quota_status

ENFORCED = ManagerSettings(gates=switch_gates([("FederatedQuotaEnforcement", True)]))
ALL = ("member1", "member2", "member3")
DIVIDED = {
    "clusterAffinity": {"clusterNames": list(ALL)},
    "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}],
    "replicaScheduling": {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Weighted",
        "weightPreference": {"dynamicWeight": "AvailableReplicas"},
    },
}
AGGREGATED = {
    "clusterAffinity": {"clusterNames": ["member1", "member2"]},
    "replicaScheduling": {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"},
}
DUPLICATED = {
    "clusterAffinity": {"clusterNames": list(ALL)},
    "spreadConstraints": [{"spreadByField": "cluster", "minGroups": 2, "maxGroups": 2}],
    "replicaScheduling": {"replicaSchedulingType": "Duplicated"},
}


def scheduled(world: World, name: str) -> tuple[str, str, str]:
    """Status, reason and message of the condition."""
    binding = world.binding(f"{name}-deployment")
    condition = find_condition(binding.status.conditions, "Scheduled") if binding is not None else None
    return (condition.status, condition.reason, condition.message) if condition is not None else ("", "", "")


def total(world: World, name: str) -> int:
    return sum(world.assigned(f"{name}-deployment").values())


async def scale(world: World, name: str, replicas: int) -> None:
    await world.client.patch(DEPLOYMENTS, name, {"spec": {"replicas": replicas}}, "default")


@in_world(manager=ENFORCED)
async def test_what_exceeds_a_quota_is_not_scheduled_and_is_when_the_quota_is_raised(world: World) -> None:
    await create_quota(world, {"cpu": "4"})
    await apply(world.client, asking("web", 5), policy("web", by_weight({"member1": 1, "member2": 1})))
    await world.sleep(20)
    exceeded = "FederatedResourceQuota(default/team) exceeded for resource cpu: requested sum 5, limit 4."
    refusal = f'admission webhook "resourcebinding.karmada.io" denied the request: {exceeded}'
    assert scheduled(world, "web") == ("False", "QuotaExceeded", refusal)
    assert total(world, "web") == 0
    assert await quota_status(world) == {"overall": {"cpu": "4"}}

    await change_quota(world, {"overall": {"cpu": "5"}})
    await world.sleep(5)
    assert scheduled(world, "web")[:2] == ("True", "Success")
    assert total(world, "web") == 5
    assert await quota_status(world) == {"overall": {"cpu": "5"}, "overallUsed": {"cpu": "5"}}


@in_world(manager=ENFORCED)
async def test_what_waits_is_scheduled_when_somebody_else_leaves_room(world: World) -> None:
    await create_quota(world, {"cpu": "4"})
    for name in ("a", "b"):
        await apply(world.client, asking(name, 3), policy(name, by_weight({"member1": 1})))
        await world.sleep(10)
    assert (total(world, "a"), total(world, "b")) == (3, 0)
    assert scheduled(world, "b")[1] == "QuotaExceeded"

    await scale(world, "a", 1)
    await world.sleep(10)
    assert (total(world, "a"), total(world, "b")) == (1, 3)
    await scale(world, "b", 4)
    await world.sleep(10)
    assert total(world, "b") == 3
    await world.client.delete(DEPLOYMENTS, "a", "default")
    await world.sleep(20)
    assert total(world, "b") == 4


@in_world(manager=ENFORCED)
async def test_many_that_come_at_once_do_not_exceed_it_together(world: World) -> None:
    await create_quota(world, {"cpu": "4"})
    for index in range(8):
        name = f"web-{index}"
        await apply(world.client, asking(name, 1), policy(name, by_weight({"member1": 1})))
    await world.sleep(30)
    reasons = sorted(scheduled(world, f"web-{index}")[1] for index in range(8))
    assert reasons == ["QuotaExceeded"] * 4 + ["Success"] * 4
    assert (await quota_status(world))["overallUsed"] == {"cpu": "4"}


@in_world()
async def test_without_the_gate_nothing_is_refused(world: World) -> None:
    await create_quota(world, {"cpu": "4"})
    await apply(world.client, asking("web", 5), policy("web", by_weight({"member1": 1})))
    await world.sleep(20)
    assert total(world, "web") == 5


@pytest.mark.long
@pytest.mark.parametrize("placement", [DIVIDED, DUPLICATED], ids=["divided", "duplicated"])
@pytest.mark.parametrize("trouble", ["full", "lowered", "wanting more"])
@in_world(manager=ENFORCED)
async def test_a_dead_cluster_is_failed_over_though_the_quota_is_full(
    world: World, placement: Manifest, trouble: str
) -> None:
    """This holds also where the quota was lowered below what runs, and where more is wanted than it allows."""
    copies = 1 if placement is DIVIDED else 2
    limit = str(4 * copies)
    await create_quota(world, {"cpu": limit})
    await apply(world.client, asking("web", 4), policy("web", placement))
    await world.sleep(30)
    before = world.assigned("web-deployment")
    assert (len(before), sum(before.values())) == (2, 4 * copies)
    if trouble == "lowered":
        await change_quota(world, {"overall": {"cpu": "1"}})
    elif trouble == "wanting more":
        await scale(world, "web", 6)
    await world.sleep(10)
    assert world.assigned("web-deployment") == before

    lost = "member1" if "member1" in before else "member2"
    await world.member(lost).stop()
    await world.until(lambda: bool(tasks(world, "web-deployment")))
    await world.sleep(1)
    after = world.assigned("web-deployment")
    assert lost not in after
    assert sum(after.values()) == sum(before.values())
    assert tasks(world, "web-deployment") == [lost]
    if trouble == "wanting more":
        assert scheduled(world, "web")[:2] == ("False", "QuotaExceeded")
        await change_quota(world, {"overall": {"cpu": "100"}})
        await world.sleep(10)
        assert total(world, "web") == 6 * copies


@in_world(manager=ENFORCED)
async def test_what_is_taken_back_from_an_eviction_runs_already_and_is_no_growth(world: World) -> None:
    """A replacement has left the fleet, and the quota was lowered below what runs (seed 50478)."""
    await create_quota(world, {"cpu": "4"})
    await apply(world.client, asking("web", 2), policy("web", AGGREGATED))
    await world.until(lambda: total(world, "web") == 2, 30)
    [lost] = world.assigned("web-deployment")
    await world.sleep(60)
    await change_quota(world, {"overall": {"cpu": "1"}})
    await world.member(lost).stop()
    await world.until(lambda: tasks(world, "web-deployment") == [lost])
    for name in world.assigned("web-deployment"):
        await world.client.delete(CLUSTERS, name)
    await world.sleep(10)
    await world.member(lost).start()
    await world.sleep(120)
    assert world.assigned("web-deployment") == {lost: 2}
    assert tasks(world, "web-deployment") == []


@in_world(manager=ENFORCED)
async def test_a_quota_that_goes_limits_nothing_any_more(world: World) -> None:
    await create_quota(world, {"cpu": "4"})
    await apply(world.client, asking("web", 5), policy("web", by_weight({"member1": 1})))
    await world.sleep(20)
    assert total(world, "web") == 0
    await world.client.delete(FEDERATED_RESOURCE_QUOTAS, "team", "default")
    await world.sleep(5)
    assert total(world, "web") == 5


@in_world(manager=ENFORCED)
async def test_whoever_writes_a_binding_is_refused_with_the_reason(world: World) -> None:
    await create_quota(world, {"cpu": "4"})
    await apply(world.client, asking("web", 2), policy("web", by_weight({"member1": 1})))
    await world.sleep(20)
    body = {"spec": {"clusters": [{"name": "member1", "replicas": 9}]}}
    with pytest.raises(Forbidden) as refused:
        await world.client.patch(RESOURCE_BINDINGS, "web-deployment", body, "default")
    assert (refused.value.status.code, refused.value.status.reason) == (403, "QuotaExceeded")
    said = "FederatedResourceQuota(default/team) exceeded for resource cpu: requested sum 9, limit 4."
    assert said in refused.value.status.message
    assert total(world, "web") == 2


@in_world(manager=ENFORCED)
async def test_a_status_of_a_quota_that_cannot_be_written_is_told_by_its_controller(world: World) -> None:
    refused = status(500, "InternalError")
    answers(world.place, lambda request: refused if request.path.endswith("/team/status") else None)
    await create_quota(world, {"cpu": "4"})
    await world.sleep(5)
    told = {event.reason for event in (await world.client.list(EVENTS, "default")).items}
    assert "CollectOverallStatusFailed" in told
    assert "CollectOverallStatusSucceed" not in told
    world.place.audit = None
    await world.sleep(60)
    told = {event.reason for event in (await world.client.list(EVENTS, "default")).items}
    assert "CollectOverallStatusSucceed" in told


async def ask(world: World, name: str, cpu: str, replicas: int) -> None:
    """Changes what the Pods of a Deployment ask for, and how many there are, in one write."""
    spec = asking(name, replicas, cpu)["spec"]
    await world.client.patch(DEPLOYMENTS, name, {"spec": spec}, "default")


@in_world(manager=ENFORCED)
async def test_a_template_that_asks_for_more_is_refused_and_for_more_in_fewer_replicas_is_not(world: World) -> None:
    await create_quota(world, {"cpu": "4"})
    await apply(world.client, asking("web", 4), policy("web", by_weight({"member1": 1})))
    await world.sleep(20)
    assert total(world, "web") == 4
    await ask(world, "web", "2", 4)
    await world.sleep(20)
    assert asked_cpu(world, "web") == "1"
    events = (await world.client.list(EVENTS)).items
    assert any(event.reason == "ApplyPolicyFailed" and "requested sum 8, limit 4" in event.message for event in events)

    await ask(world, "web", "2", 2)
    await world.sleep(60)
    assert (asked_cpu(world, "web"), total(world, "web")) == ("2", 2)
    assert await quota_status(world) == {"overall": {"cpu": "4"}, "overallUsed": {"cpu": "4"}}


def asked_cpu(world: World, name: str) -> object:
    """CPU of each replica as the binding says."""
    binding = world.binding(f"{name}-deployment")
    requirements = binding.spec.replica_requirements if binding is not None else None
    return requirements.resource_request["cpu"] if requirements is not None else None


@in_world(manager=ENFORCED)
async def test_explain_says_what_a_quota_refuses(world: World) -> None:
    await create_quota(world, {"cpu": "4"})
    await apply(world.client, asking("web", 4), policy("web", DIVIDED))
    await world.sleep(20)
    before = world.assigned("web-deployment")
    await scale(world, "web", 6)
    await world.sleep(10)
    told = explain_in(await picture(world), asked_of("deploy/web", "default"))
    assert isinstance(told, Explanation)
    assert (told.state, told.decides) == (ApplicationState.UNPLACED, before)
    assert told.headline.startswith(
        "The application is not placed as wanted: FederatedResourceQuota default/team allows cpu "
    )
    tried = "Leeward tries again to place the application when the quota, or its use, changes"
    assert [step.sentence for step in told.next] == [tried]
    await apply(world.client, asking("big", 6), policy("big", DIVIDED))
    await world.sleep(10)
    told = explain_in(await picture(world), asked_of("deploy/big", "default"))
    assert isinstance(told, Explanation)
    assert told.headline.startswith(
        "The application has no copy anywhere: FederatedResourceQuota default/team allows cpu "
    )
    assert NOTHING_MOVES not in told.why, "it is nowhere"
