"""The affinity terms of a placement: which are tried, and in which order."""

import msgspec
import pytest

from leeward.api.policy import ClusterAffinityTerm
from leeward.api.work import ResourceBindingStatus
from leeward.core.scheduling import Placed, Unplaceable, schedule
from leeward.core.scheduling.affinity import is_in_term
from leeward.core.scheduling.pipeline import affinity_names_to_try
from leeward.planning import Fleet
from tests.builders import at, binding, duplicated
from tests.placements import TAINT, binding_spec, cluster


@pytest.mark.parametrize(
    ("observed", "triggered", "scheduled", "tried", "around"),
    [
        ("", None, None, "abc", "abc"),
        ("gone", None, None, "abc", "abc"),
        ("a", None, None, "abc", "abc"),
        ("b", None, None, "bc", "bca"),
        ("c", None, 10, "c", "cab"),
        ("c", 20, 10, "abc", "abc"),
        ("c", 10, 10, "c", "cab"),
        ("c", 10, None, "c", "cab"),
    ],
    ids=["never", "one that is gone", "the first", "the second", "the last", "a reschedule", "it was made", "not yet"],
)
def test_terms_are_tried_from_the_present_one_on(
    observed: str, triggered: float | None, scheduled: float | None, tried: str, around: str
) -> None:
    terms = tuple(ClusterAffinityTerm(affinity_name=name, cluster_names=(name,)) for name in "abc")
    placement = msgspec.structs.replace(duplicated(), cluster_affinity=None, cluster_affinities=terms)
    spec = binding(placement, 1, reschedule_triggered_at=None if triggered is None else at(triggered)).spec
    status = ResourceBindingStatus(
        scheduler_observing_affinity_name=observed, last_scheduled_time=None if scheduled is None else at(scheduled)
    )
    assert affinity_names_to_try(spec, status) == tuple(tried)
    assert affinity_names_to_try(spec, status, around=True) == tuple(around)


def test_without_terms_there_is_one_without_a_name() -> None:
    status = ResourceBindingStatus(scheduler_observing_affinity_name="before")
    spec = binding(duplicated("a"), 1).spec
    assert affinity_names_to_try(spec, status) == ("before",)
    assert affinity_names_to_try(msgspec.structs.replace(spec, placement=None), status) == ("before",)


def test_a_failover_alone_flees_to_a_term_before_the_present_one() -> None:
    terms = [{"affinityName": name, "clusterNames": [name]} for name in ("m1", "m2")]
    spec = binding_spec({"clusterAffinities": terms})
    status = ResourceBindingStatus(scheduler_observing_affinity_name="m2")
    view = Fleet([cluster("m1"), cluster("m2", taints=[TAINT])]).view()
    fled = schedule(spec, status, view, keep_assigned=True)
    assert isinstance(fled, Placed)
    assert ([each.name for each in fled.clusters], fled.affinity_name) == (["m1"], "m1")
    assert isinstance(schedule(spec, status, view), Unplaceable)


def test_a_cluster_is_in_the_terms_that_name_it_and_one_that_is_gone_is_judged_by_nobody() -> None:
    spec = binding_spec(
        {"clusterAffinities": [{"affinityName": name, "clusterNames": [name]} for name in ("m1", "m2")]}
    )
    assert [is_in_term(spec, name, cluster("m1")) for name in ("m1", "m2")] == [True, False]
    assert is_in_term(spec, "m2", None) is True
