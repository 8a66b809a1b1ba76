"""Absurd contents of a binding are a trouble of that binding alone.

The attacker has: every right to ResourceBindings in the namespace `tenant`.
They do: write bindings that types can hold and that nobody would write: negative and huge numbers, instants at the end
of time, names that are paths, annotations of ours that are no JSON, or other JSON.
They must not get: a decision for anybody else that is late, or wrong.
"""

from collections.abc import Mapping
from typing import Any

import pytest

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.names import (
    APPLIED_PLACEMENT_ANNOTATION,
    FAILBACK_AFTER_ANNOTATION,
    FAILBACK_ANNOTATION,
    FAILBACK_PACE_ANNOTATION,
    HOME_ANNOTATION,
    MEMORY_ANNOTATION,
    TEMPLATE_CONTENTS_ANNOTATION,
    TEMPLATE_DIGEST_ANNOTATION,
    TIME_TO_START_ANNOTATION,
)
from leeward.api.resource import RESOURCE_BINDINGS
from leeward.core.copies.memory import EARLIER_MEMORY_ANNOTATIONS
from leeward.sim.world import Mode, World
from tests.security.worlds import UnaskedWorld, namespaces, play_in, user_with
from tests.world.stories import CONFIG_MAPS, apply, by_weight, deployment, policy, ready_replicas

THREE: Mapping[str, Mode] = {"member1": "Push", "member2": "Push", "member3": "Push"}
RAW: Resource[Manifest] = Resource.of_manifests(
    RESOURCE_BINDINGS.api_version, "resourcebindings", "ResourceBinding", True
)
HUGE, SMALL = 2**31 - 1, -(2**31)
TEXTS = (
    "",
    "{",
    "[]",
    "null",
    '{"clusters": [{"name": "x", "replicas": -1}]}',
    '{"since": "0001-01-01T00:00:00Z"}',
    "9" * 999,
    '{"since": {"member1": "9999-12-31T23:59:59Z", "member2": "0001-01-01T00:00:00Z"}}',
    '{"clusters": {"member1": {"awaitedSince": "9999-12-31T23:59:59Z"}, "member2": {"tried": true}}}',
)
ANNOTATIONS = (
    *EARLIER_MEMORY_ANNOTATIONS,
    APPLIED_PLACEMENT_ANNOTATION,
    MEMORY_ANNOTATION,
    HOME_ANNOTATION,
    TEMPLATE_CONTENTS_ANNOTATION,
    TEMPLATE_DIGEST_ANNOTATION,
    FAILBACK_AFTER_ANNOTATION,
    FAILBACK_PACE_ANNOTATION,
    TIME_TO_START_ANNOTATION,
)
MARKED: list[dict[str, str]] = [dict.fromkeys(ANNOTATIONS, text) | {FAILBACK_ANNOTATION: "Automatic"} for text in TEXTS]
DIVIDED = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"}
TASK = {"fromCluster": "member1", "reason": "TaintUntolerated", "producer": "TaintManager"}
SPECS: list[dict[str, Any]] = [
    {"replicas": HUGE, "placement": {"replicaScheduling": DIVIDED}},
    {"replicas": HUGE - 1, "placement": {"replicaScheduling": {**DIVIDED, "replicaDivisionPreference": "Aggregated"}}},
    {"replicas": SMALL, "placement": {"replicaScheduling": DIVIDED}},
    {"clusters": [{"name": "member1", "replicas": HUGE}, {"name": "member1", "replicas": SMALL}]},
    {"clusters": [{"name": name} for name in ("", ".", "../../secrets", "a/b", "%2e%2e", "x" * 300)]},
    {"requiredBy": [{"name": "x", "namespace": "victim", "clusters": [{"name": "../x", "replicas": SMALL}]}]},
    {"gracefulEvictionTasks": [{**TASK, "gracePeriodSeconds": HUGE, "creationTimestamp": "9999-12-31T23:59:59Z"}]},
    {"gracefulEvictionTasks": [{**TASK, "gracePeriodSeconds": SMALL, "creationTimestamp": "0001-01-01T00:00:00Z"}]},
    {"gracefulEvictionTasks": [{**TASK, "replicas": SMALL, "preservedLabelState": {"work.karmada.io/name": "x"}}]},
    {"rescheduleTriggeredAt": "9999-12-31T23:59:59-23:59"},
    {"rescheduleTriggeredAt": "0001-01-01T00:00:00+23:59"},
    {"resource": {"resourceVersion": "no number", "uid": "x"}},
    {"resource": {"resourceVersion": "9" * 5_000}},
    {
        "schedulePriority": {"priority": HUGE},
        "replicas": 1,
        "replicaRequirements": {"resourceRequest": {"cpu": "1E3000000"}},
    },
    {"replicas": 1, "replicaRequirements": {"resourceRequest": {"cpu": "-1", "": "9" * 400}}},
    {"placement": {"clusterAffinity": {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "Bogus"}]}}}},
    {"placement": {"clusterAffinity": {"fieldSelector": {"matchExpressions": [{"key": "x", "operator": "Gt"}]}}}},
    {"placement": {"spreadConstraints": [{"spreadByField": "cluster", "minGroups": HUGE, "maxGroups": SMALL}]}},
    {"placement": {"spreadConstraints": [{"spreadByLabel": "x"}], "replicaScheduling": DIVIDED}, "replicas": 3},
    {"placement": {"clusterTolerations": [{"operator": "Bogus", "tolerationSeconds": SMALL}]}},
    {"failover": {"application": {"decisionConditions": {"tolerationSeconds": SMALL}, "gracePeriodSeconds": SMALL}}},
    {"failover": {"application": {"decisionConditions": {"tolerationSeconds": HUGE}, "purgeMode": "Directly"}}},
    {"components": [{"name": "x", "replicas": SMALL}, {"name": "x", "replicas": HUGE}]},
    {"suspension": {"dispatchingOnClusters": {"clusterNames": ["../x"]}}},
]


def absurd() -> list[Manifest]:
    bindings: list[Manifest] = []
    plain: list[tuple[dict[str, Any], dict[str, str]]] = [(spec, {}) for spec in SPECS]
    for index, (spec, annotations) in enumerate([*plain, *(({}, marks) for marks in MARKED)]):
        resource = {"apiVersion": "v1", "kind": "ConfigMap", "namespace": "tenant", "name": f"own-{index}"}
        resource |= spec.get("resource", {})
        placement = {"clusterAffinity": {"clusterNames": ["member1", "member2"]}} | spec.get("placement", {})
        own = {"clusters": [{"name": "member1"}], **spec, "resource": resource, "placement": placement}
        finalizers = ["karmada.io/binding-controller"]
        metadata = {"name": f"absurd-{index}", "annotations": annotations, "finalizers": finalizers}
        bindings.append({"metadata": metadata, "spec": own})
    return bindings


@pytest.mark.long
def test_absurd_bindings_hold_up_nobody_else() -> None:
    async def story(world: World) -> None:
        await namespaces(world, "tenant")
        mallory = await user_with(world, "mallory", "tenant", "*", "resourcebindings", "configmaps")
        bindings = absurd()
        for index, binding in enumerate(bindings):
            own = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"own-{index}"}}
            await mallory.create(CONFIG_MAPS, own, "tenant")
            await mallory.create(RAW, binding, "tenant")
        await apply(world.client, deployment("web", 2), policy("web", by_weight({"member1": 1, "member2": 1})))
        await world.sleep(30)
        assert [await ready_replicas(world, name, "web") for name in ("member1", "member2")] == [1, 1]
        await world.member("member1").stop()
        await world.until(lambda: not world.is_ready("member1"), 120)
        await world.sleep(420)
        assert await ready_replicas(world, "member2", "web") == 2
        await world.member("member1").start()
        await world.until(lambda: world.is_ready("member1"), 120)
        for index in range(len(bindings)):
            await mallory.delete(RAW, f"absurd-{index}", "tenant")
        await world.sleep(120)
        left = {binding["metadata"]["name"] for binding in (await mallory.list(RAW, "tenant")).items}
        assert left == set()

    play_in(UnaskedWorld, story, THREE)
