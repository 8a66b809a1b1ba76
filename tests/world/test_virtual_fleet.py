"""The fleet of the pytest plug-in, and questions that Python asks of its picture."""

import math
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from kubeapi.meta import Manifest
from kubeclient import Invalid, NotFound
from leeward import Fleet, QuestionError
from leeward.answers.explanation import Explanation
from leeward.answers.fleet_state import FleetState
from leeward.pytest_plugin import FleetStarter
from leeward.sim.virtual_fleet import FleetMember, VirtualFleet
from tests.world.stories import by_weight, deployment, policy

WEB = deployment("web", 4), policy("web", by_weight({"member1": 1, "member2": 1}))

ABSENT: list[tuple[Callable[[VirtualFleet], object], str]] = [
    (lambda fleet: fleet.get("nothing/web"), "write TYPE/NAME of a kind"),
    (lambda fleet: fleet.get("web"), "write TYPE/NAME of a kind"),
    (lambda fleet: fleet.fail("member9"), "choose from member1, member2, member3"),
    (lambda fleet: fleet.until(lambda: False, within="10s"), "does not hold within 10s"),
    (lambda fleet: fleet.wait("soon"), "soon"),
]
UNANSWERABLE: list[tuple[Callable[[Fleet], object], str]] = [
    (lambda fleet: fleet.what_if(), "nothing is asked"),
    (lambda fleet: fleet.what_if(fail=["member9"]), "fail 'member9': there is no such cluster"),
    (lambda fleet: fleet.what_if(drain=["member1"], recover_after=60), "nothing fails"),
    (lambda fleet: fleet.what_if(fail=["member1"], at=-1), "at: -1: give seconds"),
    (lambda fleet: fleet.what_if(fail=["member1"], at=math.inf), "at: inf: give seconds"),
    (lambda fleet: fleet.what_if(fail=["member1"], recover_after=math.nan), "recover_after: nan: give seconds"),
    (lambda fleet: fleet.what_if(scale={"deploy/web": -1}), "scale: deploy/web: -1 is no number"),
    (lambda fleet: fleet.what_if(scale={"deploy/no": 1}), "no binding of deploy/no"),
    (lambda fleet: fleet.what_if(apply=[{"kind": "ConfigMap"}]), "a ConfigMap is no policy"),
    (lambda fleet: fleet.resilience(by="planet"), "choose cluster"),
    (lambda fleet: fleet.rehearse({"kind": "Rehearsal"}), "apiVersion"),
    (lambda fleet: fleet.explain("deploy"), "TYPE/NAME"),
]
REHEARSAL: Manifest = {
    "apiVersion": "leeward.dev/v1alpha1",
    "kind": "Rehearsal",
    "spec": {"steps": [{"fail": ["member1"]}], "expect": [{"placedOn": {"member2": 4}}]},
}
QUESTIONS: dict[str, Callable[[Fleet, bool], object]] = {
    "what_if": lambda fleet, partial: fleet.what_if(fail=["member1"], partial=partial),
    "resilience": lambda fleet, partial: fleet.resilience(partial=partial),
    "rehearse": lambda fleet, partial: fleet.rehearse(REHEARSAL, partial=partial),
}


@pytest.fixture
def web(leeward_fleet: FleetStarter) -> VirtualFleet:
    fleet = leeward_fleet()
    fleet.apply(*WEB)
    fleet.wait("1m")
    return fleet


def test_an_outage_is_played(web: VirtualFleet) -> None:
    assert web.placement("deploy/web") == web.serving("deployment/web") == {"member1": 2, "member2": 2}
    web.fail("member1")
    took = web.until(lambda: web.serving("deployments.apps/web") == {"member2": 4})
    assert 600 < took < 660
    web.recover("member1")
    web.wait(1200)
    assert web.placement("deploy/web") == web.serving("deploy/web") == {"member2": 4}


def test_a_cluster_that_is_cut_off_goes_on_serving(web: VirtualFleet) -> None:
    web.partition("member1")
    web.wait("15m")
    assert web.placement("deploy/web") == {"member2": 4}
    assert web.serving("deploy/web") == {"member1": 2, "member2": 4}
    web.recover("member1")
    web.wait("5m")
    assert web.serving("deploy/web") == {"member2": 4}


def test_a_drain_moves_and_is_taken_back(web: VirtualFleet) -> None:
    web.drain("member1")
    web.until(lambda: web.serving("deploy/web") == {"member2": 4}, within="10m")
    web.uncordon("member1")
    assert "taints" not in web.get("cluster/member1")["spec"]


def test_what_is_applied_again_is_changed_and_what_is_deleted_is_gone(web: VirtualFleet) -> None:
    web.apply(deployment("web", 6))
    web.wait("1m")
    assert web.serving("deploy/web") == {"member1": 3, "member2": 3}
    assert web.get("deploy/web", cluster="member1")["spec"]["replicas"] == 3
    web.delete("deploy/web")
    web.wait("1m")
    assert web.serving("deploy/web") == web.placement("deploy/web") == {}
    with pytest.raises(NotFound):
        web.get("deploy/web")


def test_members_have_places_and_nodes(leeward_fleet: FleetStarter) -> None:
    fleet = leeward_fleet(
        FleetMember("fra", region="eu", labels={"tier": "edge"}), FleetMember("us", mode="Pull", nodes=3)
    )
    fleet.wait("1m")
    fra, us = (fleet.get(f"cluster/{name}") for name in fleet.clusters)
    assert (fra["spec"]["region"], fra["metadata"]["labels"]["tier"]) == ("eu", "edge")
    assert (us["spec"]["syncMode"], us["status"]["nodeSummary"]["totalNum"]) == ("Pull", 3)


@pytest.mark.parametrize(("ask", "said"), ABSENT)
def test_what_is_not_there_is_named(web: VirtualFleet, ask: Callable[[VirtualFleet], object], said: str) -> None:
    with pytest.raises((ValueError, TimeoutError), match=said):
        ask(web)


def test_what_the_control_plane_refuses_is_raised(web: VirtualFleet) -> None:
    with pytest.raises(Invalid, match=r"spec\.replicas"):
        web.apply(deployment("web", -1))


def test_two_members_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="same name"):
        VirtualFleet(["member1", "member1"])


def test_python_asks_as_the_verbs_do(web: VirtualFleet, tmp_path: Path) -> None:
    Fleet(web.picture()).save(tmp_path / "fleet.json")
    fleet = Fleet.load(tmp_path / "fleet.json")
    assert (fleet.clusters, fleet.unseen) == (("member1", "member2", "member3"), ())
    explained = fleet.explain("deploy/web")
    assert isinstance(explained, Explanation)
    assert {row.cluster for row in explained.where} == {"member1", "member2"}
    lost = fleet.what_if(fail="member1,member2")
    assert [(each.workload, each.missing) for each in lost.wanting] == [("Deployment default/web", 4)]
    anywhere = policy("web", {"replicaScheduling": {"replicaSchedulingType": "Divided"}})
    assert not fleet.what_if(fail=["member1"], apply=[anywhere]).wanting
    assert fleet.what_if(scale={"deploy/web": 10_000}).wanting
    assert fleet.resilience().survives_all
    assert not fleet.resilience(n=2).survives_all
    assert fleet.rehearse(REHEARSAL).holds


@pytest.mark.parametrize(("ask", "said"), UNANSWERABLE)
def test_what_cannot_be_answered_names_the_argument(
    web: VirtualFleet, ask: Callable[[Fleet], object], said: str
) -> None:
    with pytest.raises(QuestionError, match=said):
        ask(Fleet(web.picture()))


@pytest.mark.parametrize("ask", QUESTIONS.values(), ids=QUESTIONS)
def test_a_picture_with_a_part_that_could_not_be_read_answers_only_who_does_without(
    web: VirtualFleet, ask: Callable[[Fleet, bool], object]
) -> None:
    recorded = web.picture().recorded
    cut = Fleet(FleetState(msgspec.structs.replace(recorded, unseen=("cluster bindings: you may not",))))
    with pytest.raises(QuestionError, match=r"cluster bindings: you may not.*partial=True"):
        ask(cut, False)
    assert ask(cut, True)


def test_a_file_that_is_no_picture_is_named(tmp_path: Path) -> None:
    (tmp_path / "fleet.json").write_text("{}")
    with pytest.raises(QuestionError, match=r"fleet\.json cannot be read"):
        Fleet.load(tmp_path / "fleet.json")
