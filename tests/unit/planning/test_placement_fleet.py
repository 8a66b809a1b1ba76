"""The fleet of production: its plug-ins, and whose places hold nobody."""

import msgspec
import pytest

from kubeapi.core import Taint
from leeward.api.cluster import Cluster
from leeward.api.work import ReplicaRequirements, ResourceBinding, ResourceBindingStatus, WorkloadAffinityGroups
from leeward.core.scheduling import schedule
from leeward.core.scheduling.estimates import Question
from leeward.planning.estimates import Estimates
from leeward.planning.fleet import placement_fleet
from leeward.planning.workload_groups import WorkloadGroups
from tests.builders import at, binding, cluster, divided, targets
from tests.placements import placed

NEAR = WorkloadAffinityGroups(affinity_group="web")
PLACEMENT = divided({"a": 1, "b": 1})


def grouped(name: str, **placed: int) -> ResourceBinding:
    bound = binding(PLACEMENT, 2, targets(**placed), workload_affinity_groups=NEAR)
    resource = msgspec.structs.replace(bound.spec.resource, name=name)
    metadata = msgspec.structs.replace(bound.metadata, name=f"{name}-deployment")
    return msgspec.structs.replace(
        bound, metadata=metadata, spec=msgspec.structs.replace(bound.spec, resource=resource)
    )


def goes_to(*clusters: Cluster, groups: WorkloadGroups | None) -> dict[str, int]:
    fleet = placement_fleet(clusters, groups=groups)
    assert fleet.groups is groups
    return placed(schedule(grouped("new").spec, ResourceBindingStatus(), fleet.view()))


LEAVING = msgspec.structs.replace(cluster("a").metadata, deletion_timestamp=at(0))
NO_EXECUTE = Taint(key="theirs", effect="NoExecute")
NO_SCHEDULE = Taint(key="theirs", effect="NoSchedule")


@pytest.mark.parametrize(
    ("holder", "is_left"),
    [
        (cluster("a"), False),
        (cluster("a", taints=(NO_SCHEDULE,)), False),
        (cluster("a", ready="False"), True),
        (cluster("a", taints=(NO_EXECUTE,)), True),
        (cluster("a", taints=(NO_SCHEDULE, NO_EXECUTE)), True),
        (msgspec.structs.replace(cluster("a"), metadata=LEAVING), True),
        (None, True),
    ],
)
def test_a_place_that_has_to_be_left_holds_nobody(holder: Cluster | None, is_left: bool) -> None:
    groups = WorkloadGroups([grouped("one", a=2)])
    clusters = (cluster("b"),) if holder is None else (holder, cluster("b"))
    fleet = placement_fleet(clusters, groups=groups)
    result = schedule(grouped("new").spec, ResourceBindingStatus(), fleet.view())
    assert ("b" in {target.name for target in getattr(result, "clusters", ())}) == is_left


def test_without_groups_the_gate_is_off() -> None:
    assert goes_to(cluster("a"), cluster("b"), groups=None) == {"a": 1, "b": 1}
    assert goes_to(cluster("a"), cluster("b"), groups=WorkloadGroups([grouped("one", a=2)])) == {"a": 2}


def test_what_estimators_answered_is_heard() -> None:
    asked = ReplicaRequirements(resource_request={})
    spec = binding(PLACEMENT, 6, replica_requirements=asked).spec
    strategy = spec.placement.replica_scheduling if spec.placement else None
    assert strategy is not None
    estimates = Estimates()
    estimates.put(Question(asked, ()), {"a": 0, "b": 9})
    fleet = placement_fleet((cluster("a"), cluster("b")), estimates=estimates)
    assert fleet.estimates is estimates
    assert placement_fleet().estimates is not placement_fleet().estimates
    assert [each.name for each in fleet.profile.estimators] == ["Estimates", "ResourceQuotaEstimator"]


@pytest.mark.parametrize("gate", [True, False])
def test_the_gate_for_many_pod_templates_is_passed_on(gate: bool) -> None:
    assert placement_fleet(multiple_pod_templates=gate).profile.multiple_pod_templates is gate
    assert placement_fleet().profile.multiple_pod_templates is False


def test_only_the_effect_no_execute_drives_out() -> None:
    assert cluster("a", taints=(NO_SCHEDULE, NO_EXECUTE)).has_no_execute is True
    assert cluster("a", taints=(NO_SCHEDULE,)).has_no_execute is False
    assert cluster("a").has_no_execute is False
