"""Objects that a dependant needs, in which clusters, and what it may not name."""

from typing import Any

import msgspec
import pytest

from kubeapi.codec import decode_any
from kubeapi.meta import LabelSelector, ObjectMeta
from leeward.api.cluster import Cluster
from leeward.api.interpreter_config import DependentObjectReference
from leeward.api.names import DEPENDENCIES_ANNOTATION, DEPENDENCIES_DISTRIBUTOR_FINALIZER
from leeward.api.policy import ClusterAffinityTerm, Placement
from leeward.api.work import (
    BindingResource,
    GracefulEvictionTask,
    ResourceBinding,
    TargetCluster,
)
from leeward.core.dependencies.requirements import (
    clusters_with_data,
    dependency_problem,
    follows,
    is_done_with,
    is_named,
    marks_patch,
    names_own_of_each_cluster,
    release_patch,
    required_clusters,
)
from leeward.core.propagation.reach import Reach
from tests.builders import NOW, at, binding, cluster, divided, targets, work

CLAIM = BindingResource(api_version="v1", kind="PersistentVolumeClaim", namespace="default", name="data")
SETTINGS = ("v1", "ConfigMap", "settings")


def reference(kind: str = "ConfigMap", namespace: str = "default", name: str = "a", **fields: Any) -> Any:
    fields = {"api_version": "v1", "kind": kind, "namespace": namespace, "name": name, **fields}
    return DependentObjectReference(**fields)


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("ConfigMap", "a", True),
        ("ConfigMap", "b", False),
        ("Secret", "a", True),
        ("Secret", "b", True),
        ("Job", "a", False),
    ],
)
def test_what_is_selected_by_labels_may_be_any_of_its_kind(kind: str, name: str, expected: bool) -> None:
    named = [reference(), reference("Secret", name="")]
    assert is_named(kind, name, named) is expected


def task(name: str, purge_mode: Any = "Gracefully") -> GracefulEvictionTask:
    return GracefulEvictionTask(
        from_cluster=name, reason="TaintUntolerated", producer="TaintManager", purge_mode=purge_mode, replicas=1
    )


def dependant(*tasks: GracefulEvictionTask, deleted: bool = False, **replicas: int) -> ResourceBinding:
    made = binding(divided({"a": 1, "b": 1, "c": 1}), replicas=2, clusters=targets(**replicas))
    return msgspec.structs.replace(
        made,
        metadata=msgspec.structs.replace(made.metadata, deletion_timestamp=NOW if deleted else None),
        spec=msgspec.structs.replace(made.spec, graceful_eviction_tasks=tasks),
    )


def names(clusters: tuple[TargetCluster, ...]) -> dict[str, int]:
    return {each.name: each.replicas for each in clusters}


def test_an_old_copy_that_is_kept_keeps_what_it_needs_and_one_that_is_not_only_while_its_work_is_there() -> None:
    """Holds: S1."""
    assert names(required_clusters(dependant(task("a"), b=2), ())) == {"b": 2, "a": 0}
    assert names(required_clusters(dependant(task("a", "Directly"), b=2), ())) == {"b": 2}
    assert names(required_clusters(dependant(task("a", "Directly"), b=2), ["a"])) == {"b": 2, "a": 0}
    assert names(required_clusters(dependant(b=2), ["c", "b"])) == {"b": 2, "c": 0}
    assert required_clusters(dependant(task("a"), a=1), ["a"]) == targets(a=1), "each cluster is named once"


def test_a_dependant_that_is_deleted_needs_what_its_works_still_need() -> None:
    assert names(required_clusters(dependant(task("a"), b=2, deleted=True), ["b"])) == {"b": 0}
    assert required_clusters(dependant(b=2, deleted=True), ()) == ()


@pytest.mark.parametrize(
    ("named", "told"),
    [
        (
            reference(namespace="victim"),
            'ConfigMap victim/a does not follow: Invalid value: "victim": must be "default"',
        ),
        (reference(namespace=""), "ConfigMap a does not follow: Invalid value"),
        (reference("Namespace"), "has no namespace"),
        (reference("ClusterRole", api_version="rbac.authorization.k8s.io/v1"), "has no namespace"),
        (reference("Work", api_version="work.karmada.io/v1alpha1"), "never propagated"),
        (reference(name="../b"), "must be the name of an object"),
        (reference(name=""), "ConfigMap default does not follow: give it either a name or a labelSelector"),
        (
            reference("Namespace", name="../b"),
            "only a ClusterResourceBinding may refer to it; Invalid value: ",
        ),
        (reference(label_selector=LabelSelector()), "give it either a name or a labelSelector"),
    ],
)
def test_a_dependant_reaches_its_own_namespace_and_what_may_be_propagated(named: Any, told: str) -> None:
    assert told in dependency_problem(named, "default", Reach())


def test_what_each_cluster_makes_for_itself_does_not_follow() -> None:
    assert names_own_of_each_cluster(reference(name="kube-root-ca.crt"))
    assert not names_own_of_each_cluster(reference(name="settings"))
    assert not names_own_of_each_cluster(reference("Secret", name="kube-root-ca.crt"))


def test_only_who_asks_for_it_is_followed() -> None:
    for asked in (True, False, None):
        made = dependant(b=2)
        made = msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, propagate_deps=asked))
        assert follows(made) is bool(asked)


def test_what_is_in_reach_may_follow() -> None:
    assert dependency_problem(reference(), "default", Reach()) == ""
    assert dependency_problem(reference(name="", label_selector=LabelSelector()), "default", Reach()) == ""
    for namespace in ("karmada-system", "karmada-es-a", "kube-system"):
        assert dependency_problem(reference(namespace=namespace), namespace, Reach()), "nothing of it is propagated"


def kept(owner: ResourceBinding | None, *clusters: str, holding: tuple[str, ...] = (), without: str = "") -> list[str]:
    fleet: dict[str, Cluster] = {name: cluster(name) for name in "abc" if name != without}
    return [each.name for each in clusters_with_data(map(TargetCluster, clusters), owner, holding, fleet)]


def test_a_claim_stays_where_data_is_as_long_as_the_placement_lets_the_cluster_in() -> None:
    """Holds: S12."""
    assert kept(dependant(b=2), "a", "b") == ["a", "b"]
    narrow = msgspec.structs.replace(dependant(b=2))
    narrow = msgspec.structs.replace(narrow, spec=msgspec.structs.replace(narrow.spec, placement=divided({"b": 1})))
    assert kept(narrow, "a", "b") == ["b"], "the user has said so"
    assert kept(dependant(b=2, deleted=True), "a", "b") == ["a", "b"], "a deleted workload takes no data along"
    assert kept(None, "a", "b") == ["a", "b"]


def test_a_claim_stays_where_any_term_of_the_placement_lets_it() -> None:
    """Holds: S12."""
    terms = tuple(ClusterAffinityTerm(affinity_name=name, cluster_names=(name,)) for name in "ab")
    owner = dependant(b=2)
    placement = Placement(cluster_affinities=terms)
    owner = msgspec.structs.replace(owner, spec=msgspec.structs.replace(owner.spec, placement=placement))
    assert kept(owner, "a", "b", "c") == ["a", "b"]


def test_a_claim_in_a_cluster_that_is_not_listed_stays_as_long_as_it_has_a_work() -> None:
    assert kept(dependant(b=2), "a", "b", holding=("a",), without="a") == ["a", "b"]
    for owner in (dependant(b=2), None):
        assert kept(owner, "a", "b", without="a") == ["b"], "unjoining has taken the Work away"


def test_a_claim_leaves_a_cluster_that_leaves() -> None:
    leaving = cluster("a")
    leaving = msgspec.structs.replace(
        leaving, metadata=msgspec.structs.replace(leaving.metadata, deletion_timestamp=at(0))
    )
    alive: dict[str, Cluster] = {"a": leaving, "b": cluster("b")}
    for owner in (dependant(b=2), None):
        stays = clusters_with_data(map(TargetCluster, "ab"), owner, ("a", "b"), alive)
        assert [each.name for each in stays] == ["b"]


def test_a_policy_may_let_claims_go() -> None:
    owner = dependant(b=2)
    annotations = {"leeward.dev/evict-shared-resources": "true"}
    owner = msgspec.structs.replace(owner, metadata=msgspec.structs.replace(owner.metadata, annotations=annotations))
    assert kept(owner, "a", "b") == []


def test_a_copy_is_done_with_an_object_when_it_runs_without_it() -> None:
    """Holds: S1."""
    healthy, broken = work("a", ready=2), work("a", ready=1)
    settings, others = [reference(name="settings")], [reference(name="next")]
    assert is_done_with(None, [], cluster("a"), 2, SETTINGS), "there is no copy"
    assert not is_done_with(healthy, settings, cluster("a"), 2, SETTINGS)
    assert is_done_with(healthy, others, cluster("a"), 2, SETTINGS)
    assert not is_done_with(broken, others, cluster("a"), 2, SETTINGS), "a Pod of before may still run"
    assert not is_done_with(healthy, others, cluster("a", ready="Unknown"), 2, SETTINGS)
    assert not is_done_with(healthy, others, None, 2, SETTINGS)


def test_the_marks_of_a_dependant_are_set_once_and_taken_off() -> None:
    owner = dependant(b=2)
    patch = marks_patch(owner, [reference()])
    text = patch["metadata"]["annotations"][DEPENDENCIES_ANNOTATION]
    assert decode_any(text.encode()) == [{"apiVersion": "v1", "kind": "ConfigMap", "namespace": "default", "name": "a"}]
    metadata = ObjectMeta(
        annotations={DEPENDENCIES_ANNOTATION: text}, finalizers=tuple(patch["metadata"]["finalizers"])
    )
    marked = msgspec.structs.replace(owner, metadata=metadata)
    assert marks_patch(marked, [reference()]) == {}
    released = release_patch(marked)["metadata"]
    assert released["annotations"] == {DEPENDENCIES_ANNOTATION: None}
    assert DEPENDENCIES_DISTRIBUTOR_FINALIZER not in released["finalizers"]
    assert release_patch(owner) == {}
