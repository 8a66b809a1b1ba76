"""A Deployment: its ReplicaSets by revision, how big each should be, and the ReplicaSet of a new revision."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kubeapi.codec import copy_manifest
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.unstructured import int_at, mapping_at, text_at, value_at
from kubecluster.rules import rolling
from kubecluster.rules.owners import owner_reference
from kubecluster.rules.rolling import Size, Sizes
from kubecluster.rules.templates import template_hash, template_of

REVISION_ANNOTATION = "deployment.kubernetes.io/revision"
HASH_LABEL = "pod-template-hash"
_DEFAULT_BOUND = "25%"
_NOT_COPIED = (REVISION_ANNOTATION, "kubectl.kubernetes.io/last-applied-configuration")
_REVISION_HISTORY = 10


@dataclass(frozen=True, slots=True)
class Revisions:
    """The ReplicaSets of a Deployment: that of the present template, if there is one, and the others, oldest first."""

    new: Manifest | None
    old: tuple[Manifest, ...]

    @property
    def all(self) -> tuple[Manifest, ...]:
        return (*self.old, self.new) if self.new else self.old


def replicas_of(owner: ReadOnlyManifest) -> int:
    """`spec.replicas`, which is 1 where it is missing."""
    replicas = value_at(owner, "spec", "replicas")
    return replicas if isinstance(replicas, int) else 1


def is_paused(deployment: ReadOnlyManifest) -> bool:
    return value_at(deployment, "spec", "paused") is True


def find_revisions(deployment: ReadOnlyManifest, sets: Sequence[Manifest]) -> Revisions:
    wanted = template_hash(template_of(deployment))
    new = next((s for s in sets if text_at(s, "metadata", "labels", HASH_LABEL) == wanted), None)
    old = sorted((s for s in sets if s is not new), key=lambda s: (revision_number(s), s["metadata"]["name"]))
    return Revisions(new, tuple(old))


def revision_number(replica_set: ReadOnlyManifest) -> int:
    text = text_at(replica_set, "metadata", "annotations", REVISION_ANNOTATION)
    return int(text) if text.isdecimal() else 0


def new_revision_number(revisions: Revisions) -> int:
    """The new ReplicaSet has the highest number: it gets another when an old template comes back."""
    highest_old = max((revision_number(s) for s in revisions.old), default=0)
    present = revision_number(revisions.new) if revisions.new else 0
    return present if present > highest_old else highest_old + 1


def rollout_bounds(deployment: ReadOnlyManifest) -> tuple[int, int]:
    """Surge and unavailable as numbers. Raises: ValueError."""
    bounds = mapping_at(deployment, "spec", "strategy", "rollingUpdate")
    surge, unavailable = bounds.get("maxSurge", _DEFAULT_BOUND), bounds.get("maxUnavailable", _DEFAULT_BOUND)
    return rolling.resolve_bounds(replicas_of(deployment), surge, unavailable)


def decide_sizes(deployment: ReadOnlyManifest, revisions: Revisions, old_pods_left: bool) -> Sizes:
    """The next step towards the Deployment; `old_pods_left`: Pods of other revisions still exist."""
    replicas, old = replicas_of(deployment), [_size(s) for s in revisions.old]
    new = _size(revisions.new) if revisions.new else None
    if is_paused(deployment):
        return rolling.decide_paused(replicas, new, old)
    if text_at(deployment, "spec", "strategy", "type") == "Recreate":
        return rolling.decide_recreate(replicas, old, old_pods_left)
    return rolling.decide_rolling(replicas, *rollout_bounds(deployment), new or Size(), old)


def _size(replica_set: ReadOnlyManifest) -> Size:
    """Size of a ReplicaSet; reported replicas beyond the wanted ones do not count."""
    wanted = replicas_of(replica_set)
    return Size(wanted, min(wanted, int_at(replica_set, "status", "availableReplicas")))


def render_replica_set(deployment: ReadOnlyManifest, replicas: int, revision: int) -> Manifest:
    template = copy_manifest(template_of(deployment))
    label = {HASH_LABEL: template_hash(template)}
    labels = {**mapping_at(template, "metadata", "labels"), **label}
    selector = mapping_at(deployment, "spec", "selector")
    spec: dict[str, Any] = {
        "replicas": replicas,
        "selector": {**selector, "matchLabels": {**mapping_at(selector, "matchLabels"), **label}},
        "template": {**template, "metadata": {**mapping_at(template, "metadata"), "labels": labels}},
    }
    if min_ready_seconds := int_at(deployment, "spec", "minReadySeconds"):
        spec["minReadySeconds"] = min_ready_seconds
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{deployment['metadata']['name']}-{label[HASH_LABEL]}",
            "namespace": deployment["metadata"]["namespace"],
            "labels": labels,
            "annotations": {**_copied_annotations(deployment), REVISION_ANNOTATION: str(revision)},
            "ownerReferences": [owner_reference(deployment)],
        },
        "spec": spec,
    }


def _copied_annotations(deployment: ReadOnlyManifest) -> dict[str, str]:
    """A ReplicaSet has its Deployment's annotations, so that `kubectl rollout undo` gives them back."""
    annotations = mapping_at(deployment, "metadata", "annotations")
    return {key: value for key, value in annotations.items() if key not in _NOT_COPIED}


def replica_set_patch(
    deployment: ReadOnlyManifest, replica_set: ReadOnlyManifest, replicas: int, revision: int
) -> Mapping[str, Any]:
    """The merge patch that gives a ReplicaSet its size, revision and minReadySeconds; empty when it has them."""
    spec: dict[str, Any] = {}
    if replicas_of(replica_set) != replicas:
        spec["replicas"] = replicas
    min_ready_seconds = int_at(deployment, "spec", "minReadySeconds")
    if int_at(replica_set, "spec", "minReadySeconds") != min_ready_seconds:
        spec["minReadySeconds"] = min_ready_seconds
    patch: dict[str, Any] = {"spec": spec} if spec else {}
    if revision_number(replica_set) != revision:
        patch["metadata"] = {"annotations": {REVISION_ANNOTATION: str(revision)}}
    return patch


def expired_revisions(deployment: ReadOnlyManifest, revisions: Revisions) -> Sequence[Manifest]:
    """Old ReplicaSets without Pods beyond the history limit, oldest first."""
    limit = value_at(deployment, "spec", "revisionHistoryLimit")
    surplus = len(revisions.old) - (limit if isinstance(limit, int) else _REVISION_HISTORY)
    empty = [s for s in revisions.old if not replicas_of(s) and not int_at(s, "status", "replicas")]
    return empty[: max(0, surplus)]
