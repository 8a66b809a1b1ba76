"""Quotas where the API server is not ours: what the webhook refuses, the embedded server refuses too."""

import asyncio
from typing import Any

from kubeapi.loop.clock import VirtualClock
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeclient import Client
from leeward.api.schema import custom_resource_definitions
from leeward.webhook.quotas import ADMITTED_SECONDS, QuotaJudge
from leeward.webhook.store_rules import SECONDS
from tests.kubeserver.api_world import ApiWorld, api_world
from tests.transports import Deaf

QUOTAS = "/apis/policy.karmada.io/v1alpha1/namespaces/default/federatedresourcequotas"
BINDINGS = "/apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings"
RESOURCE = {"group": "work.karmada.io", "version": "v1alpha2", "resource": "resourcebindings"}
REFUSED = "FederatedResourceQuota(default/team) exceeded for resource cpu: requested sum {}, limit 4."


def binding(name: str, replicas: int) -> Manifest:
    spec = {
        "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": name},
        "replicas": replicas,
        "replicaRequirements": {"resourceRequest": {"cpu": "1"}},
        "clusters": [{"name": "m1", "replicas": replicas}],
    }
    return {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def request(name: str, replicas: int, before: int = 0, **more: Any) -> dict[str, Any]:
    asked = {"operation": "UPDATE", "namespace": "default", "name": name, "resource": RESOURCE, **more}
    return {**asked, "object": binding(name, replicas), "oldObject": binding(name, before)}


def judge_of(world: ApiWorld, *, answers: bool = True) -> QuotaJudge:
    client = Client(world.transport if answers else Deaf(hangs=True))
    return QuotaJudge(client, VirtualClock(), multiple_pod_templates=False)


async def with_quota(world: ApiWorld) -> None:
    kind = {"apiVersion": "policy.karmada.io/v1alpha1", "kind": "FederatedResourceQuota"}
    answer = await world.create(QUOTAS, {**kind, "metadata": {"name": "team"}, "spec": {"overall": {"cpu": "4"}}})
    assert answer.code == 201


def said(answer: Manifest | None) -> tuple[int, str, str] | None:
    status: Any = answer["status"] if answer is not None else None
    return (status["code"], status["reason"], status["message"]) if status is not None else None


def test_growth_is_judged_with_what_others_use_and_nothing_else_is() -> None:
    async def story() -> None:
        async with api_world(crds=custom_resource_definitions()) as world:
            judge = judge_of(world)
            assert said(await judge.judge(request("a", 9))) is None
            await with_quota(world)
            await world.create(BINDINGS, binding("other", 3))
            assert said(await judge.judge(request("a", 2))) == (403, "QuotaExceeded", REFUSED.format(5))
            assert said(await judge.judge(request("other", 5, before=3))) == (403, "QuotaExceeded", REFUSED.format(5))
            for passes in (request("other", 9, before=9), request("other", 8, before=9)):
                assert said(await judge.judge(passes)) is None
            foreign = {**RESOURCE, "resource": "clusterresourcebindings"}
            assert said(await judge.judge(request("a", 9, resource=foreign))) is None
            assert said(await judge.judge(request("a", 9, subResource="status"))) is None
            assert said(await judge.judge(request("a", 9, operation="DELETE"))) is None

    run_virtual(story())


def test_what_was_admitted_a_moment_ago_counts_though_it_is_not_listed_yet() -> None:
    async def story() -> None:
        async with api_world(crds=custom_resource_definitions()) as world:
            await with_quota(world)
            judge = judge_of(world)
            assert said(await judge.judge(request("dry", 4, dryRun=True))) is None
            answers = await asyncio.gather(*(judge.judge(request(f"a{index}", 1)) for index in range(9)))
            assert [said(answer) is None for answer in answers].count(True) == 4
            assert said(await judge.judge(request("a0", 2, before=1))) == (403, "QuotaExceeded", REFUSED.format(5))
            await asyncio.sleep(ADMITTED_SECONDS)
            assert said(await judge.judge(request("b", 4))) is None

    run_virtual(story())


def test_a_failover_passes_while_nobody_tells_and_growth_is_asked_for_again() -> None:
    async def story() -> None:
        async with api_world(crds=custom_resource_definitions()) as world:
            judge = judge_of(world, answers=False)
            assert said(await judge.judge(request("a", 4, before=4))) is None
            refused = await judge.judge(request("a", 5, before=4))
            assert refused is not None
            assert (refused["status"]["code"], refused["status"]["reason"]) == (503, "ServiceUnavailable")
            assert f"no answer within {SECONDS:g} s" in refused["status"]["message"]

    run_virtual(story())


def test_a_binding_that_cannot_be_read_is_left_to_others() -> None:
    async def story() -> None:
        async with api_world(crds=custom_resource_definitions()) as world:
            await with_quota(world)
            broken = {**request("a", 9), "object": {"metadata": {"name": "a"}, "spec": {"clusters": "?"}}}
            assert said(await judge_of(world).judge(broken)) is None

    run_virtual(story())
