"""Static assignments: the Works by which a quota brings a ResourceQuota to each cluster that it names.

A Work of the same name that does not carry the quota's labels is another's, such as that of a ResourceQuota which a
user propagates: it is left alone. Two assignments for one cluster: the first counts.

Karmada: pkg/controllers/federatedresourcequota (`federatedResourceQuotaSync`); same names and labels. Its Works are
taken over as they are; it writes over the Work of another, where it meets one.
"""

from collections.abc import Iterable, Iterator, Mapping

from kubeapi.codec import to_wire
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest
from kubeapi.unstructured import with_annotations
from kubeapi.untrusted import mapping_in
from leeward.api.names import (
    EXECUTION_CONTROLLER_FINALIZER,
    MANAGED_LABEL,
    RENDERED_ANNOTATION,
    execution_space,
    work_name,
)
from leeward.api.quota import FederatedResourceQuota
from leeward.api.work import Work
from leeward.core.amounts import render_amounts
from leeward.core.execution.ownership import stamp
from leeward.core.quota.usage import amounts_of

QUOTA_NAMESPACE_LABEL = "federatedresourcequota.karmada.io/namespace"
QUOTA_NAME_LABEL = "federatedresourcequota.karmada.io/name"
"""Label on the Works of a quota."""
_RENDERED: Manifest = {RENDERED_ANNOTATION: "true"}
API_VERSION = "work.karmada.io/v1alpha1"


def quota_of_work(work: Work) -> tuple[str, str] | None:
    """Namespace and name of the quota that the Work says it is of."""
    labels = work.metadata.labels
    namespace, name = labels.get(QUOTA_NAMESPACE_LABEL), labels.get(QUOTA_NAME_LABEL)
    return (namespace, name) if namespace and name else None


def is_of(work: Work, quota: FederatedResourceQuota) -> bool:
    return quota_of_work(work) == (quota.namespace, quota.name)


def quota_works(quota: FederatedResourceQuota, clusters: Iterable[str]) -> Mapping[str, Manifest]:
    """The Works that there must be, by cluster; of the clusters that are assigned something, those of `clusters`."""
    there = set(clusters)
    return {cluster: _work(quota, cluster, hard) for cluster, hard in _assigned(quota) if cluster in there}


def needless(works: Iterable[Work], quota: FederatedResourceQuota | None) -> Iterator[Work]:
    """Works with a quota's labels that it does not ask for (any more); None is a quota that is gone."""
    if quota is None:
        return iter(works)
    wanted = {execution_space(cluster) for cluster, _ in _assigned(quota)}
    own = work_name("ResourceQuota", quota.name, quota.namespace)
    return (work for work in works if work.namespace not in wanted or work.name != own)


def brought_to(work: Work, manifest: Manifest) -> Manifest | None:
    """The Work with the contents and labels that it must have; None where it has them. All else of it stays."""
    present: Manifest = {name: value for name, value in to_wire(work).items() if name != "status"}
    labels: Manifest = {**work.metadata.labels, **manifest["metadata"]["labels"]}
    metadata: Manifest = {**present["metadata"], "labels": labels}
    spec: Manifest = {**mapping_in(present, "spec"), "workload": manifest["spec"]["workload"]}
    wanted: Manifest = {**present, "metadata": metadata, "spec": spec}
    if not is_equal(spec, present["spec"]):
        wanted = with_annotations(wanted, _RENDERED)
    return None if is_equal(wanted, present) else wanted


def _assigned(quota: FederatedResourceQuota) -> Iterator[tuple[str, Manifest]]:
    seen: set[str] = set()
    for assignment in quota.spec.static_assignments:
        if assignment.cluster_name not in seen:
            seen.add(assignment.cluster_name)
            yield assignment.cluster_name, render_amounts(amounts_of(assignment.hard))


def _work(quota: FederatedResourceQuota, cluster: str, hard: Manifest) -> Manifest:
    space, name = execution_space(cluster), work_name("ResourceQuota", quota.name, quota.namespace)
    resource_quota: Manifest = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": quota.name, "namespace": quota.namespace},
        "spec": {"hard": hard},
    }
    labels = {QUOTA_NAMESPACE_LABEL: quota.namespace, QUOTA_NAME_LABEL: quota.name, MANAGED_LABEL: "true"}
    return {
        "apiVersion": API_VERSION,
        "kind": "Work",
        "metadata": {
            "name": name,
            "namespace": space,
            "labels": labels,
            "annotations": _RENDERED,
            "finalizers": [EXECUTION_CONTROLLER_FINALIZER],
        },
        "spec": {"workload": {"manifests": [stamp(resource_quota, space, name)]}},
    }
