"""Workloads whose replicas autoscalers in the members decide: the labels and replicas of their templates.

    scale_target_patch   the label by which members keep their own replicas, while a propagated HorizontalPodAutoscaler
                         of the control plane names the template as its target
    with_floor           the autoscaler that is to keep a number of replicas, while copies elsewhere leave
    floor_of             the number of replicas that it was to keep
    describe_fight       the explanation where nobody has set that label, and two would decide the number of replicas
    replicas_to_follow   the number at which the members have arrived, so that the template and its division agree

Karmada: hpaScaleTargetMarker and deploymentReplicasSyncer (pkg/controllers); same conditions. An unknown number
is not followed: a cluster is not Ready, the application moves, is rolled out, or is new. A label that was set here is
taken off, but not while there is such an autoscaler: one without a policy still scales in members (Holds: S12).
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import NamedTuple

from kubeapi.diff import merge_patch
from kubeapi.meta import Manifest, ReadOnlyManifest, annotations_of, format_time, labels_of, parse_time
from kubeapi.unstructured import int_at, mapping_at, text_at, with_annotations
from leeward.api.cluster import Cluster
from leeward.api.names import RETAIN_REPLICAS_LABEL, RETAINED_ANNOTATION
from leeward.api.work import Binding
from leeward.core.propagation.claiming import claimed_by

FLOOR_UNTIL_ANNOTATION = "leeward.dev/min-replicas-until"
"""Annotation on an autoscaler in a member: `EvictionEnded`, or the instant until which its least is raised (ours)."""


def scale_target_patch(template: ReadOnlyManifest, autoscalers: Iterable[ReadOnlyManifest]) -> Manifest:
    """Patch that marks the template, or takes our mark off; empty when it is right. `autoscalers` are its
    namespace's."""
    labels, annotations = labels_of(template), annotations_of(template)
    is_marked, is_ours = labels.get(RETAIN_REPLICAS_LABEL) == "true", annotations.get(RETAINED_ANNOTATION) == "true"
    scaling = [autoscaler for autoscaler in autoscalers if _scales(autoscaler, template)]
    wanted = bool(scaling) if is_ours else any(map(claimed_by, scaling))
    if wanted and not is_marked:
        labels, annotations = {**labels, RETAIN_REPLICAS_LABEL: "true"}, {**annotations, RETAINED_ANNOTATION: "true"}
    elif not wanted and is_ours:
        labels = {key: value for key, value in labels.items() if key != RETAIN_REPLICAS_LABEL}
        annotations = {key: value for key, value in annotations.items() if key != RETAINED_ANNOTATION}
    present = {"labels": labels_of(template), "annotations": annotations_of(template)}
    patch = merge_patch(present, {"labels": labels, "annotations": annotations})
    return {"metadata": patch} if patch else {}


def scale_target(autoscaler: ReadOnlyManifest) -> tuple[tuple[str, str], str]:
    """Target that it scales: apiVersion and kind, and the name."""
    target = mapping_at(autoscaler, "spec", "scaleTargetRef")
    return (text_at(target, "apiVersion"), text_at(target, "kind")), text_at(target, "name")


class Floor(NamedTuple):
    """Least replicas of an autoscaler, until an instant; None while copies elsewhere leave."""

    size: int
    until: datetime | None = None


def with_floor(autoscaler: ReadOnlyManifest, floor: Floor) -> ReadOnlyManifest:
    """The autoscaler with the floor, as far as it may scale; as it is where its least is more already."""
    spec = mapping_at(autoscaler, "spec")
    size = min(floor.size, int_at(spec, "maxReplicas"))
    if size <= (int_at(spec, "minReplicas") or 1):
        return autoscaler
    until = format_time(floor.until) if floor.until else "EvictionEnded"
    return with_annotations({**autoscaler, "spec": {**spec, "minReplicas": size}}, {FLOOR_UNTIL_ANNOTATION: until})


def floor_of(autoscaler: ReadOnlyManifest) -> Floor | None:
    """The floor that `with_floor` gave it."""
    text = annotations_of(autoscaler).get(FLOOR_UNTIL_ANNOTATION)
    try:
        return Floor(int_at(autoscaler, "spec", "minReplicas"), parse_time(text)) if text else None
    except ValueError:
        return Floor(int_at(autoscaler, "spec", "minReplicas"))


def describe_fight(target: ReadOnlyManifest, binding: Binding) -> str:
    """Explanation why autoscalers in the members and the control plane undo each other's replicas of `target`, and the
    way out. Empty where they do not: `target` keeps the members' replicas, or its copies are undivided."""
    if labels_of(target).get(RETAIN_REPLICAS_LABEL) == "true" or not binding.spec.is_workload:
        return ""
    kind, name = text_at(target, "kind"), target["metadata"]["name"]
    return (
        f"what it makes of the replicas of {kind} {name} in members is set back by the control plane: label the {kind} "
        f"{RETAIN_REPLICAS_LABEL}=true, or run the controllers hpaScaleTargetMarker and deploymentReplicasSyncer"
    )


def _scales(autoscaler: ReadOnlyManifest, template: ReadOnlyManifest) -> bool:
    """Tells whether it names the template."""
    if "deletionTimestamp" in autoscaler["metadata"]:
        return False
    named = scale_target(autoscaler)
    return named == ((template.get("apiVersion"), template.get("kind")), template["metadata"]["name"])


def replicas_to_follow(template: ReadOnlyManifest, binding: Binding, clusters: Mapping[str, Cluster]) -> int | None:
    """The replicas that a divided Deployment's template is to ask for; None where it stays as it is.

    All members have reported the present template and rolled it out, and together they have the replicas of its status.
    """
    spec, generation = binding.spec, int_at(template, "metadata", "generation")
    if labels_of(template).get(RETAIN_REPLICAS_LABEL) != "true" or not spec.is_divided or not spec.clusters:
        return None
    asked, found = int_at(template, "spec", "replicas"), int_at(template, "status", "replicas")
    if found in (0, asked) or asked != spec.replicas or spec.graceful_eviction_tasks:
        return None
    if int_at(template, "status", "observedGeneration") != generation:
        return None
    if binding.status.scheduler_observed_generation != binding.metadata.generation:
        return None
    reported = {
        item.cluster_name: mapping_at({"status": item.status}, "status") for item in binding.status.aggregated_status
    }
    if set(reported) != {target.name for target in spec.clusters}:
        return None
    if not all(name in clusters and clusters[name].is_ready for name in reported):
        return None
    if any(int_at(status, "resourceTemplateGeneration") != generation for status in reported.values()):
        return None
    if not all(map(_has_arrived, reported.values())):
        return None
    return found if sum(int_at(status, "replicas") for status in reported.values()) == found else None


def _has_arrived(status: ReadOnlyManifest) -> bool:
    """Tells whether the Deployment of a member has as many Pods as it asks for there, all of the present template. An
    autoscaler asks for one at least."""
    replicas, updated = int_at(status, "replicas"), int_at(status, "updatedReplicas")
    asked = int_at(status, "availableReplicas") + int_at(status, "unavailableReplicas")
    return 0 < replicas == updated and asked in (0, replicas)
