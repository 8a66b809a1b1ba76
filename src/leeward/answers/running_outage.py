"""Running outages brought up to date with a picture: what has become of cluster and applications since the last write.

The object of an outage is seldom written (decision 86): steps that it does not tell yet come from the bindings and
Works of the picture. When a replacement became healthy the picture does not show, so this instant is left empty.
"""

from dataclasses import replace
from datetime import datetime

import msgspec

from kubeapi.meta import wire_time
from leeward.answers.fleet_state import BindingName, FleetState
from leeward.api.cluster import Cluster
from leeward.api.outage import ClusterOutage, OutageApplication, OutageStatus, OutageStep
from leeward.api.work import Binding, is_application
from leeward.core.copies.evidence import is_current
from leeward.core.interpreter import ResourceHealth
from leeward.core.outages.fold import fold
from leeward.core.outages.observation import OutageObservation
from leeward.core.outages.record import recall, render
from leeward.core.outages.sight import ApplicationKey, CopySight, sight_of
from leeward.operations.outage_story import is_running

_FROM_APPLICATIONS = ("omitted_steps", "applications", "moved", "moving", "due", "kept", "held", "returned")


def brought_up_to_date(outage: ClusterOutage, state: FleetState, *, bindings_read: bool | None = None) -> ClusterOutage:
    """Outage with the steps and taints of the Cluster, and with the state of each application, as they are in the
    picture.

    Where bindings or Works could not be read, or were not, only the Cluster is believed. `bindings_read` says so of a
    picture that has no more of them than the outage concerns; without it there are some, or they were not read.
    """
    cluster = state.clusters.get(outage.spec.cluster)
    if cluster is None or not is_running(outage):
        return outage
    braked = outage.status.braked
    alone = fold(recall(outage), OutageObservation(state.as_of, cluster, braked=braked)).status
    status = msgspec.structs.replace(outage.status, steps=alone.steps, no_execute_at=alone.no_execute_at)
    if state.recorded.unseen or not (bool(state.bindings) if bindings_read is None else bindings_read):
        return msgspec.structs.replace(outage, status=status)
    evicts = state.settings.no_execute
    seen = OutageObservation(state.as_of, cluster, _sights(outage, cluster, state), braked, evicts, is_whole=True)
    now = render(fold(recall(outage), seen)).status
    return msgspec.structs.replace(outage, status=_with_applications(status, now, state.as_of))


def _with_applications(status: OutageStatus, now: OutageStatus, as_of: datetime) -> OutageStatus:
    counts = {name: getattr(now, name) for name in _FROM_APPLICATIONS}
    counts["steps"] = tuple(_undated_step(step, as_of) for step in now.steps)
    listed = tuple(_undated(each, as_of) for each in now.listed)
    return msgspec.structs.replace(status, **counts, listed=listed)


def _undated_step(step: OutageStep, as_of: datetime) -> OutageStep:
    """Step without the instant at which replacements became healthy, where the picture is the first to show that."""
    return msgspec.structs.replace(step, healthy_at=None) if step.healthy_at == wire_time(as_of) else step


def _undated(application: OutageApplication, as_of: datetime) -> OutageApplication:
    """Application without the instants for which only that of the picture could stand."""
    changes: dict[str, object] = {}
    if application.left_at == wire_time(as_of):
        changes["left_at"] = None
    if application.healthy_at == wire_time(as_of):
        changes |= {"healthy_at": None, "recovery_seconds": None}
    return msgspec.structs.replace(application, **changes)


def _sights(outage: ClusterOutage, lost: Cluster, state: FleetState) -> dict[ApplicationKey, CopySight | None]:
    there = (key for key in state.bindings_in(lost.name) if is_application(state.bindings[key]))
    concerned = dict.fromkeys([*applications_in(outage), *there])
    return {key: _sight(state.bindings.get(key), key, lost, state) for key in concerned}


def applications_in(outage: ClusterOutage) -> list[BindingName]:
    """Bindings that the outage has told of; those that are still in the cluster may be others."""
    return [BindingName(*key) for key in recall(outage).applications]


def _sight(binding: Binding | None, key: BindingName, lost: Cluster, state: FleetState) -> CopySight | None:
    if binding is None:
        return None
    works = state.works_of(key)
    sight = sight_of(binding, lost, state.clusters, works.get, state.as_of, state.recorded.attention.time)
    return (
        sight
        if state.recorded.works
        else replace(sight, is_replaced=sight.has_left and _is_told_healthy(binding, lost))
    )


def _is_told_healthy(binding: Binding, lost: Cluster) -> bool:
    """Tells whether it is healthy by what the binding says of its copies elsewhere; for a picture without Works."""
    told = {item.cluster_name: item for item in binding.status.aggregated_status}
    others = [told.get(target.name) for target in binding.spec.clusters if target.name != lost.name]
    is_well = all(item is not None and item.applied and item.health == ResourceHealth.HEALTHY.value for item in others)
    return bool(others) and is_current(binding) and is_well
