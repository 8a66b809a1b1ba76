"""Explanation of a cluster that is lost: what is so and what comes, and nothing of what would have been."""

from click import unstyle
from msgspec.structs import replace

from kubeapi.meta import format_time
from leeward.answers.cluster_explanation import ClusterExplanation, explain_cluster
from leeward.answers.explanation import ApplicationState, Explanation
from leeward.answers.fleet_state import FleetState
from leeward.answers.subjects import asked_of, explain_in
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.api.names import LOSS_COVERED_CONDITION, OUTAGE_ANNOTATION
from leeward.cli.explain_text import explanation_lines
from leeward.core.cluster_health.brake import Brake
from tests.answers_page import named
from tests.builders import at, binding, cluster, dead, duplicated, targets
from tests.fleet_pictures import picture_of

COVERED = "nothing runs here that would have to move"
TO_COME = "m1 gets the taint cluster.karmada.io/not-ready:NoExecute, unless it is back by then"


def lost() -> Cluster:
    """A cluster that is not Ready, gets NoExecute next, and whose loss was looked at before that."""
    there = dead("m1", since=-60)
    said = Condition(LOSS_COVERED_CONDITION, "True", "NothingRunsHere", COVERED, at(-600))
    status = replace(there.status, conditions=(*there.status.conditions, said))
    metadata = replace(there.metadata, annotations={OUTAGE_ANNOTATION: format_time(at(-60))})
    return replace(there, metadata=metadata, spec=replace(there.spec, taints=there.spec.taints[:1]), status=status)


def state_of(there: Cluster) -> FleetState:
    web = named("web", binding(duplicated("m1"), 2, targets(m1=2)))
    return picture_of([there, *map(cluster, ("m2", "m3", "m4"))], [web])


def told(there: Cluster) -> ClusterExplanation:
    return explain_cluster(state_of(there), "m1")


def test_of_a_lost_cluster_nothing_is_told_of_what_would_be_if_it_were_lost() -> None:
    found = told(lost())
    assert not [said for said in found.why if COVERED[1:] in said]
    assert found.why[-1].startswith("1 of 4 clusters is down. The brake stops evictions when ")
    assert TO_COME in [step.sentence for step in found.next]


def test_while_the_brake_holds_no_taint_is_said_to_come() -> None:
    """Nobody knows when the brake is released."""
    braked = replace(state_of(lost()).recorded, brake=Brake(at(-30), reason="MostOfFleet"))
    state = FleetState(braked)
    web = explain_in(state, asked_of("deploy/web", "default"))
    assert isinstance(web, Explanation)
    for found in (explain_cluster(state, "m1"), web):
        assert not [step.sentence for step in found.next if "gets the taint" in step.sentence]


def test_a_lost_cluster_that_takes_all_that_serves_needs_somebody() -> None:
    found = explain_in(state_of(lost()), asked_of("deploy/web", "default"))
    assert isinstance(found, Explanation)
    assert (found.state, found.needs_somebody) == (ApplicationState.OUTAGE, True)
    assert found.headline == "m1 is down; 0 of 2 replicas are known to be ready"
    assert any(unstyle(line).startswith("! m1 is down") for line in explanation_lines(found))


def leaving() -> Cluster:
    return replace(lost(), metadata=replace(lost().metadata, deletion_timestamp=at(-120)))


def test_a_lost_cluster_that_is_unjoined_gets_no_taint_and_is_said_to_leave() -> None:
    found = told(leaving())
    assert "The cluster is being unjoined (since 31 Dec 2025, 2 min ago)." in found.why
    assert [step.sentence for step in found.next] == [
        "m1 leaves the fleet: nobody watches it any more, and it gets no taint"
    ]


def test_an_application_in_a_cluster_that_is_unjoined_waits_for_no_taint() -> None:
    comes = [explain_in(state_of(there), asked_of("deploy/web", "default")) for there in (lost(), leaving())]
    assert [
        [step.sentence for step in each.next if "gets the taint" in step.sentence]
        for each in comes
        if isinstance(each, Explanation)
    ] == [["m1 gets the taint NoExecute, unless it is back by then"], []]
