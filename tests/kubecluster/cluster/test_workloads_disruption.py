"""PodDisruptionBudgets and evictions in a whole cluster on virtual time."""

import asyncio
from typing import Any

import pytest

from kubeapi.codec import decode_manifest, encode
from kubeapi.meta import Manifest
from kubeclient.patience import IMPATIENT
from kubecluster.kinds import BUDGETS, DAEMON_SETS, DEPLOYMENTS, PODS
from tests.kubecluster.cluster.simulated_cluster import Cluster, condition, pod_template, tell, workload

APP = {"matchLabels": {"app": "web"}}
NUMBERS = ("currentHealthy", "desiredHealthy", "expectedPods", "disruptionsAllowed")


def budget(name: str = "pdb", **spec: Any) -> Manifest:
    return {"metadata": {"name": name}, "spec": {"selector": APP, **spec}}


async def evict(cluster: Cluster, name: str, **options: Any) -> tuple[int, str]:
    """The code, and why not."""
    eviction: Manifest = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    body = encode({**eviction, "deleteOptions": options})
    answer = await cluster.client.with_patience(IMPATIENT).raw(
        "POST", PODS.path("default", name, "eviction"), body=body
    )
    status = decode_manifest(answer.body)
    causes = status.get("details", {}).get("causes", ())
    return answer.code, causes[0]["message"] if causes else status.get("message", "")


async def numbers(cluster: Cluster, name: str = "pdb") -> tuple[int, ...]:
    status = await cluster.status(BUDGETS, name)
    return tuple(status[number] for number in NUMBERS)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"minAvailable": 3}, (4, 3, 4, 1)),
        ({"minAvailable": "60%"}, (4, 3, 4, 1)),
        ({"maxUnavailable": 1}, (4, 3, 4, 1)),
        ({"maxUnavailable": "30%"}, (4, 2, 4, 2)),
        ({"maxUnavailable": 9}, (4, 0, 4, 4)),
        ({"minAvailable": 1, "selector": {"matchLabels": {"app": "other"}}}, (0, 1, 0, 0)),
    ],
)
def test_a_budget_says_how_many_pods_may_go(spec: dict[str, Any], expected: tuple[int, ...]) -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(DEPLOYMENTS, workload("Deployment", replicas=4))
        await cluster.create(BUDGETS, budget(**spec))
        await asyncio.sleep(5)
        assert await numbers(cluster) == expected
        status = await cluster.status(BUDGETS, "pdb")
        verdict = ("True", "SufficientPods") if expected[3] else ("False", "InsufficientPods")
        assert condition(status, "DisruptionAllowed") == verdict
        assert status["observedGeneration"] == 1

    tell(story)


def test_evictions_wait_until_the_budget_allows_the_next() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(DEPLOYMENTS, workload("Deployment", replicas=3))
        await cluster.create(BUDGETS, budget(maxUnavailable=1))
        await asyncio.sleep(5)
        first, second, _ = await cluster.names(PODS)
        assert await evict(cluster, second, dryRun=["All"]) == (201, "")
        codes = [code for code, _ in await asyncio.gather(evict(cluster, first), evict(cluster, second))]
        assert codes == [201, 429]
        await asyncio.sleep(0.5)
        needs = "The disruption budget pdb needs 2 healthy pods and has 2 currently"
        assert await evict(cluster, second) == (429, needs)
        await asyncio.sleep(10)
        assert await numbers(cluster) == (3, 2, 3, 1)
        assert "disruptedPods" not in await cluster.status(BUDGETS, "pdb")
        assert await evict(cluster, second) == (201, "")

    tell(story)


def test_a_budget_whose_pods_have_no_scale_lets_nothing_go() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(DAEMON_SETS, workload("DaemonSet"))
        await cluster.create(BUDGETS, budget(maxUnavailable=1))
        await asyncio.sleep(5)
        [pod, *_] = await cluster.names(PODS)
        code, why = await evict(cluster, pod)
        assert (code, "because it failed sync: found no controllers for pod" in why) == (429, True)
        await cluster.patch(BUDGETS, "pdb", {"spec": {"maxUnavailable": None, "minAvailable": 0}})
        assert await evict(cluster, pod) == (429, "The disruption budget pdb is still being processed by the server.")
        await asyncio.sleep(1)
        assert await evict(cluster, pod) == (201, "")

    tell(story)


def test_two_budgets_for_one_pod_are_one_too_many() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(DEPLOYMENTS, workload("Deployment", replicas=1))
        await cluster.create(BUDGETS, budget(minAvailable=0))
        await cluster.create(BUDGETS, budget("all", selector={}, minAvailable=0))
        await asyncio.sleep(5)
        [pod] = await cluster.names(PODS)
        code, why = await evict(cluster, pod)
        assert (code, why.startswith("This pod has more than one PodDisruptionBudget")) == (500, True)

    tell(story)


def test_a_pod_that_serves_nobody_needs_no_budget() -> None:
    async def story(cluster: Cluster) -> None:
        await cluster.create(
            DEPLOYMENTS, workload("Deployment", pod_template(nodeSelector={"no": "where"}), replicas=1)
        )
        await cluster.create(BUDGETS, budget(minAvailable=1))
        await asyncio.sleep(5)
        [pod] = await cluster.names(PODS)
        assert (await cluster.status(PODS, pod))["phase"] == "Pending"
        assert await evict(cluster, pod) == (201, "")
        assert await evict(cluster, "other") == (404, 'pods "other" not found')

    tell(story)
