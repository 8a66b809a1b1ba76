"""Outages for properties of the decision: a binding that was placed when all was well, and the fleet now."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st
from msgspec.structs import replace

from kubeapi.codec import encode, from_wire
from kubeapi.core import Taint
from kubeapi.meta import ObjectMeta
from leeward.api.cluster import Cluster
from leeward.api.meta import Condition
from leeward.api.names import APPLIED_PLACEMENT_ANNOTATION
from leeward.api.policy import FailoverBehavior
from leeward.api.work import ResourceBinding, ResourceBindingStatus
from leeward.core.scheduling import Placed
from tests.builders import DEFAULT_TOLERATIONS, NOW, at
from tests.placements import binding_spec, cluster, placements, schedule_on


@dataclass(frozen=True)
class Outage:
    """A binding that was placed when all was well, and the fleet now."""

    binding: ResourceBinding
    fleet: Mapping[str, Cluster]

    @property
    def dead(self) -> set[str]:
        return {name for name, each in self.fleet.items() if each.ready is not None and not each.is_ready}

    @property
    def before(self) -> dict[str, int]:
        return {target.name: target.replicas for target in self.binding.spec.clusters}


def well(known: Cluster) -> Cluster:
    ready = Condition("Ready", "True", "ClusterReady", last_transition_time=NOW)
    return replace(known, status=replace(known.status, conditions=(ready,)))


def died(known: Cluster) -> Cluster:
    taints = tuple(
        Taint(key="cluster.karmada.io/not-ready", effect=effect, time_added=at(0))
        for effect in ("NoSchedule", "NoExecute")
    )
    gone = Condition("Ready", "False", "ClusterNotReachable", last_transition_time=NOW)
    spec = replace(known.spec, taints=(*known.spec.taints, *taints))
    return replace(known, spec=spec, status=replace(known.status, conditions=(gone,)))


clusters = st.lists(
    st.builds(
        cluster,
        st.sampled_from([f"m{n}" for n in range(1, 7)]),
        pods=st.integers(0, 20),
        region=st.sampled_from(["", "r1", "r2", "r3"]),
    ),
    min_size=2,
    unique_by=lambda each: each.name,
)
directly = from_wire({"cluster": {"purgeMode": "Directly"}}, FailoverBehavior)


@st.composite
def outages(draw: st.DrawFn) -> Outage:
    fleet = [well(each) for each in draw(clusters)]
    wire: dict[str, Any] = draw(placements)
    spec = binding_spec(wire, draw(st.integers(0, 20)))
    assert spec.placement is not None
    spec = replace(
        spec,
        placement=replace(spec.placement, cluster_tolerations=DEFAULT_TOLERATIONS),
        failover=draw(st.sampled_from([None, directly])),
    )
    before = schedule_on(spec, ResourceBindingStatus(), fleet)
    spec = replace(spec, clusters=before.clusters if isinstance(before, Placed) else ())
    applied = {APPLIED_PLACEMENT_ANNOTATION: encode(spec.placement).decode()}
    metadata = ObjectMeta(name="a-deployment", namespace="default", generation=1, annotations=applied)
    doomed = draw(st.sets(st.sampled_from([each.name for each in fleet]), min_size=1))
    after = {each.name: died(each) if each.name in doomed else each for each in fleet}
    return Outage(ResourceBinding(metadata=metadata, spec=spec), after)
