"""Aggregation: what the Works of a binding report, together.

Karmada: pkg/util/helper/workstatus.go; same, except that a Work which does not hold the template's manifest is told as
not applied, where Karmada fails for the whole binding.
"""

from collections.abc import Collection, Mapping

import msgspec

from kubeapi.unstructured import text_at
from leeward.api.meta import Condition, find_condition
from leeward.api.work import AggregatedStatusItem, Binding, BindingResource, ManifestStatus, ResourceBindingStatus, Work
from leeward.core.execution.works import wanted_replicas
from leeward.core.interpreter import ResourceHealth

_APPLIED = Condition("FullyApplied", "True", "FullyAppliedSuccess", "All works have been successfully applied")
_ANOTHER = "the Work holds another manifest than the binding's resource"
_NOT_APPLIED = Condition(
    "FullyApplied", "False", "FullyAppliedFailed", "Failed to apply all works, see status.aggregatedStatus for details"
)
_NAMED = 5
"""Number of clusters that a message names."""
_UNKNOWN = ResourceHealth.UNKNOWN.value


def aggregate(
    binding: Binding, works: Mapping[str, Work], stale: Collection[str] = ()
) -> tuple[tuple[AggregatedStatusItem, ...], Condition]:
    """One item per Work that is not being deleted, sorted by cluster, and the condition `FullyApplied`.

    A binding is fully applied when exactly the clusters that need a Work have applied theirs, there is one, and none is
    `stale`: what it was to be could not be rendered. `works` by cluster.
    """
    living = {cluster: work for cluster, work in works.items() if work.metadata.deletion_timestamp is None}
    items = tuple(_item(cluster, living[cluster], binding.spec.resource) for cluster in sorted(living))
    applied = {item.cluster_name for item in items if item.applied}
    wanted = set(wanted_replicas(binding.spec))
    if wanted and applied == wanted and len(items) == len(wanted) and not stale:
        return items, _APPLIED
    return items, _NOT_APPLIED if items else msgspec.structs.replace(
        _NOT_APPLIED, message=_why_nothing(binding, wanted)
    )


def _why_nothing(binding: Binding, wanted: Collection[str]) -> str:
    """The reason why no cluster has anything to report; it points only to what is there."""
    if not wanted:
        scheduled = find_condition(binding.status.conditions, "Scheduled")
        where = ", see the condition Scheduled" if scheduled is not None and scheduled.status != "True" else ""
        return f"Nothing is applied, since it is not scheduled to any cluster{where}"
    names = sorted(wanted)
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"Nothing is applied yet: there is no Work for {', '.join(names[:_NAMED])}{more}"


def rendered_generation(binding: Binding, works: Mapping[str, Work], stale: Collection[str] = ()) -> int:
    """The generation of the binding that its Works render; `works` are those that were brought up to date, by cluster.

    As long as one that is needed is not among them, it is the generation of which that was said before. A cluster whose
    Work is `stale` holds back no other: a copy there that is not what it was to be has too few replicas, or has what it
    had before. Holds: S1.
    """
    if set(wanted_replicas(binding.spec)) <= {*works, *stale}:
        return binding.metadata.generation
    before = find_condition(binding.status.conditions, _APPLIED.type)
    return before.observed_generation if before is not None else 0


def says_nothing_new(before: ResourceBindingStatus, after: ResourceBindingStatus) -> bool:
    """Tells whether `after` says no more than which generation is rendered, of what Karmada has left as it is.

    Karmada does not say that; nobody asks for it before the binding has been somewhere else (decision 91).
    """
    applied = find_condition(before.conditions, _APPLIED.type)
    if applied is None or applied.status != "True" or applied.observed_generation:
        return False
    conditions = tuple(
        msgspec.structs.replace(c, observed_generation=0) if c.type == _APPLIED.type else c for c in after.conditions
    )
    return msgspec.structs.replace(after, conditions=conditions) == before


def _item(cluster: str, work: Work, resource: BindingResource) -> AggregatedStatusItem:
    """Item of one cluster. Without a report of success, what the member says of its object is not known to be about
    ours."""
    applied = work.applied
    if _holds_another(work, resource):
        return AggregatedStatusItem(cluster_name=cluster, applied_message=_ANOTHER, health=_UNKNOWN)
    if applied is None or applied.status != "True":
        message = applied.message if applied else ""
        return AggregatedStatusItem(cluster_name=cluster, applied_message=message, health=_UNKNOWN)
    reported = _status_of(work, resource)
    if reported is None:
        return AggregatedStatusItem(cluster_name=cluster, applied=True, health=_UNKNOWN)
    return AggregatedStatusItem(cluster_name=cluster, applied=True, status=reported.status, health=reported.health)


def _holds_another(work: Work, resource: BindingResource) -> bool:
    """Tells whether what the Work holds is not the binding's resource; somebody else has written it."""
    wanted = [resource.api_version, resource.kind, resource.namespace, resource.name]
    paths = ("apiVersion",), ("kind",), ("metadata", "namespace"), ("metadata", "name")
    held = [[text_at(manifest, *path) for path in paths] for manifest in work.spec.workload.manifests]
    return bool(held) and wanted not in held


def _status_of(work: Work, resource: BindingResource) -> ManifestStatus | None:
    """The report about the binding's own resource."""
    group, _, version = resource.api_version.rpartition("/")
    wanted = (group, version, resource.kind, resource.namespace, resource.name)
    for status in work.status.manifest_statuses:
        i = status.identifier
        if i.ordinal == 0 and (i.group, i.version, i.kind, i.namespace, i.name) == wanted:
            return status
    return None
