"""Works that a deleted binding has left to the next one of its template."""

from typing import Any

import msgspec
import pytest

from kubeapi.meta import ObjectMeta
from leeward.api.names import APPLIED_PLACEMENT_ANNOTATION, BINDING_ID_LABEL, execution_space
from leeward.api.policy import ClusterAffinityTerm, Placement
from leeward.api.work import Binding, Work, WorkloadTemplate, WorkSpec
from leeward.core.left_works import LEFT_ANNOTATION, awaits_placement, is_left_over, replicas_left, with_left_copies
from tests.builders import at, binding, cluster, fleet, targets

CLAIM = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}
SECRET = {**CLAIM, "kind": "Secret"}
TERMS = tuple(
    ClusterAffinityTerm(affinity_name=name, cluster_names=names)
    for name, names in (("home", ("member1",)), ("away", ("member2", "member3")))
)


def left(name: str, work_id: str = "earlier", manifest: Any = CLAIM, *, going: bool = False) -> Work:
    labels = {BINDING_ID_LABEL: work_id} if work_id else {}
    deleted = at(0) if going else None
    metadata = ObjectMeta(name="data", namespace=execution_space(name), labels=labels, deletion_timestamp=deleted)
    return Work(metadata=metadata, spec=WorkSpec(workload=WorkloadTemplate((manifest,))))


def new(*, placed: bool = False, work_id: str = "own") -> Binding:
    """A binding that was made anew."""
    made = binding(Placement(cluster_affinities=TERMS), 0)
    metadata = msgspec.structs.replace(
        made.metadata,
        labels={BINDING_ID_LABEL: work_id} if work_id else {},
        annotations={APPLIED_PLACEMENT_ANNOTATION: "{}"} if placed else {},
    )
    return msgspec.structs.replace(made, metadata=metadata)


@pytest.mark.parametrize(
    ("work", "work_id", "is_left"),
    [
        (left("member1"), "own", True),
        (left("member1", ""), "own", True),
        (left("member1"), "", True),
        (left("member1", "own"), "own", False),
        (left("member1", ""), "", True),
        (left("member1", going=True), "own", False),
        (left("member1", manifest=SECRET), "own", True),
    ],
    ids=["another id", "no id", "its own is not known", "its own", "neither has one", "going", "nobody lives in it"],
)
def test_s12_what_carries_another_binding_id_was_left_by_an_earlier_binding(
    work: Work, work_id: str, *, is_left: bool
) -> None:
    assert is_left_over(work, new(work_id=work_id)) is is_left


@pytest.mark.parametrize(
    ("names", "found", "term"),
    [
        (("member3", "member2"), targets(member2=0, member3=0), "away"),
        (("member1",), targets(member1=0), "home"),
        (("member1", "member2"), targets(member1=0, member2=0), ""),
        (("member2", "gone", "unjoined"), targets(member2=0), "away"),
        (("gone",), (), ""),
    ],
)
def test_s12_a_binding_that_was_never_placed_begins_where_the_copies_are(
    names: tuple[str, ...], found: Any, term: str
) -> None:
    leaving = cluster("unjoined")
    leaving = msgspec.structs.replace(leaving, metadata=ObjectMeta(name="unjoined", deletion_timestamp=at(0)))
    clusters = fleet(*map(cluster, ("member1", "member2", "member3")), leaving)
    works = {name: left(name) for name in names}
    begun = with_left_copies(new(), works, clusters)
    assert (begun.spec.clusters, begun.status.scheduler_observing_affinity_name or "") == (found, term)
    assert with_left_copies(new(placed=True), works, clusters) == new(placed=True)


def marked(text: str) -> Work:
    work = left("member1", manifest=SECRET)
    metadata = msgspec.structs.replace(work.metadata, uid="its-own", annotations={LEFT_ANNOTATION: text})
    return msgspec.structs.replace(work, metadata=metadata)


@pytest.mark.parametrize(
    ("text", "replicas"),
    [("6/its-own", 6), ("0/its-own", 0), ("6/of-another", None), ("/its-own", None), ("-1/its-own", None), ("", None)],
)
def test_s5_only_the_work_itself_that_was_left_says_with_how_many_replicas(text: str, replicas: int | None) -> None:
    assert replicas_left(marked(text)) == replicas


def test_s1_a_binding_begins_with_what_was_assigned_and_not_with_what_an_override_has_made_of_it() -> None:
    clusters = fleet(cluster("member1"))
    begun = with_left_copies(new(), {"member1": marked("6/its-own")}, clusters)
    assert begun.spec.clusters == targets(member1=6)


@pytest.mark.parametrize(
    ("manifest", "placed", "names", "awaits"),
    [
        (SECRET, False, {}, True),
        (SECRET, True, {}, False),
        (SECRET, False, {"member2": 1}, False),
        (CLAIM, True, {"member2": 1}, True),
    ],
    ids=["nothing is placed", "by us", "by another scheduler", "others live in it"],
)
def test_s1_a_left_work_stays_until_the_next_binding_is_placed(
    manifest: Any, names: dict[str, int], *, placed: bool, awaits: bool
) -> None:
    made = new(placed=placed)
    made = msgspec.structs.replace(made, spec=msgspec.structs.replace(made.spec, clusters=targets(**names)))
    assert awaits_placement(left("member1", manifest=manifest), made) is awaits
