"""Service after a change: the verdict of `what-if` and `resilience` is the service, whatever is decided."""

import msgspec
import pytest

from leeward.answers.explanation import explain_binding
from leeward.answers.fleet_state import FleetState
from leeward.answers.imagined import ImaginedChange, imagine_scale
from leeward.answers.resilience import coverage_of, losses_by, survey
from leeward.answers.what_if import ApplicationFate, Fate, what_if
from leeward.answers.what_if_sentences import answer_of
from leeward.api.cluster import AllocatableModeling, Cluster, NodeSummary, ResourceSummary
from leeward.api.names import BINDING_NAME_ANNOTATION, BINDING_NAMESPACE_ANNOTATION
from leeward.api.policy import Placement
from leeward.api.work import ReplicaRequirements, ResourceBinding, Work
from leeward.core.loss_coverage import FleetNow
from tests.builders import binding, cluster, divided, duplicated, targets, work
from tests.fleet_pictures import picture_of
from tests.unit.answers.test_projection import GRADES
from tests.unit.answers.test_resilience import named

CORE = ReplicaRequirements(resource_request={"cpu": "1"})


def member(name: str, cores: int, requested: int = 0, pods: int = 110) -> Cluster:
    made = cluster(name)
    summary = ResourceSummary(
        allocatable={"cpu": str(cores), "pods": str(pods)}, allocated={"cpu": str(requested), "pods": str(requested)}
    )
    status = msgspec.structs.replace(made.status, resource_summary=summary, kubernetes_version="v1.31.0")
    return msgspec.structs.replace(made, status=status)


def app(name: str, placement: Placement, replicas: int, **assigned: int) -> ResourceBinding:
    return named(name, binding(placement, replicas, targets(**assigned), replica_requirements=CORE))


def there(owner: ResourceBinding, **figures: dict[str, int]) -> list[Work]:
    """Works of an application that is applied where it is, with these figures of each cluster's report."""
    return [_work(owner, target.name, figures.get(target.name, {})) for target in owner.spec.clusters]


def _work(owner: ResourceBinding, name: str, figures: dict[str, int]) -> Work:
    ready = next((t.replicas for t in owner.spec.clusters if t.name == name), 0)
    made = work(name, ready)
    (report,) = made.status.manifest_statuses
    told = msgspec.structs.replace(report, status={"readyReplicas": ready, **figures})
    about = {BINDING_NAMESPACE_ANNOTATION: owner.namespace, BINDING_NAME_ANNOTATION: owner.name}
    return msgspec.structs.replace(
        made,
        metadata=msgspec.structs.replace(made.metadata, annotations=about, name=owner.name),
        status=msgspec.structs.replace(made.status, manifest_statuses=(told,)),
    )


def state_of(members: list[Cluster], *apps: ResourceBinding, works: list[Work] | None = None) -> FleetState:
    return picture_of(members, apps, [each for one in apps for each in there(one)] if works is None else works)


def of(told: list[ApplicationFate], name: str) -> ApplicationFate:
    return next(each for each in told if each.workload == f"Deployment default/{name}")


def test_what_the_brake_holds_in_clusters_that_fail_serves_nobody() -> None:
    """Nothing is decided of it, and so nothing said that it finds no room."""
    four = [member(name, 16) for name in "abcd"]
    state = state_of(
        four,
        app("gone", divided({"a": 1, "b": 1}), 4, a=2, b=2),
        app("fewer", divided({"a": 1, "d": 1}), 4, a=2, d=2),
        app("away", divided({"d": 1}), 2, d=2),
    )
    told = what_if(state, ImaginedChange(fails=frozenset("abc")))
    assert told.braked
    assert [(each.workload.rpartition("/")[2], each.serves, each.replicas) for each in told.wanting] == [
        ("gone", 0, 4),
        ("fewer", 2, 4),
    ]
    assert answer_of(told) == (
        "1 of 2 applications would be down, 1 would serve with fewer replicas; in total, 6 of 8 replicas would be "
        "missing"
    )
    gone = of(told.applications, "gone")
    assert (gone.fate, gone.reason) == (Fate.STAYS, "")
    assert (
        gone.message == "the application stays in a, b, where no replica is ready, because the brake stops the eviction"
    )
    losses = {each.loss: each for each in survey(state, losses_by(state, "cluster", 3)).losses}
    loss = losses["a+b+c"]
    assert (loss.braked, loss.nobody, loss.wanting) == (True, 1, 2)


def test_what_a_cluster_is_given_beyond_its_nodes_waits_and_does_not_serve() -> None:
    """Static weights divide without a look at room, as in Karmada."""
    heavy = app("heavy", divided({"a": 1, "b": 1}), 32, a=16, b=16)
    state = state_of([member("a", 32, 16), member("b", 32, 20)], heavy)
    told = what_if(state, ImaginedChange(fails=frozenset("a")))
    (only,) = told.applications
    assert (only.after, only.serves, only.missing, only.waiting) == ({"b": 32}, 28, 4, {"b": 4})
    assert [(each.cluster, each.waiting) for each in told.clusters] == [("a", 0), ("b", 4)]
    assert answer_of(told) == (
        "1 application is affected: it would serve with 28 of 32 replicas, and 4 would wait for a node"
    )
    losses = {each.loss: each for each in survey(state, losses_by(state, "cluster")).losses}
    assert (losses["a"].missing, losses["a"].waiting) == (4, 4)
    assert losses["a"].fullest is not None
    assert losses["a"].fullest.overfull
    assert losses["b"].missing == 0


def test_explain_does_not_take_what_waits_for_a_node_for_well() -> None:
    heavy = app("heavy", divided({"a": 1}), 6, a=6)
    for ready, said in (
        (4, "Pods wait for a node in a; 4 of 6 replicas are ready"),
        (6, "No eviction is planned; 6 of 6 replicas are"),
    ):
        state = state_of([member("a", 4, 6)], heavy, works=there(heavy, a={"readyReplicas": ready}))
        told = explain_binding(state, next(iter(state.bindings)))
        assert (told.needs_somebody, told.headline[: len(said)]) == (ready < 6, said)


def test_a_size_beyond_all_nodes_is_told_by_what_they_hold() -> None:
    small = app("web", divided({"a": 1, "b": 1}), 2, a=1, b=1)
    state = state_of([member("a", 500, 1), member("b", 500, 1)], small)
    change = ImaginedChange(bindings=imagine_scale(state, next(iter(state.bindings)), 1_000_000))
    (only,) = what_if(state, change).applications
    assert (only.replicas, only.serves, only.missing) == (1_000_000, 220, 999_780), "110 Pods on each"


def test_what_leaves_a_cluster_makes_room_for_what_comes() -> None:
    one, other = app("one", divided({"a": 1}), 4, a=4), app("two", divided({"b": 1}), 4, b=4)
    state = state_of([member("a", 4, 4), member("b", 4, 4)], one, other)
    swapped = {
        key: msgspec.structs.replace(
            found, spec=msgspec.structs.replace(found.spec, placement=divided({"b" if found is one else "a": 1}))
        )
        for key, found in state.bindings.items()
    }
    told = what_if(state, ImaginedChange(bindings=swapped))
    assert [(each.after, each.serves) for each in told.applications] == [({"b": 4}, 4), ({"a": 4}, 4)]
    assert not told.wanting


def test_who_comes_last_waits_and_by_grades_replicas_go_where_nodes_have_room() -> None:
    """Six cores are free on three nodes, and there is room for only two replicas of two cores each."""
    made = member("b", 16, 10)
    grades = (AllocatableModeling(grade=1, count=2), AllocatableModeling(grade=2, count=1))
    summary = msgspec.structs.replace(made.status.resource_summary or ResourceSummary(), allocatable_modelings=grades)
    status = msgspec.structs.replace(made.status, resource_summary=summary, node_summary=NodeSummary(3, 3))
    graded = msgspec.structs.replace(
        made, spec=msgspec.structs.replace(made.spec, resource_models=GRADES), status=status
    )
    two = ReplicaRequirements(resource_request={"cpu": "2"})
    apps = [named(name, binding(divided({"a": 1, "b": 1}), 2, targets(a=2), replica_requirements=two)) for name in "xy"]
    told = what_if(state_of([member("a", 16, 8), graded], *apps), ImaginedChange(fails=frozenset("a")))
    assert [(each.workload.rpartition("/")[2], dict(each.waiting)) for each in told.applications] == [
        ("y", {"b": 2}),
        ("x", {}),
    ]


def test_a_copy_that_is_lost_counts_with_all_its_replicas() -> None:
    """A loss of 3, 2 and 2 replicas was told as one of 3."""
    only_a = [app(f"web{count}", duplicated("a"), count, a=count) for count in (3, 2)]
    both = app("both", duplicated("a", "b"), 2, a=2, b=2)
    state = state_of([member("a", 16, 7), member("b", 16, 2), member("c", 16)], *only_a, both)
    told = what_if(state, ImaginedChange(fails=frozenset("a")))
    assert [(each.replicas, each.missing, each.cores_missing) for each in told.wanting] == [(3, 3, 3.0), (2, 2, 2.0)]
    kept = of(told.applications, "both")
    assert (kept.fate, kept.serves, kept.replicas, kept.missing) == (Fate.KEPT, 2, 4, 0)
    (loss, *_) = survey(state, losses_by(state, "cluster")).losses
    assert (loss.loss, loss.missing, loss.nobody) == ("a", 5, 2)
    recorded = state.recorded
    now = FleetNow(
        recorded.as_of,
        recorded.clusters,
        recorded.bindings,
        (),
        recorded.works,
        recorded.brake,
        recorded.attention,
        recorded.settings,
    )
    assert [(each.wanting, each.missing) for each in coverage_of(now, ["a"])] == [(2, 5)]


@pytest.mark.parametrize(("updated", "asked", "serves"), [(8, 16, 8), (1, 2, 2)])
def test_what_runs_is_counted_where_members_have_scaled_by_themselves(updated: int, asked: int, serves: int) -> None:
    """Pods that a rollout makes beside the others are no replicas."""
    web = app("web", divided({"a": 1, "b": 1}), 2, a=1, b=1)
    figures = {name: {"replicas": 8, "updatedReplicas": updated, "readyReplicas": 8} for name in "ab"}
    state = state_of([member("a", 16, 8), member("b", 16, 8)], web, works=there(web, **figures))
    (only,) = what_if(state, ImaginedChange(fails=frozenset("a"))).applications
    assert (only.replicas, only.serves, bool(only.missing)) == (asked, serves, serves < asked)


def test_what_waits_in_an_overfull_cluster_already_does_not_serve_after_it_either() -> None:
    web = app("web", divided({"a": 1, "b": 1}), 8, a=2, b=6)
    works = there(web, b={"readyReplicas": 4})
    told = what_if(
        state_of([member("a", 4, 2), member("b", 4, 6)], web, works=works), ImaginedChange(fails=frozenset("a"))
    )
    (only,) = told.applications
    assert (only.after, only.serves, only.replicas) == ({"b": 8}, 4, 8)
