"""Placing: one binding, all bindings of a dead cluster, a hundred thousand, and one status report.

Each figure stands beside a plain Python loop over the same inputs, one binding and one cluster at a time, which is the
scheduler's own scalar pipeline; where that would take too long it is measured on a part and scaled up. Clusters are as
those that Karmada reports: 25 API groups, 9 resource models, 4 labels.

Times are CPU times of this process, which does nothing but compute: what else runs on the machine is not measured.
"""

import resource
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from kubeapi.codec import decode, encode, from_wire
from leeward.api.cluster import Cluster
from leeward.api.names import APPLIED_PLACEMENT_ANNOTATION
from leeward.api.policy import Placement
from leeward.api.work import Binding, ResourceBinding, ResourceBindingStatus
from leeward.core.placement import Snapshot, decide
from leeward.core.scheduling import schedule
from leeward.planning import Fleet, plan
from tests.one_by_one import schedule_one_by_one

NOW = datetime(2026, 1, 1, tzinfo=UTC)
STATUS = ResourceBindingStatus()
SAMPLE = 100
MODEL_BOUNDS = ((0, "0"), (1, "4Gi"), (2, "16Gi"), (4, "32Gi"), (8, "64Gi"), (16, "128Gi"), (32, "256Gi"))
TOLERATIONS = [
    {"key": f"cluster.karmada.io/{key}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
    for key in ("not-ready", "unreachable")
]


def run() -> None:
    print(f"{'work':<66}{'ours':>11}{'plain loop':>13}{'ratio':>8}{'goal':>10}")
    for count, goal in ((100, 0.3), (1_000, 0.6), (5_000, 2.0)):
        _one_binding(count, goal)
    _dead_cluster("static weights", divided(static=True), 1.0)
    _dead_cluster("dynamic weights with reservations", divided(static=False), 3.0)
    _mixed(100_000, 1_000)
    _status_report()


def _one_binding(count: int, goal_ms: float) -> None:
    clusters = [cluster(number) for number in range(count)]
    fleet = Fleet(clusters)
    for name, placement in (("static weights", divided(static=True)), ("dynamic weights", divided(static=False))):
        asked = [binding(number, placement, {}, replicas=10 + number).spec for number in range(SAMPLE)]
        schedule(asked[0], STATUS, fleet.view())
        ours = _seconds(lambda asked=asked: [schedule(spec, STATUS, fleet.view()) for spec in asked]) / SAMPLE
        few = asked[: max(2, 2_000 // count)]
        plain = _seconds(lambda few=few: [schedule_one_by_one(spec, STATUS, clusters) for spec in few]) / len(few)
        _print(f"one binding, {count:,} clusters, {name}", ours * 1e3, plain * 1e3, "ms", goal_ms)


def _dead_cluster(title: str, placement: Mapping[str, Any], goal: float, count: int = 10_000) -> None:
    clusters = [cluster(number, dead=number == 0) for number in range(100)]
    bindings = {
        number: binding(number, placement, {"member-00000": 2, f"member-{1 + number % 99:05}": 2})
        for number in range(count)
    }
    _stroke(f"{count:,} bindings of a dead cluster, 100 clusters, {title}", clusters, bindings, goal)


def _mixed(count: int, clusters: int) -> None:
    kinds = [divided(static=True), divided(static=False), aggregated(), duplicated(3), duplicated(2, by="region")]
    bindings = {number: binding(number, kinds[number % len(kinds)], {}) for number in range(count)}
    fleet = [cluster(number) for number in range(clusters)]
    _stroke(f"{count:,} mixed bindings, {clusters:,} clusters", fleet, bindings, 30.0)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"{'    memory of this process at its peak':<66}{memory:>8.2f}GiB{'':>21}{'2 GiB':>10}")


def _stroke(title: str, clusters: Sequence[Cluster], bindings: Mapping[int, Binding], goal: float) -> None:
    fleet = Fleet(clusters)
    ours = _seconds(lambda: plan(fleet, bindings, lambda _, each: decide(Snapshot(each, fleet, now=NOW))))
    few = [bindings[number] for number in range(0, len(bindings), len(bindings) // SAMPLE)]
    seconds = _seconds(lambda: [decide(Snapshot(each, Fleet(clusters), now=NOW)) for each in few])
    _print(title, ours, seconds / len(few) * len(bindings), "s", goal)


def _status_report() -> None:
    fleet = Fleet(cluster(number) for number in range(1_000))
    specs = [binding(n, divided(static=False), {}, replicas=9 + n, cpu=f"{100 + n}m").spec for n in range(20)]
    for spec in specs:
        schedule(spec, STATUS, fleet.view())
    reports = [cluster(number % 1_000, used=number) for number in range(1_000)]
    ours = _seconds(lambda: [fleet.put(report) for report in reports]) / len(reports)
    started = time.process_time()
    Fleet(reports).view()
    plain = time.process_time() - started
    _print("one Cluster's status changed (beside: taking in all 1,000)", ours * 1e3, plain * 1e3, "ms", 0.1)


def cluster(number: int, dead: bool = False, used: int = 0) -> Cluster:
    taints = [
        {"key": "cluster.karmada.io/not-ready", "effect": effect, "timeAdded": wire(NOW - timedelta(hours=1))}
        for effect in ("NoSchedule", "NoExecute")
    ]
    groups = [f"group{n}.example.io/v1" for n in range(24)]
    kinds = [{"name": f"things{n}", "kind": f"Thing{n}"} for n in range(6)]
    wire_form = {
        "metadata": {
            "name": f"member-{number:05}",
            "labels": {"env": "prod", "tier": f"t{number % 3}", "team": f"team{number % 7}", "id": str(number)},
        },
        "spec": {
            "syncMode": "Push",
            "region": f"region{number % 8}",
            "provider": f"provider{number % 3}",
            "zones": [f"zone{number % 16}"],
            "taints": taints if dead else [],
            "resourceModels": [model(grade) for grade in range(9)],
        },
        "status": {
            "apiEnablements": [
                {"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}, *kinds]},
                *({"groupVersion": group, "resources": kinds} for group in groups),
            ],
            "conditions": [
                {"type": "Ready", "status": "False" if dead else "True", "reason": "Test", "message": "",
                 "lastTransitionTime": wire(NOW - timedelta(hours=1))}
            ],
            "resourceSummary": {
                "allocatable": {"cpu": "20k", "memory": "400000Gi", "pods": "200k"},
                "allocated": {"cpu": f"{100 + number + used}m", "memory": "64Mi", "pods": str(1 + used)},
                "allocatableModelings": [{"grade": n, "count": (number + n * 7) % 40} for n in range(9)],
            },
        },
    }  # fmt: skip
    return decode(encode(wire_form), Cluster)


def model(grade: int) -> dict[str, Any]:
    bounds = [*MODEL_BOUNDS, (64, "512Gi"), (128, "1Ti"), (2**60, str(2**60))]
    (cpu, memory), (next_cpu, next_memory) = bounds[grade], bounds[grade + 1]
    ranges = [("cpu", str(cpu), str(next_cpu)), ("memory", memory, next_memory)]
    return {"grade": grade, "ranges": [{"name": name, "min": low, "max": high} for name, low, high in ranges]}


def binding(
    number: int, placement: Mapping[str, Any], assigned: Mapping[str, int], replicas: int = 4, cpu: str = ""
) -> ResourceBinding:
    applied = encode(from_wire(placement, Placement)).decode()
    cpu = cpu or ("250m", "500m", "1", "2")[number % 4]
    wire_form = {
        "metadata": {
            "name": f"app-{number:06}-deployment",
            "namespace": "default",
            "generation": 2,
            "annotations": {APPLIED_PLACEMENT_ANNOTATION: applied} if assigned else {},
        },
        "spec": {
            "resource": {
                "apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default",
                "name": f"app-{number:06}", "uid": f"uid-{number}",
            },
            "replicas": replicas,
            "replicaRequirements": {"resourceRequest": {"cpu": cpu, "memory": "512Mi"}},
            "placement": placement,
            "clusters": [{"name": name, "replicas": count} for name, count in assigned.items()],
        },
        "status": {"schedulerObservedGeneration": 2, "lastScheduledTime": wire(NOW - timedelta(hours=2))},
    }  # fmt: skip
    return decode(encode(wire_form), ResourceBinding)


def divided(static: bool) -> dict[str, Any]:
    rules = [
        {"targetCluster": {"labelSelector": {"matchLabels": {"tier": f"t{n}"}}}, "weight": n + 1} for n in range(3)
    ]
    preference = {"staticWeightList": rules} if static else {"dynamicWeight": "AvailableReplicas"}
    return placed(
        {
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Weighted",
            "weightPreference": preference,
        }
    )


def aggregated() -> dict[str, Any]:
    return placed({"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"})


def duplicated(groups: int, by: str = "cluster") -> dict[str, Any]:
    constraints = [{"spreadByField": by, "minGroups": groups, "maxGroups": groups}]
    if by != "cluster":
        constraints.append({"spreadByField": "cluster", "minGroups": groups, "maxGroups": groups})
    return placed({"replicaSchedulingType": "Duplicated"}) | {"spreadConstraints": constraints}


def placed(strategy: Mapping[str, Any]) -> dict[str, Any]:
    affinity = {"labelSelector": {"matchLabels": {"env": "prod"}}}
    return {"clusterAffinity": affinity, "clusterTolerations": TOLERATIONS, "replicaScheduling": strategy}


def wire(instant: datetime) -> str:
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ")


def _seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


def _print(title: str, ours: float, plain: float, unit: str, goal: float) -> None:
    figures = f"{ours:>9.3f}{unit:>2}{plain:>11.2f}{unit:>2}{plain / ours:>7.0f}x{goal:>8g}{unit:>2}"
    print(f"{title:<66}{figures}", flush=True)
