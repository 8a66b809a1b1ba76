"""An agent writes under its own name only.

A rule cannot say which name a new object may have, so the group of all agents may create Clusters and Leases, and this
sees to it that they are their own. What is there already is guarded by rules that name it.
"""

from kubeapi.meta import Manifest
from kubeserver.admission import AdmissionReview, Rejected
from kubeserver.handler import ADMIN_GROUP, User
from kubeserver.values import section
from leeward.api.names import AGENT_GROUP, AGENT_USER_PREFIX, CLUSTER_NAMESPACE, execution_space
from leeward.core.registration import problem_of_agents_cluster


class AgentRestriction:
    """An `Admission`: nothing of a cluster is touched by another cluster's agent."""

    def admit(self, review: AdmissionReview) -> Manifest:
        if AGENT_GROUP in review.user.groups and ADMIN_GROUP not in review.user.groups:
            self._check(review, cluster_of(review.user))
        return review.object

    def _check(self, review: AdmissionReview, cluster: str) -> None:
        name = section(review.object, "metadata").get("name", "")
        match review.resource.plural:
            case "clusters":
                own = name == cluster
                _check_cluster(review, cluster)
            case "leases":
                own = (review.namespace, name) == (CLUSTER_NAMESPACE, cluster)
            case "certificatesigningrequests":
                own = True
            case _:
                own = review.namespace == execution_space(cluster)
        if not (own and cluster):
            raise Rejected(f'the agent of cluster "{cluster}" may only touch what belongs to that cluster')


def _check_cluster(review: AdmissionReview, cluster: str) -> None:
    spec, before = (section(each or {}, "spec") for each in (review.object, review.old_object))
    if review.operation != "DELETE" and (problem := problem_of_agents_cluster(spec, before, cluster)):
        raise Rejected(problem)


def cluster_of(user: User) -> str:
    """The cluster that the user is the agent of; empty when it is none."""
    return user.name.removeprefix(AGENT_USER_PREFIX) if user.name.startswith(AGENT_USER_PREFIX) else ""
