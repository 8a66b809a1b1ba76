"""Two affinity terms joined: a binding on its way from one term of `clusterAffinities` to another.

A placement lies in one term. A failback between terms goes in steps, so that targets lie in two of them for a while.
Each decision meanwhile takes clusters of both: else a change of replicas, or the death of one, would take away the
serving copies in the other. Then the observed term counts with the other one as its last overflow.

A placement that the user has changed, or asks for anew, is decided on as it stands.
"""

from collections.abc import Mapping

import msgspec

from kubeapi.codec import encode
from leeward.api.cluster import Cluster
from leeward.api.names import APPLIED_PLACEMENT_ANNOTATION
from leeward.api.policy import ClusterAffinityTerm, NamedClusterAffinity, Placement
from leeward.api.work import Binding
from leeward.core.scheduling.affinity import common_term, first_term_of, is_in_term
from leeward.core.scheduling.model import is_reschedule_requested
from leeward.core.scheduling.reschedule import placement_changed


def other_term(binding: Binding, clusters: Mapping[str, Cluster]) -> str | None:
    """The affinity term of the targets that are not in the observed one; None where one term has all targets, or no two
    terms do. Only replicas that are divided are ever between two: copies return at once."""
    spec, observed = binding.spec, binding.status.scheduler_observing_affinity_name
    names = [term.affinity_name for term in _terms_of(binding)]
    targets = [target.name for target in spec.clusters if target.name in clusters]
    if not spec.is_divided or len(names) < 2 or observed not in names:
        return None
    if common_term(binding, targets, clusters) is not None:
        return None
    outside = [name for name in targets if not is_in_term(spec, observed, clusters[name])]
    if len(outside) == len(targets):
        return None
    return first_term_of(binding, outside, clusters)


def with_joined_terms(binding: Binding, clusters: Mapping[str, Cluster]) -> Binding:
    """The binding as it is decided on while its targets lie in two affinity terms; else the binding itself."""
    other = other_term(binding, clusters)
    status = binding.status
    is_asked_for = placement_changed(binding) or is_reschedule_requested(binding.spec, status.last_scheduled_time)
    if other is None or is_asked_for:
        return binding
    placement = _joined(binding, status.scheduler_observing_affinity_name, other)
    annotations = {**binding.metadata.annotations, APPLIED_PLACEMENT_ANNOTATION: encode(placement).decode()}
    metadata = msgspec.structs.replace(binding.metadata, annotations=annotations)
    return msgspec.structs.replace(
        binding, metadata=metadata, spec=msgspec.structs.replace(binding.spec, placement=placement)
    )


def _terms_of(binding: Binding) -> tuple[ClusterAffinityTerm, ...]:
    return binding.spec.placement.cluster_affinities if binding.spec.placement is not None else ()


def _joined(binding: Binding, observed: str, other: str) -> Placement:
    terms = {term.affinity_name: term for term in _terms_of(binding)}
    first, last = terms[observed].overflow_affinities or (), terms[other].overflow_affinities or ()
    both = (*first, _alone(terms[other]), *last)
    joined = msgspec.structs.replace(terms[observed], overflow_affinities=both)
    affinities = tuple(joined if term is terms[observed] else term for term in _terms_of(binding))
    return msgspec.structs.replace(binding.spec.placement or Placement(), cluster_affinities=affinities)


def _alone(term: ClusterAffinityTerm) -> NamedClusterAffinity:
    """The term as one that others flow over to."""
    return NamedClusterAffinity(
        affinity_name=term.affinity_name,
        cluster_names=term.cluster_names,
        exclude=term.exclude,
        label_selector=term.label_selector,
        field_selector=term.field_selector,
    )
