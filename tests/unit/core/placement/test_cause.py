"""The cause, in people's words, why a binding finds no place."""

import msgspec
import pytest

from kubeapi.core import Taint
from leeward.api.cluster import Cluster
from leeward.api.policy import ClusterAffinity, ClusterAffinityTerm, Placement, SpreadConstraint
from leeward.api.work import ResourceBindingStatus
from leeward.core.placement.cause import cause_in, cause_of, with_cause
from leeward.core.scheduling import Unplaceable, schedule
from tests.builders import binding, cluster, dead, duplicated, fleet

DOWN = dead("fra-2", since=-900)
CORDONED = cluster("fra-3", taints=(Taint("cluster.karmada.io/unschedulable", "NoSchedule"),))
DRAINED = cluster("fra-4", taints=(Taint("leeward.dev/drain", "NoExecute"),))
GPU = cluster("gpu-1", taints=(Taint("dedicated", "NoSchedule", "gpu"),))


def only(*names: str) -> Placement:
    return Placement(cluster_affinity=ClusterAffinity(cluster_names=names))


def terms(*groups: tuple[str, ...]) -> Placement:
    named = [ClusterAffinityTerm(affinity_name=names[0], cluster_names=names) for names in groups]
    return Placement(cluster_affinities=tuple(named))


def spread_over(least: int) -> Placement:
    constraint = SpreadConstraint(spread_by_field="cluster", min_groups=least, max_groups=least)
    return msgspec.structs.replace(duplicated(), cluster_affinity=None, spread_constraints=(constraint,))


def refused(placement: Placement, *clusters: Cluster) -> Unplaceable:
    """Answer of the scheduler, with its cause."""
    spec, arrays = binding(placement, 2).spec, fleet(*clusters)
    result = schedule(spec, ResourceBindingStatus(), arrays.view())
    assert isinstance(result, Unplaceable)
    return with_cause(result, spec, arrays)


@pytest.mark.parametrize(
    ("placement", "clusters", "said"),
    [
        (only("fra-2"), (DOWN, cluster("a")), "The policy allows fra-2 only, and fra-2 is down."),
        (
            only("fra-2", "fra-3"),
            (DOWN, CORDONED, cluster("a")),
            "The policy allows fra-2 and fra-3 only, and fra-2 is down, and fra-3 is cordoned.",
        ),
        (only("eu-9"), (DOWN, cluster("a")), "The policy allows eu-9 only, and eu-9 has not joined."),
        (
            only("eu-9", "fra-4"),
            (DRAINED, DOWN),
            "The policy allows eu-9 and fra-4 only, and eu-9 has not joined, and fra-4 is being drained.",
        ),
        (
            terms(("fra-2",), ("gpu-1",)),
            (DOWN, GPU, cluster("a")),
            "The policy allows fra-2 and gpu-1 only, and fra-2 is down, "
            "and gpu-1 has the taint dedicated=gpu:NoSchedule.",
        ),
        (Placement(), (DOWN, CORDONED), "No cluster fits, because fra-2 is down, and fra-3 is cordoned."),
        (Placement(), (), "No cluster has joined."),
        (
            spread_over(3),
            (DOWN, cluster("a"), cluster("b")),
            "The policy wants at least 3 clusters, and only a and b fit, because fra-2 is down.",
        ),
    ],
)
def test_the_cause_names_the_policy_and_the_clusters(
    placement: Placement, clusters: tuple[Cluster, ...], said: str
) -> None:
    result = refused(placement, *clusters)
    assert result.cause == said
    assert result.told == f"{said} {result.message}", "the scheduler's text is the detail"
    assert cause_in("NoClusterFit", result.told) == said


def test_of_many_clusters_only_numbers_are_told() -> None:
    many = [cluster(f"c{n}", taints=GPU.spec.taints) for n in range(40)]
    said = "No cluster fits, because 40 clusters have the taint dedicated=gpu:NoSchedule."
    assert refused(Placement(), *many).cause == said


def test_a_message_of_its_own_needs_no_cause() -> None:
    spec = binding(Placement(), 2).spec
    assert not cause_of(Unplaceable("Error", "scheduling of this binding is suspended", {}), spec, {})
    way_out = "the Work belongs to b. Delete one of them."
    assert cause_in("WorkOfAnother", way_out) == way_out, "of other conditions the way out is told"
