"""Works that a deleted binding leaves to the next one of its template, since others live in their objects.

The next one begins with them as its targets. Karmada deletes them.
"""

from collections.abc import Mapping
from typing import TypeVar

from msgspec.structs import replace

from leeward.api.cluster import Cluster
from leeward.api.names import BINDING_ID_LABEL, CLUSTER_BINDING_ID_LABEL
from leeward.api.work import Binding, TargetCluster, Work
from leeward.core.eviction.shared_resources import has_shared
from leeward.core.interpreter import replicas_of
from leeward.core.scheduling.affinity import common_term
from leeward.core.scheduling.reschedule import is_unjoined, was_placed

AnyBinding = TypeVar("AnyBinding", bound=Binding)


def is_left_over(work: Work, binding: Binding) -> bool:
    """Tells whether an earlier binding has left the Work, by its permanent id."""
    label = BINDING_ID_LABEL if binding.namespace else CLUSTER_BINDING_ID_LABEL
    own, told = (each.metadata.labels.get(label) for each in (binding, work))
    is_own = work.metadata.deletion_timestamp is not None or bool(own and own == told)
    return not is_own and has_shared(work)


def left_over(works: Mapping[str, Work], binding: Binding) -> Mapping[str, Work]:
    """The Works that an earlier binding has left to one that was never placed, by cluster."""
    if was_placed(binding):
        return {}
    return {name: work for name, work in sorted(works.items()) if is_left_over(work, binding)}


def with_left_copies(binding: AnyBinding, works: Mapping[str, Work], clusters: Mapping[str, Cluster]) -> AnyBinding:
    """The binding with its first targets: the copies that an earlier one has left. As it is where there are none."""
    found = tuple(
        TargetCluster(name=name, replicas=replicas_of(work.spec.workload.manifests[0])[0])
        for name, work in left_over(works, binding).items()
        if not is_unjoined(clusters.get(name))
    )
    if not found:
        return binding
    term = common_term(binding, [target.name for target in found], clusters) or ""
    status = replace(binding.status, scheduler_observing_affinity_name=term)
    return replace(binding, spec=replace(binding.spec, clusters=found), status=status)
