"""A template follows the replicas of its members only where all of them are known to have arrived there."""

from typing import Any

import msgspec
import pytest

from kubeapi.codec import copy_manifest
from kubeapi.meta import Manifest
from leeward.api.names import POLICY_ID_LABEL, RETAIN_REPLICAS_LABEL, RETAINED_ANNOTATION
from leeward.api.work import AggregatedStatusItem, GracefulEvictionTask, ResourceBinding, ResourceBindingStatus
from leeward.core.propagation.autoscaled import replicas_to_follow, scale_target_patch
from tests.builders import binding, cluster, dead, divided, duplicated, fleet, targets

TEMPLATE: Manifest = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "generation": 3, "labels": {RETAIN_REPLICAS_LABEL: "true"}},
    "spec": {"replicas": 4},
    "status": {"replicas": 6, "observedGeneration": 3},
}
LEAVING = GracefulEvictionTask("c", "TaintUntolerated", "Leeward")
FLEET = fleet(cluster("a"), cluster("b"))


def item(
    name: str, replicas: int, generation: int = 3, updated: int | None = None, **more: int
) -> AggregatedStatusItem:
    status = {"replicas": replicas, "updatedReplicas": replicas if updated is None else updated, **more}
    return AggregatedStatusItem(name, status={**status, "resourceTemplateGeneration": generation})


def bound(*items: AggregatedStatusItem, observed: int = 1, **spec: Any) -> ResourceBinding:
    made = binding(divided({"a": 1, "b": 1}), 4, targets(a=2, b=2))
    status = ResourceBindingStatus(scheduler_observed_generation=observed, aggregated_status=items)
    metadata = msgspec.structs.replace(made.metadata, generation=1)
    return msgspec.structs.replace(
        made, metadata=metadata, spec=msgspec.structs.replace(made.spec, **spec), status=status
    )


ARRIVED = bound(item("a", 4), item("b", 2))


def changed(**parts: Any) -> Manifest:
    template = copy_manifest(TEMPLATE)
    for part, values in parts.items():
        template[part] |= values
    return template


def test_what_all_members_have_is_followed() -> None:
    assert replicas_to_follow(TEMPLATE, ARRIVED, FLEET) == 6
    less = bound(item("a", 1), item("b", 1))
    assert replicas_to_follow(changed(status={"replicas": 2}), less, FLEET) == 2
    waiting = bound(item("a", 4, unavailableReplicas=1, availableReplicas=3), item("b", 2))
    assert replicas_to_follow(TEMPLATE, waiting, FLEET) == 6


@pytest.mark.parametrize(
    ("template", "found", "clusters"),
    [
        (changed(metadata={"labels": {}}), ARRIVED, FLEET),
        (changed(status={"observedGeneration": 2}), ARRIVED, FLEET),
        (changed(status={"replicas": 0}), bound(item("a", 0), item("b", 0)), FLEET),
        (changed(status={"replicas": 4}), ARRIVED, FLEET),
        (changed(spec={"replicas": 5}), ARRIVED, FLEET),
        (TEMPLATE, bound(item("a", 4)), FLEET),
        (TEMPLATE, bound(item("a", 4), item("b", 1)), FLEET),
        (TEMPLATE, bound(item("a", 4), item("b", 2, generation=2)), FLEET),
        (TEMPLATE, bound(item("a", 4, updated=2), item("b", 2)), FLEET),
        (TEMPLATE, bound(item("a", 4), item("b", 2), observed=0), FLEET),
        (TEMPLATE, bound(item("a", 4), item("b", 2), placement=duplicated("a", "b")), FLEET),
        (TEMPLATE, bound(item("a", 4), item("b", 2), graceful_eviction_tasks=(LEAVING,)), FLEET),
        (TEMPLATE, bound(item("a", 4), item("b", 2), clusters=()), FLEET),
        (changed(status={"replicas": 1}), bound(item("a", 1), item("b", 0)), FLEET),
        (changed(status={"replicas": 3}), bound(item("a", 2), item("b", 1, unavailableReplicas=2)), FLEET),
        (TEMPLATE, ARRIVED, fleet(cluster("a"), dead("b"))),
        (TEMPLATE, ARRIVED, fleet(cluster("a"))),
    ],
    ids=[
        "without the label", "not added up yet", "nothing is reported", "as asked for", "the binding is older",
        "one has not reported", "the sum is older", "of an earlier template", "a rollout is under way",
        "not scheduled yet", "on each cluster",
        "it moves", "it is nowhere", "one is just being made", "Pods are just being made",
        "one is lost", "one is not listed",
    ],
)  # fmt: skip
def test_nothing_is_followed_that_may_be_old(template: Manifest, found: ResourceBinding, clusters: Any) -> None:
    assert replicas_to_follow(template, found, clusters) is None


def autoscaler(**metadata: Any) -> Manifest:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    labels = {POLICY_ID_LABEL: "an-id"}
    return {"metadata": {"name": "web", "labels": labels, **metadata}, "spec": {"scaleTargetRef": target}}


def test_a_scale_target_is_marked_and_only_our_mark_is_taken_off() -> None:
    bare = changed(metadata={"labels": {}})
    marked: Manifest = {"labels": {RETAIN_REPLICAS_LABEL: "true"}, "annotations": {RETAINED_ANNOTATION: "true"}}
    assert scale_target_patch(bare, [autoscaler()]) == {"metadata": marked}
    assert scale_target_patch(changed(metadata=marked), [autoscaler()]) == {}
    gone = {"labels": {RETAIN_REPLICAS_LABEL: None}, "annotations": {RETAINED_ANNOTATION: None}}
    assert scale_target_patch(changed(metadata=marked), []) == {"metadata": gone}
    assert scale_target_patch(TEMPLATE, []) == {}, "a user has set it"
    assert scale_target_patch(TEMPLATE, [autoscaler()]) == {}, "and it stays the user's"
    assert scale_target_patch(bare, [autoscaler(labels={})]) == {}, "it is not propagated"
    assert scale_target_patch(changed(metadata=marked), [autoscaler(labels={})]) == {}, "its policy was deleted"
    assert scale_target_patch(bare, [autoscaler(deletionTimestamp="2026-01-01T00:00:00Z")]) == {}
