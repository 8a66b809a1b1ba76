"""Bindings by the clusters that concern them: found without going through those that are not concerned."""

from controller_runtime.identity import Key
from leeward.api.policy import ClusterAffinity
from leeward.controllers.scheduler.bindings import BindingKey
from leeward.controllers.scheduler.concerned import ConcernedBindings
from leeward.core.placement.concern import ClusterConcern
from tests.placements import cluster

NEAR, FAR = (ClusterAffinity(cluster_names=(name,)) for name in ("m1", "m2"))


def key(name: str) -> BindingKey:
    return BindingKey("resourcebindings", Key("default", name))


def names(found: ConcernedBindings, *clusters: str) -> list[str]:
    states = [*map(cluster, clusters)]
    meant = (key for keys in found.meaning(states) for key in keys)
    return [each.key.name for each in dict.fromkeys((*found.of(*states), *meant))]


def test_those_are_found_that_name_the_cluster_may_mean_it_or_are_concerned_by_all() -> None:
    found = ConcernedBindings()
    for number in range(1000):
        found.put(key(f"rests-{number}"), ClusterConcern(frozenset({f"other-{number}"})))
    found.put(key("there"), ClusterConcern(frozenset({"m1"})))
    found.put(key("means it"), ClusterConcern(affinities=(NEAR,)))
    found.put(key("means another"), ClusterConcern(affinities=(FAR,)))
    found.put(key("means all"), ClusterConcern(affinities=()))
    found.put(key("moves"), ClusterConcern(anywhere=True))
    assert names(found, "m1") == ["moves", "there", "means it", "means all"]
    assert names(found, "m1", "m1") == names(found, "m1")
    assert names(found, "other-7") == ["moves", "rests-7", "means all"]


def test_what_has_changed_is_found_by_what_concerns_it_now_and_what_is_gone_not_at_all() -> None:
    found = ConcernedBindings()
    found.put(key("a"), ClusterConcern(frozenset({"m1"}), anywhere=True, waits=True, affinities=(NEAR,)))
    found.put(key("b"), ClusterConcern(frozenset({"m1"})))
    assert [each.key.name for each in found.waiting] == ["a"]
    found.put(key("a"), ClusterConcern(frozenset({"m2"}), affinities=(FAR,)))
    assert (names(found, "m1"), names(found, "m2"), list(found.waiting)) == (["b"], ["a"], [])
    for name in ("a", "b", "never there"):
        found.put(key(name), None)
    assert names(found, "m1", "m2") == []


def test_what_means_a_cluster_when_the_search_begins_is_found_whatever_changes_meanwhile() -> None:
    found = ConcernedBindings()
    found.put(key("a"), ClusterConcern(affinities=(NEAR,)))
    found.put(key("b"), ClusterConcern(affinities=()))
    search = found.meaning([cluster("m2"), cluster("m1")])
    assert next(search) == ()
    for name in ("a", "b"):
        found.put(key(name), ClusterConcern(frozenset({"m1"})))
    assert [*search] == [(key("a"),), (key("b"),)]
