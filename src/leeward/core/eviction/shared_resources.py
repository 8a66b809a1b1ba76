"""Resources that others live in. Taints never evict them, unless their policy says so. They stay in a cluster that
leaves, and orphans of these kinds go only where that is asked for.

Deleting a CustomResourceDefinition deletes every custom resource of it. Deleting a Namespace deletes everything in it,
and deleting a volume or its claim the data. A cluster that was away for a while has lost none of that.

Holds: S12. Karmada evicts them like anything else.
"""

from collections.abc import Mapping

from leeward.api.names import (
    APPLIED_PLACEMENT_ANNOTATION,
    BINDING_ID_LABEL,
    CLUSTER_BINDING_ID_LABEL,
    EVICT_SHARED_ANNOTATION,
)
from leeward.api.work import Binding, Work
from leeward.core.copies.job_copies import is_over_job

SHARED_KINDS = frozenset(
    {
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("", "Namespace"),
        ("", "PersistentVolume"),
        ("", "PersistentVolumeClaim"),
    }
)
"""API group and kind."""


def is_shared(api_version: str, kind: str) -> bool:
    """Tells whether others may live in an object of this kind."""
    return (api_version.rpartition("/")[0], kind) in SHARED_KINDS


def has_shared(work: Work) -> bool:
    """Tells whether others may live in something that the Work has made."""
    return any(is_shared(each.get("apiVersion", ""), each.get("kind", "")) for each in work.spec.workload.manifests)


def outlasts_binding(work: Work) -> bool:
    """Tells whether a Work stays where somebody deletes its binding alone. Nobody can make again what others live in,
    nor the result of a Job that has ended. The next binding of its template takes it up."""
    return has_shared(work) or is_over_job(work)


def is_left_over(work: Work, binding: Binding) -> bool:
    """Tells whether an earlier binding has left the Work, by its permanent id."""
    label = BINDING_ID_LABEL if binding.namespace else CLUSTER_BINDING_ID_LABEL
    own, told = (each.metadata.labels.get(label) for each in (binding, work))
    is_own = work.metadata.deletion_timestamp is not None or bool(own and own == told)
    return not is_own and outlasts_binding(work)


def left_over(works: Mapping[str, Work], binding: Binding) -> Mapping[str, Work]:
    """The Works that an earlier binding has left to one that was never placed, by cluster."""
    if APPLIED_PLACEMENT_ANNOTATION in binding.metadata.annotations:
        return {}
    return {name: work for name, work in sorted(works.items()) if is_left_over(work, binding)}


def stays_under_taints(binding: Binding) -> bool:
    """Tells whether no taint evicts this binding's object."""
    resource = binding.spec.resource
    return is_shared(resource.api_version, resource.kind) and not lets_shared_go(binding)


def lets_shared_go(binding: Binding) -> bool:
    """Tells whether its policy asks that shared resources go like anything else."""
    return binding.metadata.annotations.get(EVICT_SHARED_ANNOTATION) == "true"
