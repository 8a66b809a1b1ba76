"""Works that a deleted binding leaves to the next one of its template: what they hold nobody can make again.

The next one begins with them as its targets, and remembers what its template says of its end. Karmada deletes them.
"""

from collections.abc import Mapping
from typing import TypeVar

from msgspec.structs import replace

from kubeapi.codec import encode
from kubeapi.meta import ReadOnlyManifest
from kubeapi.unstructured import mapping_at, text_at
from leeward.api.cluster import Cluster
from leeward.api.names import BINDING_ID_LABEL, CLUSTER_BINDING_ID_LABEL, MEMORY_ANNOTATION
from leeward.api.work import Binding, TargetCluster, Work
from leeward.core.copies.job_copies import is_job, is_over_job
from leeward.core.copies.memory import BindingMemory
from leeward.core.eviction.shared_resources import has_shared
from leeward.core.interpreter import replicas_of
from leeward.core.interpreter.jobs import says_finished
from leeward.core.scheduling.affinity import common_term
from leeward.core.scheduling.reschedule import is_unjoined, was_placed

AnyBinding = TypeVar("AnyBinding", bound=Binding)


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
    found = {} if was_placed(binding) else works
    return {name: work for name, work in sorted(found.items()) if is_left_over(work, binding)}


def is_a_part(binding: Binding) -> bool:
    """Tells whether the targets of a divided binding that was never placed may be a part: those that were left."""
    return binding.spec.is_divided and not was_placed(binding)


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


def first_memory(template: ReadOnlyManifest) -> dict[str, str]:
    """Annotation of a new binding whose template is a Job that has finished, by its own status; none of others."""
    if not is_job(template) or not says_finished(mapping_at(template, "status")):
        return {}
    return {MEMORY_ANNOTATION: encode(BindingMemory(over=text_at(template, "metadata", "uid"))).decode()}
