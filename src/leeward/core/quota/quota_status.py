"""Status of a quota: its limit, what is used of it, and what the ResourceQuotas in the clusters report.

    aggregatedStatus   what each cluster with a static assignment has reported last, where its Work was applied
    overallUsed        the sum of that; without static assignments, and where the quota is enforced, what the bindings
                       of the namespace use of what the quota limits

Karmada: pkg/controllers/federatedresourcequota (`federatedResourceQuotaStatus`, `federatedResourceQuotaEnforcement`);
same, except that it says nothing of a quota without static assignments that is not enforced. Holds: S10.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from kubeapi.quantity import Quantity
from kubeapi.untrusted import mapping_in
from leeward.api.names import cluster_of_execution_space
from leeward.api.quota import ClusterQuotaStatus, FederatedResourceQuota
from leeward.api.work import Work
from leeward.core.amounts import Amounts, Doubts, read_amounts, render_amounts, sum_amounts
from leeward.core.quota.usage import amounts_of


def aggregated_status(works: Iterable[Work], doubts: Doubts) -> tuple[ClusterQuotaStatus, ...]:
    """Reports of the ResourceQuotas in these Works, by cluster; what cannot be read in one is left out of it."""
    reported = [(cluster_of_execution_space(work.namespace), _report(work)) for work in works]
    return tuple(
        ClusterQuotaStatus(
            cluster, _amounts(report, "hard", cluster, doubts), _amounts(report, "used", cluster, doubts)
        )
        for cluster, report in sorted(reported, key=lambda each: each[0])
        if report is not None
    )


def limit_of(quota: FederatedResourceQuota) -> Mapping[str, Quantity]:
    """Limit as Kubernetes prints it."""
    return render_amounts(amounts_of(quota.spec.overall))


def used_in_clusters(reports: Iterable[ClusterQuotaStatus]) -> Mapping[str, Quantity]:
    return render_amounts(sum_amounts(amounts_of(report.used) for report in reports))


def used_by_bindings(quota: FederatedResourceQuota, usages: Iterable[Amounts]) -> Mapping[str, Quantity]:
    """Usage of what the quota limits."""
    return render_amounts({name: used for name, used in sum_amounts(usages).items() if name in quota.spec.overall})


def _report(work: Work) -> Mapping[str, Any] | None:
    """None while nothing was applied, or nothing is reported."""
    applied = work.applied
    if applied is None or applied.status != "True" or not work.status.manifest_statuses:
        return None
    return mapping_in({"status": work.status.manifest_statuses[0].status}, "status") or None


def _amounts(report: Mapping[str, Any], field: str, cluster: str, doubts: Doubts) -> Mapping[str, Quantity]:
    told = {name: value for name, value in mapping_in(report, field).items() if isinstance(value, str | int | float)}
    return render_amounts(read_amounts(told, f"cluster {cluster}: status.{field}", doubts))
