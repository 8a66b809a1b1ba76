"""The conditions Available and Progressing of a Deployment template: what holds for all of its copies together.

Clients wait for them as they do in one cluster, and go by the reasons of Kubernetes' own Deployment controller. The
numbers beside them are Karmada's, which gives a template no conditions (decision 172).

    Available     True when each cluster has its copy's minimum; what is being evicted fills in for what replaces it.
                  Unknown when that rests on a cluster that is not seen; as it was while a copy has not reported yet.
    Progressing   NewReplicaSetAvailable when every copy is complete and of the template's present generation, until
                  the next generation; ProgressDeadlineExceeded when a member's own controller says so.

That a cluster is not seen is written on its own; so is that it is seen again. What Karmada has left behind, and nothing
happens to, gets its first conditions on their own, once (decision 91).
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import ceil, floor

from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, ReadOnlyManifest, format_time
from kubeapi.unstructured import int_at, list_at, mapping_at, mappings_at, text_at, value_at
from leeward.api.cluster import Cluster
from leeward.api.names import CLUSTER_OUTAGE_CONDITION, RETAIN_REPLICAS_LABEL
from leeward.api.work import AggregatedStatusItem, ResourceBindingSpec, Work
from leeward.core.cluster_health.pending_condition import is_failing
from leeward.core.copies.evidence import believed_from, is_fresh
from leeward.core.execution.unseen import NOT_SEEN
from leeward.core.execution.works import replicas_by_cluster
from leeward.core.interpreter.workloads import PROGRESS_DEADLINE_EXCEEDED

AVAILABLE, PROGRESSING = "Available", "Progressing"
CONDITION_TYPES = (AVAILABLE, PROGRESSING)
"""Condition types of a template that are ours; the others that it has are somebody else's."""
COMPLETE = "NewReplicaSetAvailable"
_DEFAULT_BOUND = "25%"
_NOTHING: ReadOnlyManifest = {}


@dataclass(frozen=True, slots=True)
class DeploymentCopy:
    """A copy in one cluster: `stays` are the replicas assigned there, of which `may_lack` may be unavailable; `leaves`
    those of an eviction task. `report` is None before the member has reported."""

    cluster: str
    stays: int
    leaves: int
    may_lack: int
    is_seen: bool
    report: ReadOnlyManifest | None

    @property
    def least(self) -> int:
        """Replicas that are known to be available."""
        return min(self._available, self.stays + self.leaves) if self.is_seen else 0

    @property
    def most(self) -> int:
        """Replicas that may be available."""
        return self.least if self.is_seen and self.report is not None else self.stays + self.leaves

    @property
    def is_complete(self) -> bool:
        wanted = self.stays + self.leaves
        counts = ("replicas", "updatedReplicas", "availableReplicas")
        return self.is_seen and self.report is not None and all(int_at(self.report, name) == wanted for name in counts)

    @property
    def _available(self) -> int:
        return int_at(self.report or {}, "availableReplicas")

    def lacks(self, available: int) -> int:
        """Number of replicas that are missing of the minimum of those that stay."""
        return max(0, self.stays - self.may_lack - available)

    def gives(self, available: int) -> int:
        """Number of replicas that leave and are still there."""
        return min(self.leaves, max(0, available - self.stays))


@dataclass(frozen=True, slots=True)
class _Verdict:
    """A condition but for its instants."""

    status: str
    reason: str
    message: str


_IS_AVAILABLE = _Verdict("True", "MinimumReplicasAvailable", "every cluster has the replicas that it needs at least")
_IS_COMPLETE = _Verdict("True", COMPLETE, "every cluster has rolled out the present template")
_IS_MOVING = _Verdict("True", "ReplicaSetUpdated", "the present template is being rolled out")
_IS_PAUSED = _Verdict("Unknown", "DeploymentPaused", "the template is paused")
_TOO_FEW, _UNPLACED = "too few replicas are available in ", " replicas have no cluster"
_NOT_SEEN, _NOT_REPORTED = "nothing is known of the replicas in ", "no report has come yet from "
_IS_LATE = "the rollout makes no progress any more in "
_SHORT, _NOT_TOLD, _HIDDEN = "MinimumReplicasUnavailable", "NotReported", NOT_SEEN
_FIXED_WORDS = frozenset(
    (kind, verdict.reason, verdict.message)
    for kind, verdict in (
        (AVAILABLE, _IS_AVAILABLE),
        (PROGRESSING, _IS_COMPLETE),
        (PROGRESSING, _IS_MOVING),
        (PROGRESSING, _IS_PAUSED),
    )
)
_WORDS_WITH_NAMES = {
    (AVAILABLE, _SHORT): re.compile(f"({_TOO_FEW}.+|[0-9]+{_UNPLACED})"),
    (AVAILABLE, _HIDDEN): re.compile(f"{_NOT_SEEN}.+"),
    (AVAILABLE, _NOT_TOLD): re.compile(f"{_NOT_REPORTED}.*"),
    (PROGRESSING, PROGRESS_DEADLINE_EXCEEDED): re.compile(f"{_IS_LATE}.+"),
}


def is_deployment(template: ReadOnlyManifest) -> bool:
    return (template.get("apiVersion"), template.get("kind")) == ("apps/v1", "Deployment")


def lacks_conditions(template: ReadOnlyManifest) -> bool:
    """Tells whether a Deployment template has neither condition, and is to stay."""
    known = {text_at(c, "type") for c in mappings_at(mapping_at(template, "status"), "conditions")}
    return value_at(template, "metadata", "deletionTimestamp") is None and known.isdisjoint(CONDITION_TYPES)


def is_worded_here(condition: ReadOnlyManifest) -> bool:
    """Tells whether a condition of a template has type, reason and message that are given here, or a type of ours.

    Kubernetes gives the same reasons with other messages. The field manager does not tell: what a user's script says is
    written by the same one.
    """
    kind, reason, message = (text_at(condition, name) for name in ("type", "reason", "message"))
    if kind == CLUSTER_OUTAGE_CONDITION:
        return True
    words = _WORDS_WITH_NAMES.get((kind, reason))
    return (kind, reason, message) in _FIXED_WORDS or (words is not None and words.fullmatch(message) is not None)


def is_told_by_all(
    spec: ResourceBindingSpec,
    works: Mapping[str, Work],
    clusters: Mapping[str, Cluster],
    copies: Sequence[DeploymentCopy],
    now: datetime,
) -> bool:
    """Tells whether all that is known of the copies is of now, so that first conditions can be told on their own.

    There is a copy, none is being evicted, and each cluster is Ready, does not fail, and has reported since; `works`
    and `clusters` by cluster. What is unknown is not written over nothing.
    """
    if not copies or spec.graceful_eviction_tasks:
        return False
    return all(_is_told(works.get(c.cluster), clusters.get(c.cluster), c, now) for c in copies)


def _is_told(work: Work | None, cluster: Cluster | None, copy: DeploymentCopy, now: datetime) -> bool:
    if work is None or cluster is None or not copy.is_seen or copy.report is None:
        return False
    if is_failing(cluster) or not is_fresh(work, cluster):
        return False
    believed_at = believed_from(work, cluster)
    return believed_at is None or now >= believed_at


def copies_of(
    spec: ResourceBindingSpec, works: Mapping[str, Work], items: Iterable[AggregatedStatusItem], not_seen: Iterable[str]
) -> tuple[DeploymentCopy, ...]:
    """The copies that there are to be, or that are still there; `works` by cluster. One that has no Work yet is known
    not to be there."""
    reports = {item.cluster_name: mapping_at({"status": item.status}, "status") for item in items if item.status}
    assigned = {target.name for target in spec.clusters} | {t.name for by in spec.required_by for t in by.clusters}
    leaving = {task.from_cluster: task.replicas for task in spec.graceful_eviction_tasks}
    hidden = frozenset(not_seen)
    copies: list[DeploymentCopy] = []
    for cluster, count in replicas_by_cluster(spec).items():
        has_work = cluster in works
        report = reports.get(cluster) if has_work else _NOTHING
        manifest = next(iter(works[cluster].spec.workload.manifests), _NOTHING) if has_work else _NOTHING
        total = _replicas_in(manifest, count, report)
        leaves = 0 if cluster not in leaving else min(total, leaving[cluster] or 0) if cluster in assigned else total
        lack = _may_lack(manifest, total - leaves)
        is_seen = cluster not in hidden or not has_work
        copies.append(DeploymentCopy(cluster, total - leaves, leaves, lack, is_seen, report))
    return tuple(copies)


def _replicas_in(manifest: ReadOnlyManifest, count: int, report: ReadOnlyManifest | None) -> int:
    """The Work's own number, which overrides may have changed; or what an autoscaler in the member has made of it.

    Kubernetes: `replicas` are the Pods that there are, and none where none can be made; what is available and what is
    not add up to those that the ReplicaSets ask for. Before the Deployment controller has looked, neither is known."""
    is_retained = text_at(manifest, "metadata", "labels", RETAIN_REPLICAS_LABEL) == "true"
    if is_retained and report is not None and int_at(report, "observedGeneration"):
        asked = int_at(report, "availableReplicas") + int_at(report, "unavailableReplicas")
        return max(asked, int_at(report, "replicas"))
    return int_at(manifest, "spec", "replicas") if value_at(manifest, "spec", "replicas") is not None else count


def _may_lack(manifest: ReadOnlyManifest, replicas: int) -> int:
    """Kubernetes: `MaxUnavailable` of a Deployment; at most all, none when it is recreated."""
    strategy = mapping_at(manifest, "spec", "strategy")
    if strategy.get("type") == "Recreate":
        return 0
    bounds = mapping_at(strategy, "rollingUpdate")
    unavailable = _share(bounds.get("maxUnavailable", _DEFAULT_BOUND), replicas, floor)
    surge = _share(bounds.get("maxSurge", _DEFAULT_BOUND), replicas, ceil)
    return min(replicas, unavailable or (0 if surge else 1))


def _share(bound: object, replicas: int, rounded: Callable[[float], int]) -> int:
    """A number, or a part of the replicas; what is neither is no bound, and has none missing."""
    if isinstance(bound, int):
        return max(0, bound)
    share = str(bound).removesuffix("%")
    return rounded(int(share) * replicas / 100) if share.isdecimal() and share.isascii() and len(share) <= 3 else 0


def with_conditions(
    template: ReadOnlyManifest,
    before: ReadOnlyManifest,
    status: Manifest,
    spec: ResourceBindingSpec,
    copies: Sequence[DeploymentCopy],
    now: datetime,
    *,
    tells_first: bool = False,
) -> Manifest:
    """`status`, to which the template's status `before` has come, with the conditions; `before` where it has none, and
    nothing else is new. `tells_first`: the first conditions are told on their own."""
    known = {text_at(c, "type"): c for c in mappings_at(before, "conditions")}
    verdicts = {
        AVAILABLE: _available(spec, copies, known.get(AVAILABLE)),
        PROGRESSING: _progressing(template, before, status, spec, copies, known.get(PROGRESSING)),
    }
    told = [_dated(kind, verdict, known.get(kind), now) for kind, verdict in verdicts.items()]
    others = [c for c in list_at(status, "conditions") if text_at(c, "type") not in CONDITION_TYPES]
    after = {**status, "conditions": [*others, *told]}
    is_first = tells_first and known.keys().isdisjoint(CONDITION_TYPES)
    is_told = not known.keys().isdisjoint(CONDITION_TYPES)
    return (
        dict(before)
        if not is_first and not is_told and is_equal(_without_ours(before), _without_ours(after))
        else after
    )


def _without_ours(status: ReadOnlyManifest) -> Manifest:
    others = [c for c in list_at(status, "conditions") if text_at(c, "type") not in CONDITION_TYPES]
    return {**status, "conditions": others}


def _dated(kind: str, verdict: _Verdict, known: ReadOnlyManifest | None, now: datetime) -> Manifest:
    """The instant of the transition moves with the status, that of the update with anything."""
    said = {"type": kind, "status": verdict.status, "reason": verdict.reason, "message": verdict.message}
    stamp = format_time(now)
    since = text_at(known, "lastTransitionTime") if text_at(known, "status") == verdict.status else ""
    is_same = known is not None and all(known.get(name) == value for name, value in said.items())
    updated = text_at(known, "lastUpdateTime") if is_same else ""
    return {**said, "lastUpdateTime": updated or stamp, "lastTransitionTime": since or stamp}


def _available(spec: ResourceBindingSpec, copies: Sequence[DeploymentCopy], known: ReadOnlyManifest | None) -> _Verdict:
    unplaced = _unplaced(spec, copies)
    short = [copy.cluster for copy in copies if copy.lacks(copy.least)]
    if _shortage(copies, unplaced, [copy.least for copy in copies]) <= 0:
        return _IS_AVAILABLE
    if _shortage(copies, unplaced, [copy.most for copy in copies]) > 0:
        parts = [f"{_TOO_FEW}{', '.join(short)}"] if short else []
        parts += [f"{unplaced}{_UNPLACED}"] if unplaced else []
        return _Verdict("False", _SHORT, "; ".join(parts))
    if hidden := [copy.cluster for copy in copies if not copy.is_seen]:
        return _Verdict("Unknown", _HIDDEN, f"{_NOT_SEEN}{', '.join(hidden)}")
    if known is not None:
        return _Verdict(text_at(known, "status"), text_at(known, "reason"), text_at(known, "message"))
    return _Verdict("Unknown", _NOT_TOLD, f"{_NOT_REPORTED}{', '.join(short)}")


def _shortage(copies: Sequence[DeploymentCopy], unplaced: int, available: Sequence[int]) -> int:
    """Number of replicas that are missing when so many are available, by copy."""
    pairs = list(zip(copies, available, strict=True))
    return unplaced + sum(copy.lacks(n) for copy, n in pairs) - sum(copy.gives(n) for copy, n in pairs)


def _unplaced(spec: ResourceBindingSpec, copies: Sequence[DeploymentCopy]) -> int:
    """Number of the replicas asked for that no cluster has."""
    if not spec.is_divided:
        return 0 if copies else spec.replicas
    return max(0, spec.replicas - sum(target.replicas for target in spec.clusters))


def _progressing(
    template: ReadOnlyManifest,
    before: ReadOnlyManifest,
    status: ReadOnlyManifest,
    spec: ResourceBindingSpec,
    copies: Sequence[DeploymentCopy],
    known: ReadOnlyManifest | None,
) -> _Verdict:
    if value_at(template, "spec", "paused") is True:
        return _IS_PAUSED
    generation = int_at(template, "metadata", "generation")
    is_observed = int_at(status, "observedGeneration") == generation
    if is_observed and not _unplaced(spec, copies) and all(copy.is_complete for copy in copies):
        return _IS_COMPLETE
    was_complete = text_at(known, "reason") == COMPLETE and int_at(before, "observedGeneration") == generation
    if is_observed and was_complete:
        return _IS_COMPLETE
    if late := [copy.cluster for copy in copies if copy.is_seen and _is_late(copy.report)]:
        message = f"{_IS_LATE}{', '.join(late)}"
        return _Verdict("False", PROGRESS_DEADLINE_EXCEEDED, message)
    return _IS_MOVING


def _is_late(report: ReadOnlyManifest | None) -> bool:
    return any(text_at(c, "reason") == PROGRESS_DEADLINE_EXCEEDED for c in list_at(report, "conditions"))
