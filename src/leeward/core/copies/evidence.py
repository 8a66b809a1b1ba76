"""Evidence about a copy: which reports speak of it as it is now, and how many replicas they tell.

A report is *fresh* (`is_fresh`) where all of this holds:

    the cluster is Ready now
    the Work that renders the binding's present generation is applied there, and
    its status was read from objects that carry it, after the cluster last became Ready

Everything else is unknown: nobody relies on it, and nothing is taken away on it. `availability` makes bounds of it. The
chain of generations is told in `docs/decisions/0019-health-has-two-bounds.md`.

An agent of Karmada says of no report which generation it is about. It is believed as far as its report can be told to
be about the Work's present contents (`is_told_by_karmada`, decision 91).

Karmada asks only that the scheduler has observed the generation. There a stale `Healthy` ends tasks early (fault 11 of
docs/karmada-behaviour.md).
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, cast

import msgspec

from kubeapi.meta import ReadOnlyManifest, annotations_of
from kubeapi.unstructured import value_at
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition, find_condition
from leeward.api.names import DEPENDENCIES_REFUSED_ANNOTATION, REFLECTED_CONDITION, TEMPLATE_GENERATION_ANNOTATION
from leeward.api.work import Binding, ManifestStatus, Work
from leeward.core.cluster_health.ready_condition import unobserved
from leeward.core.cluster_health.watched_time import CLOCKS_APART
from leeward.core.interpreter.jobs import DONE_ONCE, has_done
from leeward.core.interpreter.plausible import plausible_count
from leeward.core.interpreter.resource_health import ResourceHealth, health_rules_in

FULLY_APPLIED = "FullyApplied"
AGENT_SETTLES = timedelta(seconds=60)
"""Time after which Karmada's own agent has reported what is in a cluster that has returned, or was joined anew."""


def is_current(binding: Binding) -> bool:
    """Tells whether the Works render the binding's present spec: the binding controller says so."""
    applied = find_condition(binding.status.conditions, FULLY_APPLIED)
    return applied is not None and applied.observed_generation == binding.metadata.generation


def was_there_before(work: Work | None, began: datetime | None, apart: timedelta = CLOCKS_APART) -> bool:
    """Tells whether the copy is older than the eviction that began then, and so replaces no copy that left."""
    made = work.metadata.creation_timestamp if work is not None else None
    return made is not None and began is not None and made + apart < began


def is_fresh(work: Work | None, cluster: Cluster | None) -> bool:
    """Tells whether the statuses speak of the Work's present generation, and were read since the cluster is Ready."""
    ready = cluster.ready if cluster is not None else None
    if work is None or cluster is None or ready is None or ready.status != "True" or unobserved(cluster) is not None:
        return False
    if is_told_by_karmada(work):
        return True
    reflected = _reflected(work)
    if reflected is None or not is_applied(work):
        return False
    since, at = ready.last_transition_time, reflected.last_transition_time
    return since is None or (at is not None and at >= since)


def when_told(work: Work, cluster: Cluster) -> datetime | None:
    """Instant since which the reported numbers stand: they have not changed, and the cluster is Ready."""
    conditions = (cluster.ready, _reflected(work))
    return max((c.last_transition_time for c in conditions if c and c.last_transition_time), default=None)


def is_about_present(work: Work) -> bool:
    """Tells whether the statuses speak of the Work's present generation, at whatever time."""
    return _reflected(work) is not None or is_told_by_karmada(work)


def trusted(work: Work) -> Work:
    """`work` without the reports of its earlier generations."""
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


def is_applied(work: Work) -> bool:
    applied = work.applied
    return applied is not None and applied.status == "True" and applied.observed_generation == work.metadata.generation


def believed_from(work: Work | None, cluster: Cluster | None) -> datetime | None:
    """Instant from which a report of Karmada's own agent is of after its cluster's return; None: it is, or says so
    itself. Holds: S1."""
    ready = cluster.ready if cluster is not None else None
    if work is None or ready is None or ready.last_transition_time is None or not is_told_by_karmada(work):
        return None
    applied_at = work.applied.last_transition_time if work.applied is not None else None
    if applied_at is not None and applied_at > ready.last_transition_time:
        return None
    return ready.last_transition_time + AGENT_SETTLES


def refused_dependencies(work: Work) -> str:
    """Objects that the copy needs and does not have in its cluster: it may run on somebody else's. Empty for none."""
    return work.metadata.annotations.get(DEPENDENCIES_REFUSED_ANNOTATION, "")


def is_judged_by_manifests(work: Work) -> bool:
    """Tells whether only its manifests show which generation a report is about: it is applied, and names no generation.
    No other part of a placement decision reads a Work's manifests, so surveys of all bindings do without
    (`Informer.list_outlines`). The decision replay of the simulator holds that."""
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
    """Tells whether a status speaks of this manifest, and not of an earlier one. `is_first`: there was none.

    Other replicas are no other template. Kinds without a rule are judged by health alone: as many replicas have to be
    ready as the manifest asks for.
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
    "Job": ("active", "succeeded", "failed", "startTime", "conditions"),
}
"""A status that has one of these was written by the member's controller: none is ready where no number of them is."""


def served_counts(statuses: Sequence[ManifestStatus], whole: int = 1) -> tuple[int | None, ...]:
    """Number of replicas that each manifest of a copy of `whole` replicas serves; None where that is not known.

    A status tells it where it counts ready replicas. Of other kinds a copy serves as a whole or not at all: by its
    health. A change of these numbers is a change of a copy's worth.
    """
    return tuple(_count(status, whole) for status in statuses)


def is_uncounted(work: Work) -> bool:
    """Tells whether nobody can say of a manifest how much it serves, though it is reported, and not as Unhealthy."""
    statuses = zip(work.status.manifest_statuses, served_counts(work.status.manifest_statuses), strict=True)
    return any(count is None and not health_rules_in(status).has_failed for status, count in statuses)


def is_judged_well(status: ManifestStatus, replicas: int) -> bool:
    """Tells whether a manifest is Healthy, and tells no fewer ready replicas than it is to have."""
    return health_rules_in(status).is_well and (_count(status, replicas) or 0) >= replicas


def _count(status: ManifestStatus, whole: int) -> int | None:
    kind, fields = status.identifier.kind, _fields(status)
    done = has_done(status) if (status.identifier.group, kind) in DONE_ONCE else None
    if done is not None:
        return whole if done else 0
    if kind in _READY_FIELDS:
        is_counted = any(name in fields for name in (*_READY_FIELDS[kind], *_FIELDS_BESIDE[kind]))
        return sum(plausible_count(fields.get(name)) for name in _READY_FIELDS[kind]) if is_counted else None
    if isinstance(fields.get("readyReplicas"), int):
        return plausible_count(fields["readyReplicas"])
    rules = health_rules_in(status)
    return whole if rules.is_well else 0 if rules.has_failed else None


def _fields(status: ManifestStatus) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], status.status or {})


def _with_status(work: Work, **changes: Any) -> Work:
    return msgspec.structs.replace(work, status=msgspec.structs.replace(work.status, **changes))
