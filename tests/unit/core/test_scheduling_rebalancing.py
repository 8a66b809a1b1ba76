"""A WorkloadRebalancer: each listed workload once, what is not there is said, and the end has a time."""

from dataclasses import dataclass

import msgspec
import pytest

from kubeapi.meta import ObjectMeta
from leeward.api.rebalancer import (
    ObservedWorkload,
    WorkloadRebalancer,
    WorkloadRebalancerSpec,
    WorkloadRebalancerStatus,
    WorkloadReference,
)
from leeward.core.scheduling.rebalancing import expires_at, needs_trigger, next_status, observed, pending, triggered_at
from tests.builders import at, binding, duplicated

NGINX = WorkloadReference("apps/v1", "Deployment", "nginx", "default")
WEB = WorkloadReference("apps/v1", "Deployment", "web", "default")
ROLE = WorkloadReference("rbac.authorization.k8s.io/v1", "ClusterRole", "readers")
DONE = ObservedWorkload(NGINX, "Successful")
MISSING = ObservedWorkload(NGINX, "Failed", "ReferencedBindingNotFound")


def rebalancer(
    *workloads: WorkloadReference,
    seen: tuple[ObservedWorkload, ...] = (),
    generation: int = 1,
    observed_generation: int = 0,
    ttl: int | None = None,
    finished: float | None = None,
) -> WorkloadRebalancer:
    return WorkloadRebalancer(
        metadata=ObjectMeta(name="r", creation_timestamp=at(0), generation=generation),
        spec=WorkloadRebalancerSpec(workloads=workloads, ttl_seconds_after_finished=ttl),
        status=WorkloadRebalancerStatus(seen, observed_generation, None if finished is None else at(finished)),
    )


@dataclass(frozen=True)
class Row:
    subject: WorkloadRebalancer
    pending: tuple[WorkloadReference, ...]


@pytest.mark.parametrize(
    "row",
    [
        Row(rebalancer(WEB, NGINX, WEB), (WEB, NGINX)),
        Row(rebalancer(NGINX, seen=(DONE,), observed_generation=1), ()),
        Row(rebalancer(NGINX, seen=(MISSING,), observed_generation=1), ()),
        Row(rebalancer(NGINX, WEB, seen=(DONE,), generation=2, observed_generation=1), (WEB,)),
        Row(rebalancer(NGINX, seen=(MISSING,), generation=2, observed_generation=1), (NGINX,)),
    ],
)
def test_each_workload_is_rebalanced_once_and_a_missing_one_is_sought_once_for_each_generation(row: Row) -> None:
    assert pending(row.subject) == row.pending


def test_the_first_generation_counts_from_its_creation_and_later_ones_from_now() -> None:
    assert triggered_at(rebalancer(NGINX), at(5)) == at(0)
    assert triggered_at(rebalancer(NGINX, generation=2), at(5)) == at(5)


def test_c3_a_binding_is_not_triggered_twice_for_the_same_instant() -> None:
    fresh = binding(duplicated("a"), 1)
    assert needs_trigger(fresh, at(0))
    assert not needs_trigger(
        msgspec.structs.replace(fresh, spec=msgspec.structs.replace(fresh.spec, reschedule_triggered_at=at(0))), at(0)
    )


def test_the_status_lists_every_workload_with_its_result_and_when_all_was_done() -> None:
    outcomes = [observed(WEB, found=False), observed(ROLE, found=True)]
    status = next_status(rebalancer(WEB, NGINX, ROLE, seen=(DONE,), generation=2), outcomes, at(7.5))
    assert [(o.workload.name, o.result, o.reason) for o in status.observed_workloads] == [
        ("nginx", "Successful", ""),
        ("web", "Failed", "ReferencedBindingNotFound"),
        ("readers", "Successful", ""),
    ]
    assert (status.observed_generation, status.finish_time) == (2, at(7))


def test_the_time_of_the_end_stays_when_nothing_was_left_to_do() -> None:
    finished = rebalancer(NGINX, seen=(DONE,), observed_generation=1, finished=3)
    assert next_status(finished, [], at(99)) == finished.status


def test_earlier_successes_stay_in_the_status_when_they_are_listed_no_more() -> None:
    lost = ObservedWorkload(ROLE, "Failed", "ReferencedBindingNotFound")
    seen = (DONE, ObservedWorkload(WEB, "Successful"), lost)
    shorter = rebalancer(NGINX, seen=seen, generation=2, observed_generation=1, finished=3)
    status = next_status(shorter, [], at(9))
    assert status.observed_workloads == (DONE, ObservedWorkload(WEB, "Successful"))
    assert status.finish_time == at(3)


def test_a_finished_rebalancer_expires_when_it_has_a_time_to_live() -> None:
    finished = rebalancer(NGINX, seen=(DONE,), observed_generation=1, ttl=60, finished=3)
    assert expires_at(finished) == at(63)
    assert expires_at(rebalancer(NGINX, seen=(DONE,), observed_generation=1, finished=3)) is None
    assert expires_at(rebalancer(NGINX, ttl=60)) is None


def test_what_has_no_result_yet_is_listed_and_keeps_it_from_being_finished() -> None:
    begun = next_status(rebalancer(WEB, NGINX, seen=(DONE,), generation=2), [], at(9))
    assert begun.observed_workloads == (DONE, ObservedWorkload(WEB))
    assert begun.finish_time is None
    ended = next_status(
        rebalancer(NGINX, WEB, finished=3), [observed(NGINX, found=True), observed(WEB, found=True)], at(9)
    )
    assert ended.finish_time == at(9), "it has ended anew"


def test_what_is_not_finished_never_expires() -> None:
    waiting = rebalancer(NGINX, WEB, seen=(DONE,), generation=2, observed_generation=1, ttl=60, finished=3)
    assert expires_at(waiting) is None
