"""Groups of bindings that belong together, or apart: who is where, and which clusters that leaves."""

import msgspec
import pytest

from kubeapi.meta import ObjectMeta
from leeward.api.work import (
    BindingResource,
    ResourceBinding,
    ResourceBindingSpec,
    TargetCluster,
    WorkloadAffinityGroups,
)
from leeward.core.scheduling.model import Request
from leeward.core.scheduling.workload_affinity import stays_everywhere, workload_affinity_filters
from leeward.planning.workload_groups import GroupMember, WorkloadGroups
from tests.builders import cluster, targets

NEAR, APART = WorkloadAffinityGroups(affinity_group="web"), WorkloadAffinityGroups(anti_affinity_group="web")
BOTH = WorkloadAffinityGroups(affinity_group="web", anti_affinity_group="db")


def bound(
    name: str, groups: WorkloadAffinityGroups | None = NEAR, namespace: str = "default", **placed: int
) -> ResourceBinding:
    resource = BindingResource("apps/v1", "Deployment", name, namespace)
    spec = ResourceBindingSpec(resource=resource, clusters=targets(**placed), workload_affinity_groups=groups)
    return ResourceBinding(metadata=ObjectMeta(name=f"{name}-deployment", namespace=namespace), spec=spec)


def rejected(groups: WorkloadGroups, binding: ResourceBinding, *left: str) -> dict[str, tuple[str | None, str | None]]:
    """Answers of both plug-ins about three clusters; what is in those that are `left` has to go."""
    near, apart = workload_affinity_filters(groups.others, left.__contains__)
    request = Request(binding.spec, "")
    return {
        name: (near.reject(request, cluster(name)), apart.reject(request, cluster(name))) for name in ("a", "b", "c")
    }


ALONE = "ResourceBinding with the same affinity group does not target this cluster"
TOGETHER = "cluster already has workload with the same anti-affinity group"


def test_one_goes_where_all_others_of_its_group_are() -> None:
    groups = WorkloadGroups([bound("one", a=1, b=1), bound("two", b=1, c=1)])
    assert rejected(groups, bound("new")) == {"a": (ALONE, None), "b": (None, None), "c": (ALONE, None)}


def test_one_goes_where_none_of_the_others_is() -> None:
    groups = WorkloadGroups([bound("one", APART, a=1), bound("two", APART, b=1)])
    assert rejected(groups, bound("new", APART)) == {"a": (None, TOGETHER), "b": (None, TOGETHER), "c": (None, None)}


@pytest.mark.parametrize("groups", [NEAR, APART])
def test_a_cluster_that_is_a_target_already_passes(groups: WorkloadAffinityGroups) -> None:
    held = WorkloadGroups([bound("one", groups, a=1)])
    said = rejected(held, bound("new", groups, a=1, b=1))
    assert said["a"] == said["b"] == (None, None)


def test_the_first_of_a_group_goes_anywhere_and_so_does_who_is_in_none() -> None:
    anywhere = dict.fromkeys("abc", (None, None))
    groups = WorkloadGroups([bound("one", a=1)])
    assert rejected(WorkloadGroups(), bound("new")) == anywhere
    assert rejected(groups, bound("one")) == anywhere, "itself is no other"
    assert rejected(groups, bound("new", None)) == anywhere
    assert rejected(groups, bound("new", WorkloadAffinityGroups(affinity_group="other"))) == anywhere
    assert rejected(groups, bound("new", APART)) == anywhere, "groups of the two kinds are not the same"
    assert rejected(groups, bound("new", namespace="elsewhere")) == anywhere


def test_a_place_that_its_holder_has_to_leave_holds_nobody() -> None:
    groups = WorkloadGroups([bound("one", a=1), bound("two", a=1, b=1)])
    assert rejected(groups, bound("new"), "a") == {"a": (None, None), "b": (None, None), "c": (ALONE, None)}
    assert rejected(groups, bound("new"), "b") == {"a": (None, None), "b": (ALONE, None), "c": (ALONE, None)}
    assert stays_everywhere("a") is False
    near, _ = workload_affinity_filters(groups.others)
    assert near.reject(Request(bound("new").spec, ""), cluster("b")) == ALONE


def test_the_plug_ins_concern_those_that_have_groups() -> None:
    near, apart = workload_affinity_filters(WorkloadGroups().others)
    assert (near.name, apart.name) == ("WorkloadAffinity", "WorkloadAntiAffinity")
    for plugin in (near, apart):
        assert plugin.concerns(Request(bound("new").spec, "")) is True
        assert plugin.concerns(Request(bound("new", None).spec, "")) is False


def test_a_binding_that_moves_leaves_its_group_or_goes_is_followed() -> None:
    groups = WorkloadGroups([bound("one", BOTH, a=1)])
    new = bound("new", BOTH)
    assert rejected(groups, new)["b"] == (ALONE, None)
    groups.put(bound("one", BOTH, a=1), (TargetCluster("b", 1),))
    assert rejected(groups, new) == {"a": (ALONE, None), "b": (None, TOGETHER), "c": (ALONE, None)}
    groups.put(bound("one", APART, b=1))
    assert rejected(groups, new) == dict.fromkeys("abc", (None, None))
    groups.put(bound("one", BOTH, c=1))
    groups.remove(bound("one", BOTH, c=1))
    groups.remove(bound("one", BOTH, c=1))
    assert rejected(groups, new) == dict.fromkeys("abc", (None, None))
    groups.put(bound("one", BOTH), ())
    assert rejected(groups, new)["a"] == (None, None), "who is nowhere has nothing to be left"


def test_those_beside_a_binding_are_the_others_of_its_groups() -> None:
    db = WorkloadAffinityGroups(anti_affinity_group="db")
    bindings = [bound("one", BOTH, a=1), bound("two", NEAR), bound("three", db), bound("four", APART)]
    groups = WorkloadGroups([*bindings, bound("five", BOTH, "elsewhere")])
    assert groups.beside(bindings[0]) == {"two-deployment", "three-deployment"}
    assert groups.beside(bindings[1]) == {"one-deployment"}
    assert groups.beside(bindings[3]) == set()
    assert groups.beside(bound("unknown", BOTH)) == set()
    groups.remove(bindings[1])
    assert groups.beside(bindings[0]) == {"three-deployment"}


def test_what_is_told_of_the_others_can_be_restored() -> None:
    one, two, three = bound("one", BOTH, b=1, a=1), bound("two", BOTH, c=1), bound("three", NEAR)
    told = WorkloadGroups([one, three, two]).members_beside(two)
    assert told == (
        GroupMember(kind="affinity", name="one-deployment", clusters=("a", "b")),
        GroupMember(kind="affinity", name="three-deployment", clusters=()),
        GroupMember(kind="antiAffinity", name="one-deployment", clusters=("a", "b")),
    )
    restored = WorkloadGroups()
    restored.restore(two, told)
    moving = bound("two", BOTH)
    assert rejected(restored, moving) == rejected(WorkloadGroups([one, three, two]), moving)
    nobody = WorkloadGroups()
    nobody.restore(msgspec.structs.replace(two, spec=bound("two", None).spec), told)
    assert nobody.members_beside(two) == ()
    assert WorkloadGroups([one]).members_beside(bound("two", None)) == ()
