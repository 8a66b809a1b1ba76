"""Reachability of a workload: clusters in which it serves, and no Service leads to it.

    NoService     no Service that selects it is in the cluster
    NoEndpoints   what is there selects none of its Pods, as both are rendered for the cluster
    NoAddress     a LoadBalancer Service that selects it is there, and is reported without an address

A workload that no propagated Service selects says nothing: nobody means to reach it by one. Nor does one whose policy
has `leeward.dev/service-optional`, as a worker with the labels of a Service that is meant for others. Nor one whose
Service was not reported yet, or which has not been so for `SETTLES`: copies and Services come one after the other.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from kubeapi.meta import ReadOnlyManifest
from kubeapi.unstructured import list_at, text_at
from leeward.api.meta import Condition
from leeward.api.names import REACHABLE_CONDITION, SERVICE_OPTIONAL_ANNOTATION
from leeward.api.work import Binding, Work, is_application
from leeward.core.execution.addresses import selector_of_service, selects

NO_SERVICE, NO_ENDPOINTS, NO_ADDRESS, REACHABLE = "NoService", "NoEndpoints", "NoAddress", "Reachable"
SETTLES = timedelta(seconds=30)


@dataclass(frozen=True, slots=True)
class ServiceCopies:
    """A Service that selects the workload's template, and its Works by cluster."""

    template: ReadOnlyManifest
    works: Mapping[str, Work]

    @property
    def name(self) -> str:
        return text_at(self.template, "metadata", "name")


def may_need_service(binding: Binding) -> bool:
    """Tells whether it is a workload to which Services may have to lead: its policy does not say otherwise."""
    return is_application(binding) and binding.metadata.annotations.get(SERVICE_OPTIONAL_ANNOTATION) != "true"


def reachability(
    serving: Collection[str], works: Mapping[str, Work], services: Sequence[ServiceCopies]
) -> Condition | None:
    """The condition of a workload that serves in these clusters; `works` are its own. None where no Service selects
    it."""
    if not services:
        return None
    faults = {cluster: fault for cluster in sorted(serving) if (fault := _fault(works[cluster], services, cluster))}
    if not faults:
        return Condition(REACHABLE_CONDITION, "True", REACHABLE, "a Service leads to it wherever it serves")
    message = "; ".join(f"the application serves in {cluster}, where {said}" for cluster, (_, said) in faults.items())
    reason = next(each for each in (NO_SERVICE, NO_ENDPOINTS, NO_ADDRESS) if each in dict(faults.values()))
    return Condition(REACHABLE_CONDITION, "False", reason, message)


def _fault(workload: Work, services: Sequence[ServiceCopies], cluster: str) -> tuple[str, str] | None:
    """Reason and words for why nothing leads to the copy in a cluster."""
    there = [(each, work) for each in services if (work := each.works.get(cluster)) is not None and stays(work)]
    if not there:
        return NO_SERVICE, f"no Service selects it ({_names(services)})"
    made = workload.spec.workload.manifests
    leading = [(each, work) for each, work in there if any(_selects(work, manifest) for manifest in made)]
    if not leading:
        return NO_ENDPOINTS, f"{_names([each for each, _ in there])} has no endpoints: it selects other Pods"
    for each, work in leading:
        if text_at(each.template, "spec", "type") == "LoadBalancer" and lacks_address(work):
            return NO_ADDRESS, f"Service {each.name} has no address"
    return None


def stays(work: Work) -> bool:
    return work.metadata.deletion_timestamp is None


def _selects(service: Work, workload: ReadOnlyManifest) -> bool:
    manifests = service.spec.workload.manifests
    return any(selects(selector_of_service(each), workload) for each in manifests)


def lacks_address(service: Work) -> bool:
    """Tells whether its report says so. A Service without a report may have one."""
    statuses = service.status.manifest_statuses
    return bool(statuses) and not any(list_at(each.status, "loadBalancer", "ingress") for each in statuses)


def _names(services: Sequence[ServiceCopies]) -> str:
    """`Service web goes to member1` for each."""
    found = [f"Service {each.name} is in {', '.join(sorted(each.works)) or 'no cluster'}" for each in services]
    return "; ".join(found)
