"""Checkers on journals that were written by hand: each finds what it is there for, and nothing in what is right."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec
import pytest

from leeward.api.cluster import Cluster, ResourceSummary
from leeward.api.codec import encode
from leeward.api.core import Taint
from leeward.api.meta import Condition, Manifest
from leeward.api.names import DOUBTFUL_CONDITION, execution_space
from leeward.api.work import AggregatedStatusItem, GracefulEvictionTask, ResourceBinding, ResourceBindingStatus
from leeward.apiserver.store import Record
from leeward.client import Request
from leeward.manager.timing import Timing
from leeward.sim.histories.checkers import CHECKERS, Violation, scene_of
from leeward.sim.histories.checkers.owners import foreign_fields
from leeward.sim.histories.model import AnyStep, ControllersAreKilled, History, MemberLies, MemberStops, Mode
from leeward.sim.histories.truth import HOME, Change, Truth
from leeward.sim.journal import Journal
from tests.builders import at, binding, cluster, divided, targets, work

FLEET: tuple[tuple[str, Mode], ...] = (("m1", "Push"), ("m2", "Push"))
M1_AND_M2 = divided({"m1": 1, "m2": 1})


class Notebook:
    """A journal that is written line by line, from two clusters on, and what all checkers say of it."""

    def __init__(self, *steps: AnyStep, evictions_per_second: float = 0.0) -> None:
        self.now = 0.0
        self.violations: list[Violation] = []
        journal = self._journal = Journal(lambda: self.now)
        truth = Truth(journal)
        history = History(seed=0, members=FLEET, steps=steps, evictions_per_second=evictions_per_second)
        scene = scene_of(history, Timing.karmada(), truth)
        self._checkers = [checker(scene) for checker in CHECKERS]
        self._revision = 0
        truth.on_change(self._look)
        for name, _ in FLEET:
            self.write(0, cluster(name))

    @property
    def found(self) -> set[str]:
        return {violation.invariant for violation in self.violations}

    def write(self, seconds: float, obj: Any, place: str = HOME) -> None:
        self.now = seconds
        self._revision += 1
        record = Record(_key(obj), self._revision, encode(obj), deleted=False)
        self._journal.write(place, record)

    def _look(self, change: Change) -> None:
        for checker in self._checkers:
            self.violations.extend(checker.look(change))


def _key(obj: Any) -> str:
    if isinstance(obj, dict):
        return f"/apps/deployments/default/{cast(Manifest, obj)['metadata']['name']}"
    prefix = {"Cluster": "/cluster.karmada.io/clusters/", "ResourceBinding": "/work.karmada.io/resourcebindings/"}
    kind = type(obj).__name__
    return f"{prefix.get(kind, '/work.karmada.io/works/')}{obj.metadata.namespace}/{obj.metadata.name}"


def copy_of(ready: int, annotations: Mapping[str, str] | None = None) -> Manifest:
    identity = {"work.karmada.io/name": "nginx", "work.karmada.io/namespace": execution_space("m2")}
    return {
        "metadata": {"name": "nginx", "annotations": {**identity, **(annotations or {})}},
        "spec": {"replicas": ready},
        "status": {"readyReplicas": ready},
    }


def saying(placed: ResourceBinding, **ready: int) -> ResourceBinding:
    items = tuple(AggregatedStatusItem(name, status={"readyReplicas": count}) for name, count in ready.items())
    return msgspec.structs.replace(placed, status=ResourceBindingStatus(aggregated_status=items))


def leaving(placed: ResourceBinding, name: str, seconds: float, **replicas: int) -> ResourceBinding:
    task = GracefulEvictionTask(name, "TaintUntolerated", "TaintManager", creation_timestamp=at(seconds))
    spec = msgspec.structs.replace(placed.spec, clusters=targets(**replicas), graceful_eviction_tasks=(task,))
    return msgspec.structs.replace(placed, spec=spec)


def tainted(name: str) -> Cluster:
    return cluster(name, taints=(Taint(key="example.com/gone", effect="NoExecute"),))


@pytest.mark.parametrize(("spaced", "found"), [(21.0, set[str]()), (12.0, {"C4"})])
def test_c4_evictions_are_as_far_apart_as_the_rate_says(spaced: float, found: set[str]) -> None:
    notebook = Notebook(evictions_per_second=0.05)
    notebook.write(1, tainted("m1"))
    for number, name in enumerate(("one", "two", "three")):
        placed = binding(M1_AND_M2, 2, targets(m1=1, m2=1))
        placed = msgspec.structs.replace(placed, metadata=msgspec.structs.replace(placed.metadata, name=name))
        seconds = 10 + number * spaced
        notebook.write(seconds, placed)
        notebook.write(seconds, leaving(placed, "m1", seconds, m2=2))
    assert notebook.found == found


@pytest.mark.parametrize(("applied_after", "found"), [(1.0, set[str]()), (9.0, {"L4"})])
def test_l4_a_work_of_a_calm_member_is_tried_at_once_while_another_member_is_down(
    applied_after: float, found: set[str]
) -> None:
    notebook = Notebook(MemberStops(at=50, lasts=60, member="m1"))
    notebook.write(60, work("m2", 1, applied=0))
    notebook.write(60 + applied_after, work("m2", 1, applied=1))
    assert notebook.found == found


def test_l4_a_calm_member_never_looks_dead() -> None:
    notebook = Notebook(MemberStops(at=50, lasts=60, member="m1"))
    for name in ("m1", "m2"):
        notebook.write(40, cluster(name))
        notebook.write(80, cluster(name, ready="False"))
    assert [v.message.split(",")[0] for v in notebook.violations] == ["nothing is wrong with m2"]


def test_l4_nobody_is_calm_while_the_controllers_are_down() -> None:
    notebook = Notebook(ControllersAreKilled(at=50, lasts=60))
    notebook.write(60, work("m2", 1, applied=0))
    notebook.write(100, work("m2", 1, applied=1))
    assert notebook.found == set()


@pytest.mark.parametrize(("said", "found"), [(2, set[str]()), (3, {"S10"})])
def test_s10_what_is_said_of_an_honest_member_is_what_it_ran(said: int, found: set[str]) -> None:
    notebook = Notebook(MemberLies(at=50, lasts=60, member="m1"))
    notebook.write(1, copy_of(2), "m2")
    placed = binding(M1_AND_M2, 4, targets(m1=2, m2=2))
    notebook.write(2, placed)
    notebook.write(3, saying(placed, m1=1_000_000, m2=said))
    assert notebook.found == found


@pytest.mark.parametrize("amount", ["-5", "9300E"])
def test_s10_an_absurd_amount_does_not_get_through(amount: str) -> None:
    notebook = Notebook(MemberLies(at=50, lasts=60, member="m1"))
    liar = cluster("m1")
    summary = ResourceSummary(allocatable={"example.com/gpu": amount})
    notebook.write(
        60, msgspec.structs.replace(liar, status=msgspec.structs.replace(liar.status, resource_summary=summary))
    )
    assert notebook.found == {"S10"}


def test_s10_an_honest_member_is_not_doubted_for_the_lies_of_another() -> None:
    notebook = Notebook(MemberLies(at=50, lasts=60, member="m1"))
    for name in ("m1", "m2"):
        honest = cluster(name)
        conditions = (*honest.status.conditions, Condition(DOUBTFUL_CONDITION, "True", "AbsurdNumbers"))
        status = msgspec.structs.replace(honest.status, conditions=conditions)
        notebook.write(60, msgspec.structs.replace(honest, status=status))
    assert [v.message.partition(" ")[0] for v in notebook.violations] == ["m2"]


def test_s9_one_write_changes_the_fields_of_one_owner() -> None:
    placed = binding(M1_AND_M2, 4, targets(m1=2, m2=2))
    scaled = msgspec.structs.replace(placed, spec=msgspec.structs.replace(placed.spec, replicas=6))
    moved = msgspec.structs.replace(scaled, spec=msgspec.structs.replace(scaled.spec, clusters=targets(m1=3, m2=3)))
    right, wrong = Notebook(), Notebook()
    for number, state in enumerate((placed, scaled, moved)):
        right.write(number, state)
    for number, state in enumerate((placed, moved)):
        wrong.write(number, state)
    assert (right.found, wrong.found) == (set(), {"S9"})


def test_s9_what_a_member_has_noted_survives() -> None:
    notebook = Notebook()
    notebook.write(1, copy_of(2, {"deployment.kubernetes.io/revision": "1"}), "m2")
    notebook.write(2, copy_of(2), "m2")
    assert notebook.found == {"S9"}


@pytest.mark.parametrize(
    ("party", "path", "patch", "foreign"),
    [
        ("agent-m1", "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m1/works/w", {"spec": {"a": 1}}, ["spec.a"]),
        ("agent-m1", "/apis/cluster.karmada.io/v1alpha1/clusters/m1", {"spec": {"taints": []}}, ["spec.taints"]),
        ("controllers", "/apis/cluster.karmada.io/v1alpha1/clusters/m1", {"spec": {"taints": []}}, []),
        (
            "controllers",
            "/apis/apps/v1/namespaces/default/deployments/web",
            {"spec": {"replicas": 1}},
            ["spec.replicas"],
        ),
        ("controllers", "/apis/apps/v1/namespaces/default/deployments/web/status", {"status": {"replicas": 1}}, []),
        ("controllers", "/api/v1/namespaces/default/configmaps/web", {"data": {"a": "b"}}, ["data.a"]),
        ("controllers", "/api/v1/namespaces/karmada-system/configmaps/leeward-brake", {"data": {"a": "b"}}, []),
        ("user", "/apis/apps/v1/namespaces/default/deployments/web", {"spec": {"replicas": 1}}, []),
    ],
)
def test_s9_a_party_patches_what_it_owns(party: str, path: str, patch: Manifest, foreign: Sequence[str]) -> None:
    request = Request("PATCH", path, headers={"user-agent": party}, body=encode(patch))
    assert foreign_fields(request) == list(foreign)


@pytest.mark.parametrize(("taint", "found"), [(tainted("m1"), set[str]()), (cluster("m1"), {"S5"})])
def test_s5_an_eviction_for_a_taint_begins_where_there_is_one(taint: Cluster, found: set[str]) -> None:
    notebook = Notebook()
    placed = binding(M1_AND_M2, 2, targets(m1=1, m2=1))
    notebook.write(1, taint)
    notebook.write(5, placed)
    notebook.write(5, leaving(placed, "m1", 5, m2=2))
    assert notebook.found == found
