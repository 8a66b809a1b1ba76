"""Clusters, bindings and placements for tests of scheduling, and strategies that make many of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hypothesis import strategies as st

from kubeapi.codec import from_wire
from leeward.api.cluster import Cluster
from leeward.api.work import ResourceBindingSpec, ResourceBindingStatus
from leeward.core.scheduling import Placed, Unplaceable, schedule
from leeward.core.scheduling.model import Profile
from leeward.core.scheduling.steps import DEFAULT_PROFILE
from leeward.planning import Fleet

NAMES: tuple[str, ...] = ("m1", "m2", "m3", "m4", "m5")
TAINT = {"key": "k", "effect": "NoSchedule"}
DEPLOYMENTS = {"groupVersion": "apps/v1", "resources": [{"name": "deployments", "kind": "Deployment"}]}


def cluster(name: str, *, pods: int = 110, taints: Any = (), deleted: bool = False, **spec: Any) -> Cluster:
    wire = {
        "metadata": {"name": name, **({"deletionTimestamp": "2000-01-01T00:00:00Z"} if deleted else {})},
        "spec": {"syncMode": "Push", "taints": list(taints), **spec},
        "status": {"apiEnablements": [DEPLOYMENTS], "resourceSummary": {"allocatable": {"pods": pods}}},
    }
    return from_wire(wire, Cluster)


def binding_spec(
    placement: Mapping[str, Any], replicas: int = 3, assigned: Mapping[str, int] | None = None, **more: Any
) -> ResourceBindingSpec:
    wire = {
        "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "a", "uid": "u"},
        "replicas": replicas,
        "placement": placement,
        "clusters": [{"name": name, "replicas": count} for name, count in (assigned or {}).items()],
        **more,
    }
    return from_wire(wire, ResourceBindingSpec)


def schedule_on(
    spec: ResourceBindingSpec,
    status: ResourceBindingStatus,
    clusters: Iterable[Cluster],
    profile: Profile = DEFAULT_PROFILE,
    **options: Any,
) -> Placed | Unplaceable:
    """Schedules as `schedule` does, on these clusters, in which nothing is reserved."""
    return schedule(spec, status, Fleet(clusters, profile).view(), **options)


def task(name: str) -> dict[str, str]:
    return {"fromCluster": name, "reason": "TaintUntolerated", "producer": "TaintManager"}


def placed(result: Placed | Unplaceable) -> dict[str, int]:
    assert isinstance(result, Placed), result
    return {target.name: target.replicas for target in result.clusters}


names = st.sampled_from(NAMES)


@st.composite
def fleets_of(draw: st.DrawFn, known: Sequence[str], sizes: Sequence[int]) -> list[Cluster]:
    """Draws as many clusters as `sizes` say, each as often; most can take something in."""
    return [
        cluster(
            name,
            pods=draw(st.integers(0, 20)),
            taints=draw(st.sampled_from([(), (), (), (TAINT,)])),
            deleted=draw(st.sampled_from([False, False, False, True])),
            region=draw(st.sampled_from(["r1", "r2", "r3", ""])),
        )
        for name in draw(st.permutations(known))[: draw(st.sampled_from(sizes))]
    ]


fleets = fleets_of(NAMES, (3, 2, 1, 4, 5, 0))
strategies = st.sampled_from(
    [
        {"replicaSchedulingType": "Duplicated"},
        {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"},
        {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Weighted"},
        {
            "replicaSchedulingType": "Divided",
            "replicaDivisionPreference": "Weighted",
            "weightPreference": {"dynamicWeight": "AvailableReplicas"},
        },
    ]
)
groups = st.integers(1, 4).flatmap(
    lambda low: st.fixed_dictionaries({"minGroups": st.just(low), "maxGroups": st.integers(low, 5)})
)
constraints = st.lists(
    st.tuples(st.sampled_from(["cluster", "region"]), groups).map(lambda pair: {"spreadByField": pair[0], **pair[1]}),
    max_size=2,
    unique_by=lambda constraint: constraint["spreadByField"],
)
affinities = st.sampled_from([{}, {"clusterNames": ["m1", "m2", "m3"]}, {"exclude": ["m1"]}])
placements = st.fixed_dictionaries(
    {"clusterAffinity": affinities, "replicaScheduling": strategies, "spreadConstraints": constraints}
)
specs = st.builds(
    binding_spec,
    placements,
    replicas=st.integers(1, 30),
    assigned=st.dictionaries(names, st.integers(1, 5), max_size=3),
    gracefulEvictionTasks=st.lists(names.map(task), max_size=2),
)
