"""Plug-in APIEnablement: clusters that do not serve the template's kind.

Karmada: plugins/apienablement; same. A kind that is not listed counts as absent, even where the list is incomplete.
"""

from leeward.api.cluster import Cluster
from leeward.core.scheduling.model import Filter, Request


def is_enabled(cluster: Cluster, api_version: str, kind: str) -> bool:
    return any(
        resource.kind == kind
        for enablement in cluster.status.api_enablements
        if enablement.group_version == api_version
        for resource in enablement.resources
    )


def _reject(request: Request, cluster: Cluster) -> str | None:
    resource = request.spec.resource
    if cluster.name in request.assigned or is_enabled(cluster, resource.api_version, resource.kind):
        return None
    return "cluster(s) did not have the API resource"


API_ENABLEMENT = Filter("APIEnablement", _reject, shared=True)
