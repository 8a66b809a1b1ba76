"""Checkers on journals that were written by hand: each finds what it is there for, and nothing in what is right."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec
import pytest

from kubeapi.codec import encode
from kubeapi.core import Taint
from kubeapi.meta import Manifest, format_time
from kubeclient import Request
from kubeclient.caller import HEADER
from kubecluster.journal import Journal
from kubeserver.store import Record
from leeward.api.cluster import Cluster, ResourceSummary
from leeward.api.meta import Condition
from leeward.api.names import (
    APPLIED_PLACEMENT_ANNOTATION,
    DOUBTFUL_CONDITION,
    EVICTION_HELD_CONDITION,
    FAILING_CONDITION,
    NOT_SEEN_SINCE,
    execution_space,
)
from leeward.api.work import AggregatedStatusItem, GracefulEvictionTask, ResourceBinding, ResourceBindingStatus, Work
from leeward.manager.timing import Timing
from simulator.histories.checkers import (
    CHECKERS,
    TIMED,
    CopiesChecker,
    RestoresChecker,
    StoresChecker,
    Violation,
    scene_of,
)
from simulator.histories.checkers.owners import foreign_conditions, foreign_fields
from simulator.histories.ground_truth import HOME, Change, GroundTruth
from simulator.histories.model import (
    AgentIsKilled,
    AnyStep,
    ControllersAreKilled,
    History,
    HubIsRestored,
    MemberComesBackOld,
    MemberLies,
    MemberStops,
    Mode,
    Storm,
)
from tests.builders import at, binding, cluster, divided, targets, work

FLEET: tuple[tuple[str, Mode], ...] = (("m1", "Push"), ("m2", "Push"))
M1_AND_M2 = divided({"m1": 1, "m2": 1})
STORM_TO_M2 = Storm(at=100, lasts=300, who="controllers", whom="m2", rate=0.7, mishaps=("lost",))


class Notebook:
    """A journal that is written line by line, from two clusters on, and what all checkers say of it."""

    def __init__(self, *steps: AnyStep, evictions_per_second: float = 0.0) -> None:
        self.now = 0.0
        self.violations: list[Violation] = []
        journal = self._journal = Journal(lambda: self.now)
        truth = GroundTruth(journal)
        history = History(seed=0, members=FLEET, steps=steps, evictions_per_second=evictions_per_second)
        scene = self.scene = scene_of(history, Timing.karmada(), truth)
        self._timed = [checker(scene) for checker in TIMED]
        outlasting = (CopiesChecker, StoresChecker, RestoresChecker)
        self._checkers = [*self._timed, *(checker(scene) for checker in (*CHECKERS, *outlasting))]
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
        for checker in self._timed:
            self.violations.extend(checker.overdue(seconds))

    def run(self, seconds: float, ready: int, member: str) -> None:
        """A copy of nginx with so many Pods that are ready."""
        self.write(seconds, copy_of(ready, member=member), member)
        for number in range(ready):
            self.write(seconds, ready_pod(f"nginx-{number}"), member)

    def _look(self, change: Change) -> None:
        for checker in self._checkers:
            self.violations.extend(checker.look(change))


def _key(obj: Any) -> str:
    if isinstance(obj, dict):
        manifest = cast(Manifest, obj)
        kind = "//pods" if manifest.get("kind") == "Pod" else "/apps/deployments"
        return f"{kind}/default/{manifest['metadata']['name']}"
    prefix = {"Cluster": "/cluster.karmada.io/clusters/", "ResourceBinding": "/work.karmada.io/resourcebindings/"}
    kind = type(obj).__name__
    return f"{prefix.get(kind, '/work.karmada.io/works/')}{obj.metadata.namespace}/{obj.metadata.name}"


def copy_of(ready: int, annotations: Mapping[str, str] | None = None, member: str = "m2") -> Manifest:
    identity = {"work.karmada.io/name": "nginx", "work.karmada.io/namespace": execution_space(member)}
    return {
        "metadata": {"name": "nginx", "annotations": {**identity, **(annotations or {})}},
        "spec": {"replicas": ready},
        "status": {"readyReplicas": ready},
    }


def ready_pod(name: str) -> Manifest:
    return {
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "nginx"}},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }


def of_nginx(placed: Work) -> Work:
    owner = {"resourcebinding.karmada.io/name": "nginx-deployment", "resourcebinding.karmada.io/namespace": "default"}
    metadata = msgspec.structs.replace(placed.metadata, annotations=owner)
    return msgspec.structs.replace(placed, metadata=metadata)


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


@pytest.mark.parametrize(("after", "found"), [(41.0, set[str]()), (21.0, {"C4"})])
def test_c4_what_leaves_two_clusters_at_once_takes_two_turns(after: float, found: set[str]) -> None:
    notebook = Notebook(evictions_per_second=0.05)
    for name in ("m1", "m2"):
        notebook.write(1, tainted(name))
    notebook.write(1, cluster("m3"))
    one = binding(divided({"m1": 1, "m2": 1, "m3": 1}), 2, targets(m1=1, m2=1))
    for name, seconds in (("one", 10), ("two", 10 + after)):
        named = msgspec.structs.replace(one, metadata=msgspec.structs.replace(one.metadata, name=name))
        notebook.write(10, named)
        left = [leaving(named, cluster_left, seconds, m3=2) for cluster_left in ("m1", "m2")]
        tasks = tuple(task for each in left for task in each.spec.graceful_eviction_tasks)
        spec = msgspec.structs.replace(left[0].spec, graceful_eviction_tasks=tasks)
        notebook.write(seconds, msgspec.structs.replace(named, spec=spec))
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


@pytest.mark.parametrize(("stays", "found"), [(True, set[str]()), (False, {"C1"})])
def test_c1_only_who_went_on_over_a_restore_writes_again_what_lasts_since_before(stays: bool, found: set[str]) -> None:
    notebook = Notebook(HubIsRestored(at=10, lasts=90, controllers_stay=stays))
    notebook.write(50, cluster("m1", ready="False"))
    notebook.scene.restored_at = 100
    notebook.write(102, cluster("m1"))
    notebook.write(110, cluster("m1", ready="False"))
    assert notebook.found == found


def test_controllers_that_begin_late_follow_a_restored_control_plane_from_then_on() -> None:
    restored = HubIsRestored(at=10, lasts=90, down_seconds=20, controllers_after=40)
    assert (restored.down_at, restored.back_at, restored.ends_at) == (80, 100, 140)
    scene = Notebook(restored).scene
    assert scene.followed_at == -math.inf
    scene.restored_at = 100
    assert scene.followed_at == 140


@pytest.mark.parametrize(("said", "found"), [(2, set[str]()), (3, {"S10"})])
def test_s10_what_is_said_of_an_honest_member_is_what_it_ran(said: int, found: set[str]) -> None:
    notebook = Notebook(MemberLies(at=50, lasts=60, member="m1"))
    notebook.run(1, 2, "m2")
    placed = binding(M1_AND_M2, 4, targets(m1=2, m2=2))
    notebook.write(2, placed)
    notebook.write(3, saying(placed, m1=1_000_000, m2=said))
    assert notebook.found == found


@pytest.mark.parametrize(("seen_at", "found"), [(110, set[str]()), (500, {"S10"})])
def test_s10_what_is_said_of_a_member_that_is_not_seen_is_what_it_ran_when_it_was(
    seen_at: int, found: set[str]
) -> None:
    """A script that makes sense again gives the status of what was read long before (seed 50252)."""
    notebook = Notebook()
    notebook.run(1, 2, "m2")
    notebook.write(2, binding(M1_AND_M2, 4, targets(m1=2, m2=2)))
    notebook.write(100, {**ready_pod("nginx-1"), "status": {}}, "m2")
    item = AggregatedStatusItem("m2", status={"readyReplicas": 2, NOT_SEEN_SINCE: format_time(at(seen_at))})
    placed = binding(M1_AND_M2, 4, targets(m1=2, m2=2))
    notebook.write(600, msgspec.structs.replace(placed, status=ResourceBindingStatus(aggregated_status=(item,))))
    assert notebook.found & {"S10"} == found


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


@pytest.mark.parametrize(("copies_of_m1", "found"), [(0, {"S1"}), (1, set[str]())])
def test_s1_an_eviction_is_taken_back_at_the_cost_of_ready_copies_only_where_as_many_are_ready_there(
    copies_of_m1: int, found: set[str]
) -> None:
    """The cluster came back with its copy unharmed (seed 1566)."""
    notebook = Notebook(STORM_TO_M2)
    if copies_of_m1:
        notebook.write(0, of_nginx(work("m1", 1)))
        notebook.run(0, copies_of_m1, "m1")
    take_the_eviction_from_m1_back(notebook)
    assert notebook.found == found


def take_the_eviction_from_m1_back(notebook: Notebook) -> None:
    """m2 was asked for both replicas, has them ready, and is to keep one of them."""
    notebook.write(0, tainted("m1"))
    notebook.run(0, 2, "m2")
    notebook.write(0, of_nginx(work("m2", 2)))
    placed = binding(M1_AND_M2, 2, targets(m1=1, m2=1))
    notebook.write(300, leaving(placed, "m1", 200, m2=2))
    notebook.write(300, cluster("m1"))
    notebook.write(300, placed)


@pytest.mark.parametrize(
    ("mode", "killed_at", "forgotten"),
    [("Pull", 0.0, 210.0), ("Pull", 400.0, 415.0), ("Push", 0.0, -math.inf)],
)
def test_l3_what_was_removed_since_the_last_restart_is_remembered(
    mode: Mode, killed_at: float, forgotten: float
) -> None:
    """The member comes back with an old backup; its agent is killed for five seconds."""
    steps: list[AnyStep] = [MemberComesBackOld(at=100, lasts=100, member="m1")]
    if killed_at:
        steps.append(AgentIsKilled(at=killed_at, lasts=5, member="m1"))
    history = History(seed=0, members=(("m1", mode),), steps=tuple(steps))
    scene = scene_of(history, Timing.karmada(), GroundTruth(Journal(lambda: 0.0)))
    assert scene.forgotten == {"m1": forgotten}


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


def scheduled(generation: int) -> ResourceBinding:
    condition = Condition(type="Scheduled", status="True", reason="Success", observed_generation=generation)
    placed = binding(M1_AND_M2, 2, targets(m1=1, m2=1))
    return msgspec.structs.replace(placed, status=ResourceBindingStatus(conditions=(condition,)))


def test_s9_who_writes_another_condition_does_not_write_an_old_one_of_the_scheduler() -> None:
    right, wrong = Notebook(), Notebook()
    for seconds, generations in enumerate(((1, 2), (2, 1))):
        right.write(seconds, scheduled(generations[0]))
        wrong.write(seconds, scheduled(generations[1]))
    assert (right.found, wrong.found) == (set(), {"S9"})


def test_s2_what_is_carried_out_is_the_placement_that_is_there() -> None:
    applied, other = (encode(placement).decode() for placement in (M1_AND_M2, divided({"m1": 2, "m2": 1})))
    placed = binding(M1_AND_M2, 2, targets(m1=1, m2=1))
    for annotation, found in ((applied, set[str]()), (other, {"S2"})):
        metadata = msgspec.structs.replace(placed.metadata, annotations={APPLIED_PLACEMENT_ANNOTATION: annotation})
        notebook = Notebook()
        notebook.write(1, msgspec.structs.replace(placed, metadata=metadata))
        assert notebook.found == found


LOST = MemberStops(at=100, lasts=9_000, member="m2")
DUE = 100 + 60 + 300 + 300
"""Noticed, tainted, tolerated, by Karmada's timings."""
HELD = ResourceBindingStatus(conditions=(Condition(type=EVICTION_HELD_CONDITION, status="True", reason="NoPlaceToGo"),))


@pytest.mark.parametrize(
    ("steps", "status", "seconds", "found"),
    [
        ((LOST,), None, DUE, set[str]()),
        ((LOST,), None, DUE + 30, {"L2"}),
        ((LOST,), HELD, DUE + 30, set[str]()),
        ((), None, DUE + 30, set[str]()),
        ((LOST, ControllersAreKilled(at=500, lasts=10)), None, DUE + 30, set[str]()),
        ((LOST, ControllersAreKilled(at=500, lasts=10)), None, DUE + 500, {"L2"}),
    ],
)
def test_l2_what_runs_in_a_cluster_that_is_lost_leaves_in_time_or_says_why_not(
    steps: Sequence[AnyStep], status: ResourceBindingStatus | None, seconds: float, found: set[str]
) -> None:
    notebook = Notebook(*steps)
    placed = binding(M1_AND_M2, 2, targets(m1=1, m2=1))
    notebook.write(50, msgspec.structs.replace(placed, status=status or placed.status))
    notebook.write(seconds, cluster("m1"))
    assert notebook.found == found


def test_l2_what_was_held_back_has_its_time_when_that_is_over() -> None:
    placed = binding(M1_AND_M2, 2, targets(m1=1, m2=1))
    notebook = Notebook(LOST)
    notebook.write(50, msgspec.structs.replace(placed, status=HELD))
    notebook.write(DUE - 20, cluster("m1"))
    notebook.write(DUE - 10, placed)
    notebook.write(DUE + 30, cluster("m1"))
    assert notebook.found == set()
    notebook.write(2 * DUE, cluster("m1"))
    assert notebook.found == {"L2"}


@pytest.mark.parametrize(("seconds", "found"), [(DUE + 600, set[str]()), (DUE + 640, {"L2"})])
def test_l2_an_eviction_has_an_end_or_says_why_not(seconds: float, found: set[str]) -> None:
    notebook = Notebook(LOST)
    placed = binding(M1_AND_M2, 2, targets(m1=1, m2=1))
    notebook.write(50, placed)
    notebook.write(150, tainted("m2"))
    notebook.write(DUE, leaving(placed, "m2", DUE, m1=2))
    notebook.write(seconds, cluster("m1"))
    assert notebook.found == found


def test_s9_what_a_member_has_noted_survives() -> None:
    notebook = Notebook()
    notebook.write(1, copy_of(2, {"deployment.kubernetes.io/revision": "1"}), "m2")
    notebook.write(2, copy_of(2), "m2")
    assert notebook.found == {"S9"}


APIS = "/apis/cluster.karmada.io/v1alpha1/clusters/m1"
WORK = "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m1/works/w"
BINDING = "/apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings/b"
WEB = "/apis/apps/v1/namespaces/default/deployments/web"
TAINTS: Manifest = {"spec": {"taints": []}}


@pytest.mark.parametrize(
    ("caller", "path", "patch", "foreign"),
    [
        ("execution-controller", WORK, {"metadata": {"finalizers": []}, "spec": {"a": 1}}, ["spec.a"]),
        ("cluster-status-controller", APIS, TAINTS, ["spec.taints"]),
        ("brake-controller", APIS, TAINTS, ["spec.taints"]),
        ("", APIS, TAINTS, ["spec.taints"]),
        ("cluster-controller", APIS, TAINTS, []),
        ("scheduler", BINDING, {"spec": {"clusters": [], "replicas": 1}}, ["spec.replicas"]),
        ("resource-detector", BINDING, {"spec": {"clusters": [], "replicas": 1}}, ["spec.clusters"]),
        ("binding-controller", BINDING, {"spec": {"clusters": []}}, ["spec.clusters"]),
        ("resource-detector", WEB, {"metadata": {"labels": {}}, "spec": {"replicas": 1}}, ["spec.replicas"]),
        ("resource-detector", f"{WEB}/status", {"status": {"replicas": 1}}, []),
        ("brake-controller", "/api/v1/namespaces/default/configmaps/web", {"data": {"a": "b"}}, ["data.a"]),
        ("brake-controller", "/api/v1/namespaces/karmada-system/configmaps/leeward-brake", {"data": {"a": "b"}}, []),
        ("scheduler", "/api/v1/namespaces/karmada-system/configmaps/leeward-brake", {"data": {"a": "b"}}, ["data.a"]),
        ("anybody", "/apis/example.com/v1/namespaces/default/widgets/w", {"spec": {"a": 1}}, []),
    ],
)
def test_s9_a_controller_patches_what_it_owns(caller: str, path: str, patch: Manifest, foreign: Sequence[str]) -> None:
    request = Request("PATCH", path, headers={HEADER: caller}, body=encode(patch))
    assert foreign_fields(request) == list(foreign)


LOOKS, JUDGES = "cluster-status-controller", "cluster-controller"
UNKNOWN, FALSE = {"type": "Ready", "status": "Unknown"}, {"type": "Ready", "status": "False"}
IS_READY, FAILS = {"type": "Ready", "status": "True"}, {"type": FAILING_CONDITION, "status": "True"}
COVERED = {"type": "leeward.dev/LossCovered", "status": "True"}


@pytest.mark.parametrize(
    ("caller", "status", "foreign"),
    [
        (LOOKS, {"conditions": [FALSE], "kubernetesVersion": "v1.30.0"}, []),
        (LOOKS, {"conditions": [UNKNOWN]}, ["Ready=Unknown"]),
        (LOOKS, {"conditions": []}, []),
        (JUDGES, {"conditions": [UNKNOWN]}, []),
        (JUDGES, {"conditions": [IS_READY, FAILS]}, []),
        (JUDGES, {"conditions": [FALSE]}, ["Ready=False"]),
        (JUDGES, {"conditions": []}, ["Ready="]),
        (JUDGES, {"conditions": [IS_READY, {"type": "Other", "status": "True"}]}, ["Other=True"]),
        (JUDGES, {"kubernetesVersion": "v1.30.0"}, ["status.kubernetesVersion"]),
        ("brake-controller", {"conditions": [UNKNOWN]}, ["Ready=Unknown"]),
        ("resilience-controller", {"conditions": [IS_READY, COVERED]}, []),
        ("resilience-controller", {"conditions": [FALSE, COVERED]}, ["Ready=False"]),
        (LOOKS, {"conditions": [IS_READY, COVERED]}, ["leeward.dev/LossCovered=True"]),
        (JUDGES, {"conditions": [IS_READY, COVERED]}, ["leeward.dev/LossCovered=True"]),
    ],
)
def test_s9_who_looks_at_a_cluster_says_how_it_is(caller: str, status: Manifest, foreign: Sequence[str]) -> None:
    present = cluster("m1")
    present = msgspec.structs.replace(present, metadata=msgspec.structs.replace(present.metadata, resource_version="7"))

    def found(version: str, clusters: Mapping[str, Cluster]) -> list[str]:
        body = encode({"metadata": {"resourceVersion": version}, "status": status})
        request = Request("PATCH", f"{APIS}/status", headers={HEADER: caller}, body=body)
        return foreign_conditions(request, clusters)

    assert found("7", {"m1": present}) == list(foreign)
    assert found("6", {"m1": present}) == [], "it will be refused as a conflict"
    assert found("7", {}) == []


@pytest.mark.parametrize(("taint", "found"), [(tainted("m1"), set[str]()), (cluster("m1"), {"S5"})])
def test_s5_an_eviction_for_a_taint_begins_where_there_is_one(taint: Cluster, found: set[str]) -> None:
    notebook = Notebook()
    placed = binding(M1_AND_M2, 2, targets(m1=1, m2=1))
    notebook.write(1, taint)
    notebook.write(5, placed)
    notebook.write(5, leaving(placed, "m1", 5, m2=2))
    assert notebook.found == found
