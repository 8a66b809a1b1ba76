"""The classes that a Pod names: priority, preemption, overhead and nodes."""

from typing import Any

import pytest

from tests.kubeserver.api_world import PODS, Answer, ApiWorld, pod, tell

PRIORITIES = "/apis/scheduling.k8s.io/v1/priorityclasses"
RUNTIMES = "/apis/node.k8s.io/v1/runtimeclasses"


async def _priority(world: ApiWorld, name: str, value: int, **fields: Any) -> Answer:
    return await world.create(PRIORITIES, {"metadata": {"name": name}, "value": value, **fields})


async def _sandbox(world: ApiWorld) -> None:
    scheduling = {"nodeSelector": {"sandbox": "yes"}, "tolerations": [{"key": "sandbox", "operator": "Exists"}]}
    body = {"metadata": {"name": "sandbox"}, "handler": "runsc", "scheduling": scheduling}
    assert (await world.create(RUNTIMES, {**body, "overhead": {"podFixed": {"cpu": "100m"}}})).code == 201


def test_a_priority_comes_from_the_class_that_is_named():
    async def story(world: ApiWorld) -> None:
        await _priority(world, "high", 1000, preemptionPolicy="Never")
        made = (await world.create(PODS, pod("a", priorityClassName="high"))).body["spec"]
        assert (made["priority"], made["preemptionPolicy"]) == (1000, "Never")
        system = (await world.create(PODS, pod("b", priorityClassName="system-node-critical"))).body["spec"]
        assert system["priority"] == 2_000_001_000

    tell(story)


def test_without_a_class_it_is_the_default_one_or_none():
    async def story(world: ApiWorld) -> None:
        plain = (await world.create(PODS, pod("a"))).body["spec"]
        assert (plain["priority"], plain["preemptionPolicy"]) == (0, "PreemptLowerPriority")
        assert "priorityClassName" not in plain
        await _priority(world, "usual", 5, globalDefault=True)
        usual = (await world.create(PODS, pod("b"))).body["spec"]
        assert (usual["priority"], usual["priorityClassName"]) == (5, "usual")
        refused = await _priority(world, "other", 6, globalDefault=True)
        assert "PriorityClass usual is already marked as default" in refused.body["message"]

    tell(story)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"priorityClassName": "none"}, "no PriorityClass with name none was found"),
        ({"priority": 7}, "the integer value of priority (7) must not be provided in pod spec"),
        ({"preemptionPolicy": "Never"}, "the string value of PreemptionPolicy (Never) must not be provided"),
        ({"runtimeClassName": "none"}, 'pod rejected: RuntimeClass "none" not found'),
        ({"overhead": {"cpu": "1"}}, "Pod Overhead set without corresponding RuntimeClass"),
        ({"runtimeClassName": "sandbox", "overhead": {"cpu": "1"}}, "doesn't match RuntimeClass's defined Overhead"),
        (
            {"runtimeClassName": "sandbox", "nodeSelector": {"sandbox": "no"}},
            "conflict: runtimeClass.scheduling.nodeSelector[sandbox] = yes; pod.spec.nodeSelector[sandbox] = no",
        ),
    ],
)
def test_a_pod_that_contradicts_its_classes_is_refused(spec: dict[str, Any], said: str):
    async def story(world: ApiWorld) -> None:
        await _sandbox(world)
        refused = await world.create(PODS, pod("a", **spec))
        assert refused.code == 403
        assert said in refused.body["message"]

    tell(story)


def test_a_runtime_brings_its_overhead_and_its_nodes():
    async def story(world: ApiWorld) -> None:
        await _sandbox(world)
        made = await world.create(PODS, pod("a", runtimeClassName="sandbox", nodeSelector={"disk": "ssd"}))
        spec = made.body["spec"]
        assert spec["overhead"] == {"cpu": "100m"}
        assert spec["nodeSelector"] == {"disk": "ssd", "sandbox": "yes"}
        assert spec["tolerations"] == [{"key": "sandbox", "operator": "Exists"}]

    tell(story)


def test_a_pod_keeps_the_priority_that_it_was_born_with():
    async def story(world: ApiWorld) -> None:
        await _priority(world, "high", 1000)
        made = (await world.create(PODS, pod("a", priorityClassName="high"))).body
        await world.delete(f"{PRIORITIES}/high")
        del made["spec"]["priority"], made["spec"]["preemptionPolicy"]
        made["metadata"]["labels"] = {"a": "b"}
        kept = await world.update(f"{PODS}/a", made)
        assert (kept.code, kept.body["spec"]["priority"]) == (200, 1000)

    tell(story)


def test_the_handler_of_a_runtime_stays():
    async def story(world: ApiWorld) -> None:
        await _sandbox(world)
        refused = await world.patch(f"{RUNTIMES}/sandbox", {"handler": "other"})
        assert 'handler: Invalid value: "other": field is immutable' in refused.body["message"]

    tell(story)
