"""Works that a deleted binding has left to the next one of its template."""

from typing import Any

import msgspec
import pytest

from kubeapi.meta import ObjectMeta
from leeward.api.names import APPLIED_PLACEMENT_ANNOTATION, BINDING_ID_LABEL, execution_space
from leeward.api.policy import ClusterAffinityTerm, Placement
from leeward.api.work import Binding, Work, WorkloadTemplate, WorkSpec
from leeward.core.left_works import is_left_over, with_left_copies
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
        (left("member1", manifest=SECRET), "own", False),
    ],
    ids=["another id", "no id", "its own is not known", "its own", "neither has one", "going", "nobody lives in it"],
)
def test_s12_what_others_live_in_and_carries_another_binding_id_was_left_by_an_earlier_binding(
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
