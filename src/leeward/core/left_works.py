"""Works that a deleted binding leaves to the next one of its template, which begins with them as its targets.

A binding is derived: who deletes it alone has given no order about members. Karmada deletes them. A mark on such a
Work says that its template stood by then. Without that template it goes, also where nobody watched for a while.
"""

from collections.abc import Mapping
from typing import TypeVar

from msgspec.structs import replace

from kubeapi.codec import to_wire
from leeward.api.cluster import Cluster
from leeward.api.names import BINDING_ID_LABEL, CLUSTER_BINDING_ID_LABEL
from leeward.api.work import Binding, TargetCluster, Work
from leeward.core.copies.job_copies import is_job
from leeward.core.eviction.shared_resources import has_shared
from leeward.core.interpreter import replicas_of
from leeward.core.scheduling.affinity import common_term
from leeward.core.scheduling.reschedule import is_unjoined, was_placed

AnyBinding = TypeVar("AnyBinding", bound=Binding)

LEFT_ANNOTATION = "leeward.dev/left"
"""Annotation on a Work that a deleted binding has left, as `REPLICAS/UID`: those it had assigned, and the Work's uid. A
Work that is restored has another one (ours)."""


def replicas_left(work: Work) -> int | None:
    """Replicas that were assigned to a Work that a deleted binding has left; None for any other Work."""
    count, _, uid = work.metadata.annotations.get(LEFT_ANNOTATION, "").partition("/")
    return int(count) if uid == work.metadata.uid and count.isdecimal() and len(count) < 19 else None


def outlasts(binding: Binding, work: Work) -> bool:
    """Tells whether a Work outlasts its binding where its template does: no Job, whose end belongs to one of its parts.
    What only follows others goes, unless others live in it."""
    follows = binding.spec.placement is None or is_job(to_wire(binding.spec.resource))
    return work.metadata.deletion_timestamp is None and (has_shared(work) or not follows)


def is_left_over(work: Work, binding: Binding) -> bool:
    """Tells whether an earlier binding has left the Work, by its permanent id."""
    label = BINDING_ID_LABEL if binding.namespace else CLUSTER_BINDING_ID_LABEL
    own, told = (each.metadata.labels.get(label) for each in (binding, work))
    return outlasts(binding, work) and not (own and own == told)


def awaits_placement(work: Work, binding: Binding) -> bool:
    """Tells whether it has left one that others live in, or that the binding was not placed for yet."""
    return is_left_over(work, binding) and (has_shared(work) or not (was_placed(binding) or binding.spec.clusters))


def with_left_copies(binding: AnyBinding, works: Mapping[str, Work], clusters: Mapping[str, Cluster]) -> AnyBinding:
    """The binding, where it was never placed, with its first targets: the copies that an earlier one has left."""
    left = {n: w for n, w in sorted(works.items()) if is_left_over(w, binding) and not is_unjoined(clusters.get(n))}
    if was_placed(binding) or not left:
        return binding
    alone, term = binding.spec.replicas if len(left) == 1 else 0, common_term(binding, list(left), clusters) or ""
    counts = {n: replicas_left(w) or _rendered_replicas(w) or alone for n, w in left.items()}
    targets = tuple(TargetCluster(name=name, replicas=count) for name, count in counts.items())
    status = replace(binding.status, scheduler_observing_affinity_name=term)
    return replace(binding, spec=replace(binding.spec, clusters=targets), status=status)


def _rendered_replicas(work: Work) -> int:
    """Replicas that its first manifest asks for; 0 where it has none."""
    return sum(replicas_of(each)[0] for each in work.spec.workload.manifests[:1])
