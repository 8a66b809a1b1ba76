"""Objects that a copy in their cluster may need: they leave after it (S15)."""

from typing import Any

import pytest

from kubeapi.core import NAMESPACES
from kubeapi.meta import Manifest
from leeward.api.names import (
    BINDING_NAME_ANNOTATION,
    BINDING_NAMESPACE_ANNOTATION,
    CLUSTER_POLICY_ID_LABEL,
    LEAVING_CONDITION,
    POLICY_ID_LABEL,
    REMOVAL_HELD_ANNOTATION,
    TEMPLATE_UID_ANNOTATION,
    execution_space,
)
from leeward.api.resource import CLUSTERS, RESOURCE_BINDINGS, WORKS
from leeward.api.work import Work
from leeward.controllers.removals.carriers import Carriers
from tests.unit.controllers.desk import MEMBER, Desk, play

POLICY = {POLICY_ID_LABEL: "one"}
SPREAD = {CLUSTER_POLICY_ID_LABEL: "one"}
NAMED = {BINDING_NAMESPACE_ANNOTATION: "default", BINDING_NAME_ANNOTATION: "web-deployment"}
TAINT = {"key": "example.com/broken", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}
TASK = {"fromCluster": MEMBER, "purgeMode": "Gracefully", "reason": "R", "producer": "P"}
LEAVING = {"type": LEAVING_CONDITION, "status": "True", "reason": "NotReplaced", "message": ""}


def made(kind: str, name: str, labels: Manifest, namespace: str = "default", **fields: Any) -> Manifest:
    """A template as it stands in a Work."""
    api_version = {"Deployment": "apps/v1", "Job": "batch/v1"}.get(kind, "v1")
    metadata = {"name": name, "labels": labels} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **fields}


async def works(desk: Desk, name: str, manifest: Manifest, cluster: str = MEMBER, **metadata: Any) -> None:
    space = execution_space(cluster)
    metadata = {"name": name, "namespace": space, **metadata}
    await desk.client.create(WORKS, {"metadata": metadata, "spec": {"workload": {"manifests": [manifest]}}}, space)


async def placed(desk: Desk, kind: str, **spec: Any) -> None:
    api_version = {"Deployment": "apps/v1", "Job": "batch/v1"}.get(kind, "v1")
    resource = {"apiVersion": api_version, "kind": kind, "namespace": "default", "name": "web", "uid": "uid-1"}
    runs = {"replicas": 1} if kind != "ConfigMap" else {}
    spec = {"resource": resource, "clusters": [{"name": MEMBER, "replicas": 1}], **runs, **spec}
    await desk.client.create(RESOURCE_BINDINGS, {"metadata": {"name": "web-deployment"}, "spec": spec}, "default")


async def finished(desk: Desk) -> None:
    identifier = {"ordinal": 0, "group": "batch", "version": "v1", "kind": "Job", "resource": "", "name": "web"}
    report = {TEMPLATE_UID_ANNOTATION: "uid-1", "conditions": [{"type": "Complete", "status": "True"}]}
    status = {"status": {"manifestStatuses": [{"identifier": identifier, "status": report}]}}
    await desk.client.patch(WORKS, "web", status, execution_space(MEMBER), subresource="status")


STORIES: dict[str, tuple[dict[str, Any], bool]] = {
    "of the same policy": ({}, True),
    "of another policy": ({"labels": {POLICY_ID_LABEL: "two"}}, False),
    "of no policy": ({"labels": {}}, False),
    "of another namespace": ({"namespace": "other"}, False),
    "in another cluster": ({"cluster": "member2"}, False),
    "it runs nothing": ({"kind": "ConfigMap"}, False),
    "its binding is gone": ({"bound": False}, False),
    "it names no binding": ({"annotations": {}}, False),
    "a Job that runs": ({"kind": "Job"}, True),
    "a Job that has finished": ({"kind": "Job", "finished": True}, False),
    "it is being deleted": ({"going": True}, False),
    "its deletion is held": ({"going": True, "annotations": {**NAMED, REMOVAL_HELD_ANNOTATION: "true"}}, True),
}
LEAVES: dict[str, tuple[dict[str, Any], bool]] = {
    "its Work waits": ({"leaving": True}, True),
    "its deletion is held": ({"going": True, "annotations": {**NAMED, REMOVAL_HELD_ANNOTATION: "true"}}, True),
    "it has a task": ({"spec": {"gracefulEvictionTasks": [TASK]}}, True),
    "another copy has a task": ({"spec": {"gracefulEvictionTasks": [{**TASK, "fromCluster": "member2"}]}}, False),
    "it is placed elsewhere": ({"spec": {"clusters": [{"name": "member2", "replicas": 1}]}}, True),
    "it is placed elsewhere, too": ({"spec": {"clusters": [{"name": MEMBER}, {"name": "member2"}]}}, False),
    "its binding is gone": ({"bound": False}, False),
    "its cluster is gone": ({"left": True}, False),
    "a taint drives it out": ({"tainted": True}, True),
    "it tolerates the taint": ({"tainted": True, "tolerates": {"operator": "Exists"}}, False),
    "it does so for a while": ({"tainted": True, "tolerates": {"operator": "Exists", "tolerationSeconds": 9}}, True),
}
WEB = {"selector": {"app": "web"}}


async def carries(desk: Desk, user: dict[str, Any], needed: Manifest) -> bool:
    """Tells whether a copy that `user` describes carries the object that is `needed`."""
    await desk.cluster()
    await desk.cluster("member2")
    if user.get("tainted"):
        await desk.client.patch(CLUSTERS, MEMBER, {"spec": {"taints": [TAINT]}})
    carriers = Carriers(desk.plane)
    await desk.work("of-nothing")
    kind, spec = user.get("kind", "Deployment"), user.get("spec", {})
    if tolerates := user.get("tolerates"):
        spec = {**spec, "placement": {"clusterTolerations": [{"key": TAINT["key"], **tolerates}]}}
    template = {"template": {"metadata": {"labels": {"app": "web"}}}}
    manifest = made(kind, "web", user.get("labels", POLICY), user.get("namespace", "default"), spec=template)
    marks = user.get("annotations", NAMED)
    if kind == "Job":
        marks = {**marks, TEMPLATE_UID_ANNOTATION: "uid-1"}
    kept = {"finalizers": ["example.com/keep"]} if user.get("going") else {}
    await works(desk, "web", manifest, user.get("cluster", MEMBER), annotations=marks, **kept)
    if user.get("bound", True):
        await placed(desk, kind, **spec)
    if user.get("finished"):
        await finished(desk)
    if user.get("leaving"):
        told = {"status": {"conditions": [{**LEAVING, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}}
        await desk.client.patch(WORKS, "web", told, execution_space(MEMBER), subresource="status")
    if user.get("going"):
        await desk.client.delete(WORKS, "web", execution_space(MEMBER))
    if user.get("left"):
        await desk.client.delete(CLUSTERS, MEMBER)
    await works(desk, "needed", needed)
    await desk.plane.client.get(NAMESPACES, "default")
    await desk.plane.informers.wait_synced()
    found: Work = await desk.seen("needed")
    return carriers.carries(found)


@pytest.mark.parametrize(("user", "carried"), STORIES.values(), ids=STORIES)
def test_s15_an_application_carries_what_came_with_it(user: dict[str, Any], *, carried: bool) -> None:
    async def story(desk: Desk) -> None:
        assert await carries(desk, user, made("Secret", "key", POLICY)) is carried

    play(story)


@pytest.mark.parametrize(("user", "carried"), LEAVES.values(), ids=LEAVES)
def test_s15_one_that_leaves_carries_all_that_leaves_its_namespace(user: dict[str, Any], *, carried: bool) -> None:
    async def story(desk: Desk) -> None:
        assert (
            await carries(desk, {**user, "labels": {POLICY_ID_LABEL: "two"}}, made("Secret", "key", POLICY)) is carried
        )

    play(story)


@pytest.mark.parametrize(
    ("labels", "needed", "carried"),
    [
        (POLICY, made("Service", "web", POLICY, spec=WEB), True),
        (POLICY, made("Service", "web", POLICY, spec={"selector": {"app": "db"}}), False),
        (SPREAD, made("ClusterRole", "web", SPREAD, ""), True),
        (POLICY, made("ClusterRole", "web", SPREAD, ""), True),
        (POLICY, made("ClusterRole", "web", {CLUSTER_POLICY_ID_LABEL: "two"}, ""), False),
    ],
    ids=["a Service", "of other Pods", "cluster-wide", "of a policy with this id", "cluster-wide, of another policy"],
)
def test_s15_a_service_of_other_pods_is_not_carried_and_what_is_cluster_wide_is(
    labels: Manifest, needed: Manifest, *, carried: bool
) -> None:
    async def story(desk: Desk) -> None:
        assert await carries(desk, {"labels": labels}, needed) is carried

    play(story)
