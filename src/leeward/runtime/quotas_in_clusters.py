"""ResourceQuotas that the control plane has brought to clusters, by the last report of their Works.

A quota that somebody has made in a cluster by hand is not seen. Gate ResourceQuotaEstimate.
"""

from controller_runtime import Informer
from leeward.api.names import EXECUTION_SPACE_PREFIX, cluster_of_execution_space
from leeward.api.work import Work
from leeward.core.quota.quota_room import QuotasByCluster, ReportedQuota, quota_namespace, reported_quota


class QuotasInClusters:
    """Follows Works; a quota that has not reported is left out."""

    def __init__(self, works: Informer[Work]) -> None:
        self._found: dict[str, dict[str, dict[str, ReportedQuota]]] = {}
        """Quotas by namespace, cluster, and name of the Work."""
        works.on_change(self._change)

    def read(self, namespace: str) -> QuotasByCluster:
        """The quotas of a namespace in each cluster."""
        return {cluster: tuple(quotas.values()) for cluster, quotas in self._found.get(namespace, {}).items()}

    def _change(self, old: Work | None, new: Work | None) -> None:
        if old is not None and (place := _place_of_quota(old)) is not None:
            self._drop(*place, old.name)
        if new is None or (place := _place_of_quota(new)) is None or (quota := reported_quota(new)) is None:
            return
        namespace, cluster = place
        self._found.setdefault(namespace, {}).setdefault(cluster, {})[new.name] = quota

    def _drop(self, namespace: str, cluster: str, name: str) -> None:
        clusters = self._found.get(namespace, {})
        quotas = clusters.get(cluster, {})
        quotas.pop(name, None)
        if not quotas:
            clusters.pop(cluster, None)
        if not clusters:
            self._found.pop(namespace, None)


def _place_of_quota(work: Work) -> tuple[str, str] | None:
    """The namespace of the ResourceQuota that the Work carries, and its cluster."""
    if not work.namespace.startswith(EXECUTION_SPACE_PREFIX) or not (namespace := quota_namespace(work)):
        return None
    return namespace, cluster_of_execution_space(work.namespace)
