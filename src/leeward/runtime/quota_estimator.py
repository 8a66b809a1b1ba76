"""The estimator of quotas: room by the ResourceQuotas that the control plane has brought to clusters.

It reads what is known here, and asks nobody: a quota that somebody has made in a cluster by hand is not seen. Gate
ResourceQuotaEstimate, with which a binding says the namespace and the priority class of its replicas.

Karmada: the accurate estimator's plug-in ResourceQuotaEstimator, which looks into the cluster itself.
"""

from collections.abc import Sequence

from leeward.api.names import execution_space
from leeward.api.resource import WORKS
from leeward.api.work import Work
from leeward.core.quota.quota_room import quota_namespace, reported_quota, room_in_quotas
from leeward.core.scheduling.estimates import Answers, Question
from leeward.runtime.controller_context import ControlPlane
from leeward.runtime.index import Index


class QuotaEstimator:
    """An `Estimator`. Sets of components have no namespace to be looked up in: of them it knows nothing."""

    name = "ResourceQuotaEstimator"

    def __init__(self, plane: ControlPlane) -> None:
        self._works = plane.informers.of(WORKS)
        self._quotas = Index(self._works, _place_of_quota)

    async def estimate(self, question: Question, clusters: Sequence[str]) -> Answers:
        await self._works.wait_synced()
        asked = question.requirements
        if asked is None or not asked.namespace:
            return {}
        found: dict[str, int] = {}
        for cluster in clusters:
            works = self._quotas.get((execution_space(cluster), asked.namespace))
            quotas = [quota for work in works if (quota := reported_quota(work)) is not None]
            room = room_in_quotas(asked, quotas)
            if room is not None:
                found[cluster] = room
        return found


def _place_of_quota(work: Work) -> tuple[str, str] | None:
    namespace = quota_namespace(work)
    return (work.namespace, namespace) if namespace else None
