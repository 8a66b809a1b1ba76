"""A StatefulSet: which ordinal comes or goes next, and its status.

Kubernetes: pkg/controller/statefulset (stateful_set_control). Same order of steps, except that there are no
ControllerRevisions (a Pod below the partition that is lost comes back with the new template). Claims are made by the
rules of `claim_templates`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.unstructured import int_at, list_at, mapping_at, pick, text_at
from kubecluster.rules.claim_templates import claim_volumes
from kubecluster.rules.deployment import replicas_of
from kubecluster.rules.pods import MOST_AT_ONCE, is_available, is_finished, is_leaving, is_ready
from kubecluster.rules.templates import REVISION_LABEL, render_pod, revision_of, template_hash, template_of

POD_NAME_LABEL = "statefulset.kubernetes.io/pod-name"
INDEX_LABEL = "apps.kubernetes.io/pod-index"


@dataclass(frozen=True, slots=True)
class Steps:
    """The ordinals to create, and the Pods to delete; both empty means that there is nothing to do or much to await."""

    create: tuple[int, ...] = ()
    delete: tuple[Manifest, ...] = ()


def update_revision(stateful_set: ReadOnlyManifest) -> str:
    return f"{stateful_set['metadata']['name']}-{template_hash(template_of(stateful_set))}"


def ordinal_of(pod: ReadOnlyManifest) -> int:
    """The number at the end of the name; -1 when there is none."""
    number = str(pod["metadata"]["name"]).rpartition("-")[2]
    return int(number) if number.isdecimal() else -1


def decide_steps(stateful_set: ReadOnlyManifest, pods: Sequence[Manifest], now: datetime) -> Steps:
    """Lost Pods first, then surplus ones, then those of another revision; one by one unless the policy is Parallel."""
    present = {ordinal_of(pod): pod for pod in pods}
    finished = tuple(pod for pod in pods if is_finished(pod) and not is_leaving(pod))
    if finished:
        return Steps(delete=finished)
    wanted = wanted_ordinals(stateful_set)
    one_by_one = text_at(stateful_set, "spec", "podManagementPolicy") != "Parallel"
    missing = tuple(islice((ordinal for ordinal in wanted if ordinal not in present), MOST_AT_ONCE))
    kept = [present[ordinal] for ordinal in sorted(present, reverse=True) if ordinal in wanted]
    unsettled = [ordinal_of(pod) for pod in kept if not _is_settled(stateful_set, pod, now)]
    if missing and not one_by_one:
        return Steps(create=missing)
    if missing and missing[0] < min(unsettled, default=wanted.stop):
        return Steps(create=missing[:1])
    if one_by_one and unsettled:
        return Steps()
    condemned = [present[ordinal] for ordinal in sorted(present, reverse=True) if ordinal not in wanted]
    if condemned:
        return Steps(delete=_not_leaving(condemned[:1] if one_by_one else condemned))
    return _decide_update(stateful_set, kept, now)


def _decide_update(stateful_set: ReadOnlyManifest, pods: Sequence[Manifest], now: datetime) -> Steps:
    """The highest ordinal of another revision, once all above it have settled; `pods` begins with the highest."""
    strategy = mapping_at(stateful_set, "spec", "updateStrategy")
    if strategy.get("type") == "OnDelete":
        return Steps()
    revision, partition = update_revision(stateful_set), int_at(strategy, "rollingUpdate", "partition")
    for pod in pods:
        if ordinal_of(pod) < partition:
            break
        if revision_of(pod) != revision:
            return Steps(delete=_not_leaving([pod]))
        if not _is_settled(stateful_set, pod, now):
            break
    return Steps()


def wanted_ordinals(stateful_set: ReadOnlyManifest) -> range:
    start = int_at(stateful_set, "spec", "ordinals", "start")
    return range(start, start + replicas_of(stateful_set))


def _is_settled(stateful_set: ReadOnlyManifest, pod: ReadOnlyManifest, now: datetime) -> bool:
    return not is_leaving(pod) and is_available(pod, int_at(stateful_set, "spec", "minReadySeconds"), now)


def _not_leaving(pods: Sequence[Manifest]) -> tuple[Manifest, ...]:
    return tuple(pod for pod in pods if not is_leaving(pod))


def render_member(stateful_set: ReadOnlyManifest, ordinal: int) -> Manifest:
    """The Pod of one ordinal, with the network identity that goes with it."""
    name = f"{stateful_set['metadata']['name']}-{ordinal}"
    identity = {POD_NAME_LABEL: name, INDEX_LABEL: str(ordinal), REVISION_LABEL: update_revision(stateful_set)}
    pod = render_pod(stateful_set, identity, name)
    pod["spec"]["hostname"] = name
    if service := text_at(stateful_set, "spec", "serviceName"):
        pod["spec"]["subdomain"] = service
    if volumes := claim_volumes(stateful_set, ordinal):
        names = {volume["name"] for volume in volumes}
        others = [volume for volume in list_at(pod, "spec", "volumes") if volume["name"] not in names]
        pod["spec"]["volumes"] = [*others, *volumes]
    return pod


def stateful_set_status(stateful_set: ReadOnlyManifest, pods: Sequence[Manifest], now: datetime) -> Manifest:
    staying = [pod for pod in pods if not is_leaving(pod)]
    revision = update_revision(stateful_set)
    current = _current_revision(stateful_set, staying, revision)
    seconds = int_at(stateful_set, "spec", "minReadySeconds")
    counts = {
        "readyReplicas": sum(is_ready(pod) for pod in staying),
        "currentReplicas": sum(revision_of(pod) == current for pod in staying),
        "updatedReplicas": sum(revision_of(pod) == revision for pod in staying),
    }
    return {
        "observedGeneration": stateful_set["metadata"]["generation"],
        "replicas": len(staying),
        **pick(counts, counts),
        "availableReplicas": sum(is_available(pod, seconds, now) for pod in staying),
        "currentRevision": current,
        "updateRevision": revision,
        "collisionCount": 0,
    }


def _current_revision(stateful_set: ReadOnlyManifest, pods: Sequence[Mapping[str, object]], revision: str) -> str:
    """The revision that a rollout comes from: the known one as long as a Pod of another than the new one is there."""
    known = text_at(stateful_set, "status", "currentRevision")
    is_rolled_out = all(revision_of(pod) == revision for pod in pods)
    return revision if is_rolled_out or not known else known
