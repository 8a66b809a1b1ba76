"""Evidence about a copy: two predicates for two questions, neither of which is the other's opposite.

*Seen healthy* (`is_seen_healthy`) is the only health that may be relied upon, as that of a replacement:

    the cluster is Ready now
    the Work that renders the binding's present generation is applied there, and
    its status was read from objects that carry it, after the cluster last became Ready
    it says Healthy, and of workloads that enough replicas are ready

*Known to serve* (`known_to_serve`) is what may be let go: how many replicas are ready there, by evidence that is as
fresh, and since when that number stands. Everything else is unknown: nobody relies on it, and nothing is taken away
on it. The chain of generations that ties these together is told in
`docs/decisions/0003-health-is-tied-to-generations.md`, the second predicate in
`docs/decisions/0019-two-predicates-for-health.md`.

An agent of Karmada says of no report which generation it is about. It is believed as far as what it reports can be told
to be about the Work's present contents (`is_told_by_karmada`, decision 90).

Karmada asks only that the scheduler has observed the generation, so that a stale `Healthy` ends its tasks early
(fault 11 of docs/karmada-behaviour.md); that is not copied.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

import msgspec

from kubeapi.meta import ReadOnlyManifest, annotations_of
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition, find_condition
from leeward.api.names import REFLECTED_CONDITION, TEMPLATE_GENERATION_ANNOTATION
from leeward.api.work import Binding, ManifestStatus, Work
from leeward.core.cluster_health.ready_condition import unobserved
from leeward.core.cluster_health.watched_time import CLOCKS_APART
from leeward.core.interpreter.fields import value_at
from leeward.core.interpreter.plausible import plausible_count
from leeward.core.interpreter.resource_health import ResourceHealth, health_rules_in

FULLY_APPLIED = "FullyApplied"
AGENT_SETTLES = timedelta(seconds=60)
"""Time after which Karmada's own agent has reported what is in a cluster that has returned, or was joined anew."""


def is_current(binding: Binding) -> bool:
    """Tells whether the Works render the binding's present spec: the binding controller says so."""
    applied = find_condition(binding.status.conditions, FULLY_APPLIED)
    return applied is not None and applied.observed_generation == binding.metadata.generation


def is_seen_healthy(work: Work | None, cluster: Cluster | None, replicas: int) -> bool:
    """Tells whether the copy that `work` describes, of `replicas` replicas, may be relied upon now. Holds: S1."""
    if work is None or cluster is None or not is_fresh(work, cluster):
        return False
    statuses = work.status.manifest_statuses
    return bool(statuses) and all(health_rules_in(s).is_well and _has_ready(s, replicas) for s in statuses)


def is_well_by_itself(work: Work | None, cluster: Cluster | None) -> bool:
    """Tells whether the copy is healthy with as many replicas as its own cluster wants, by fresh evidence: fewer than
    it was given, perhaps, where an autoscaler there decides. Nothing is known of kinds that do not say how many."""
    statuses = work.status.manifest_statuses if work is not None else ()
    wanted = min(map(_wanted_there, statuses), default=0)
    return wanted > 0 and all(is_seen_healthy(work, cluster, count) for count in map(_wanted_there, statuses))


@dataclass(frozen=True, slots=True)
class Serving:
    """A number of ready replicas that the member is known to run, and the instant since which it has not changed."""

    ready: int
    since: datetime


def known_to_serve(work: Work | None, cluster: Cluster | None) -> Serving | None:
    """Replicas that a copy serves now, by fresh evidence; None where that is not known. Holds: S1.

    A manifest whose kind does not count replicas serves 1, unless it is reported Unhealthy. Of one that counts them, a
    status without any count says nothing: it was too large, or its interpreter has failed.
    """
    if work is None or cluster is None or not is_fresh(work, cluster):
        return None
    ready, reflected = cluster.ready, _reflected(work)
    instants = [c.last_transition_time for c in (ready, reflected) if c is not None and c.last_transition_time]
    if not instants or not work.status.manifest_statuses:
        return None
    counts = [count for count in served_counts(work.status.manifest_statuses) if count is not None]
    is_whole = len(counts) == len(work.status.manifest_statuses)
    return Serving(min(counts), max(instants)) if is_whole else None


def reported_ready(work: Work | None) -> int:
    """The ready replicas that were reported last, however long ago: a bound for what must not be taken away."""
    statuses = work.status.manifest_statuses if work is not None else ()
    return max((count for count in served_counts(statuses) if count is not None), default=0)


def may_serve(work: Work | None, cluster: Cluster | None, replicas: int, now: datetime) -> int:
    """The most that a copy of `replicas` may serve now: what is not known of it counts as the whole. Holds: S1.

    A copy that was never applied, and of which nothing was ever reported, serves nothing; so does one in a cluster that
    is not Ready: it is not removed before the cluster can be seen
    (docs/decisions/0035-a-removal-that-waits.md). What Karmada's agent reports may be of before its cluster's return.
    """
    if work is None or cluster is None or not cluster.is_ready:
        return 0
    whole, serving = max(1, replicas), known_to_serve(work, cluster)
    believed_at = believed_from(work, cluster)
    if believed_at is not None and now < believed_at:
        return whole
    if serving is not None:
        return min(whole, serving.ready)
    was_nothing = not any(count is None or count for count in served_counts(work.status.manifest_statuses))
    return 0 if not _is_applied(work) and was_nothing else whole


def was_there_before(work: Work | None, began: datetime | None) -> bool:
    """Tells whether the copy is older than the eviction that began then, and so none of those that replace what
    left."""
    made = work.metadata.creation_timestamp if work is not None else None
    return made is not None and began is not None and made + CLOCKS_APART < began


def served_counts(statuses: Sequence[ManifestStatus]) -> tuple[int | None, ...]:
    """Count of what each manifest serves, None where that is not known; a change of it is a change of what a copy is
    worth."""
    return tuple(map(_served, statuses))


def is_uncounted(work: Work) -> bool:
    """Tells whether a manifest that counts its replicas is reported without any count, and not as Unhealthy: what it
    serves cannot be said."""
    statuses = zip(work.status.manifest_statuses, served_counts(work.status.manifest_statuses), strict=True)
    return any(count is None and not health_rules_in(status).has_failed for status, count in statuses)


def seen_ready(work: Work | None, cluster: Cluster | None) -> int:
    """The replicas of a copy that are known to be ready now; what is not known counts as none."""
    if work is None or cluster is None or not is_fresh(work, cluster):
        return 0
    return min((_ready_replicas(status) for status in work.status.manifest_statuses), default=0)


def relied_upon(work: Work | None, cluster: Cluster | None, replicas: int) -> int:
    """Replicas of a copy of `replicas` that may be relied upon now. Holds: S1.

    All of one that is seen healthy, also of a kind that does not count them; else those that are seen ready.
    """
    return replicas if is_seen_healthy(work, cluster, replicas) else min(replicas, seen_ready(work, cluster))


def not_to_be_taken(work: Work | None, cluster: Cluster | None, replicas: int) -> int:
    """Replicas of a copy of `replicas` that no other one may take the place of: those that may be relied upon; where
    nothing fresh is known of it, though its cluster is Ready, those that were reported last, which may serve still.

    Holds: S1."""
    is_unknown = cluster is not None and cluster.is_ready and known_to_serve(work, cluster) is None
    last = min(replicas, reported_ready(work)) if is_unknown else 0
    return max(last, relied_upon(work, cluster, replicas))


def is_fresh(work: Work, cluster: Cluster) -> bool:
    """Tells whether the statuses speak of the Work's present generation, and of a time since the cluster became
    Ready, and whether it can be looked at."""
    ready, reflected = cluster.ready, _reflected(work)
    if ready is None or ready.status != "True" or unobserved(cluster) is not None:
        return False
    if is_told_by_karmada(work):
        return True
    if reflected is None or not _is_applied(work):
        return False
    since, at = ready.last_transition_time, reflected.last_transition_time
    return since is None or (at is not None and at >= since)


def is_about_present(work: Work) -> bool:
    """Tells whether the statuses speak of the Work's present generation, at whatever time."""
    return _reflected(work) is not None or is_told_by_karmada(work)


def trusted(work: Work) -> Work:
    """`work` without what was reported of an earlier generation of it."""
    generation = work.metadata.generation
    if is_told_by_karmada(work):
        return work
    if work.applied is not None and work.applied.observed_generation != generation:
        return _with_status(work, conditions=tuple(c for c in work.status.conditions if c.type != "Applied"))
    if _reflected(work) is None:
        unknown = ResourceHealth.UNKNOWN.value
        statuses = tuple(msgspec.structs.replace(s, health=unknown) for s in work.status.manifest_statuses)
        return _with_status(work, manifest_statuses=statuses)
    return work


def _is_applied(work: Work) -> bool:
    applied = work.applied
    return applied is not None and applied.status == "True" and applied.observed_generation == work.metadata.generation


def believed_from(work: Work | None, cluster: Cluster | None) -> datetime | None:
    """Instant from which a report of Karmada's own agent is of after its cluster's return; None: it is, or says so
    itself.

    Holds: S1."""
    ready = cluster.ready if cluster is not None else None
    if work is None or ready is None or ready.last_transition_time is None or not is_told_by_karmada(work):
        return None
    applied_at = work.applied.last_transition_time if work.applied is not None else None
    if applied_at is not None and applied_at > ready.last_transition_time:
        return None
    return ready.last_transition_time + AGENT_SETTLES


def is_judged_by_manifests(work: Work) -> bool:
    """Tells whether only a comparison with its manifests shows what a report is about: it is applied, and says of no
    generation that it is. No other part of a placement decision reads a Work's manifests, which surveys of all bindings
    do without (`Informer.list_outlines`); the decision replay of the simulator holds that."""
    applied = work.applied
    if applied is None or applied.status != "True" or applied.observed_generation:
        return False
    return find_condition(work.status.conditions, REFLECTED_CONDITION) is None


def is_told_by_karmada(work: Work) -> bool:
    """Tells whether a report without any generation is about the Work's present contents, as far as that can be told.

    Applied, and of a manifest whose template has a generation that one is reported, with nothing that the member has
    still to look at.
    """
    if not is_judged_by_manifests(work):
        return False
    told = {status.identifier.ordinal: status for status in work.status.manifest_statuses}
    manifests = work.spec.workload.manifests
    is_first = work.metadata.generation == 1
    return all(_is_about(told.get(n), manifest, is_first=is_first) for n, manifest in enumerate(manifests))


def _is_about(status: ManifestStatus | None, manifest: ReadOnlyManifest, *, is_first: bool) -> bool:
    """Tells whether a status speaks of this manifest, and not of one that was there before: `is_first`, there was none.

    Other replicas are no other template, and kinds without a rule are judged by health alone: of these as many have to
    be ready as the manifest asks for.
    """
    if status is None:
        return False
    fields = cast(Mapping[str, Any], status.status or {})
    asked = value_at(manifest, "spec", "replicas")
    is_unruled = status.identifier.kind not in _READY_FIELDS and isinstance(asked, int)
    if is_unruled and not is_first and plausible_count(fields.get("readyReplicas")) < asked:
        return False
    if "resourceTemplateGeneration" not in fields:
        return True
    is_seen = "observedGeneration" not in fields or fields["observedGeneration"] == fields.get("generation")
    return is_seen and str(fields["resourceTemplateGeneration"]) == annotations_of(manifest).get(
        TEMPLATE_GENERATION_ANNOTATION
    )


def _reflected(work: Work) -> Condition | None:
    reflected = find_condition(work.status.conditions, REFLECTED_CONDITION)
    return reflected if reflected is not None and reflected.observed_generation == work.metadata.generation else None


_READY_FIELDS = {
    "Deployment": ("readyReplicas",),
    "ReplicaSet": ("readyReplicas",),
    "StatefulSet": ("readyReplicas",),
    "DaemonSet": ("numberReady",),
    "Job": ("ready", "succeeded"),
}
_WRITTEN = ("replicas", "observedGeneration")
_FIELDS_BESIDE = {
    "Deployment": _WRITTEN,
    "ReplicaSet": _WRITTEN,
    "StatefulSet": _WRITTEN,
    "DaemonSet": ("desiredNumberScheduled", "observedGeneration"),
    "Job": ("active", "failed", "startTime", "conditions"),
}
"""A status that has one of these was written by the member's controller: none is ready where no number of them is."""


def _has_ready(status: ManifestStatus, replicas: int) -> bool:
    """Tells whether as many are ready; kinds that do not count their replicas are judged by health alone."""
    return status.identifier.kind not in _READY_FIELDS or _ready_replicas(status) >= replicas


def _wanted_there(status: ManifestStatus) -> int:
    fields = cast(Mapping[str, Any], status.status or {})
    return plausible_count(fields.get("replicas"))


def _ready_replicas(status: ManifestStatus) -> int:
    """The replicas that the member reports as ready, or as having succeeded."""
    fields = cast(Mapping[str, Any], status.status or {})
    counts = (fields.get(name) for name in _READY_FIELDS.get(status.identifier.kind, ()))
    return sum(map(plausible_count, counts))


def _served(status: ManifestStatus) -> int | None:
    kind = status.identifier.kind
    if kind not in _READY_FIELDS:
        return health_rules_in(status).serves
    fields = cast(Mapping[str, Any], status.status or {})
    is_counted = any(name in fields for name in (*_READY_FIELDS[kind], *_FIELDS_BESIDE[kind]))
    return _ready_replicas(status) if is_counted else None


def _with_status(work: Work, **changes: Any) -> Work:
    return msgspec.structs.replace(work, status=msgspec.structs.replace(work.status, **changes))
