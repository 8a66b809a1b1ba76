"""What runs, and what the control plane says of its clusters, as plain values for `leeward status`."""

from typing import Literal

import msgspec

from leeward.api.meta import Manifest
from leeward.api.resource import CLUSTERS
from leeward.app.local import processes
from leeward.app.local.api import AdminClient
from leeward.app.local.clusters import name_of, ready_condition, taints_of
from leeward.app.local.errors import FleetError
from leeward.app.local.faults import read_faults
from leeward.app.local.fleet import Fleet, load_fleet
from leeward.app.local.layout import CONTROL_PLANE, Layout

ANSWER_SECONDS = 3.0


class ComponentStatus(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    state: Literal["running", "paused", "stopped"]
    pid: int | None
    port: int | None
    faults: str = ""


class ClusterSummary(msgspec.Struct, frozen=True, rename="camel"):
    """`ready` is the condition's status (`-` before the first report), `reason` its reason."""

    name: str
    mode: str
    ready: str
    reason: str
    version: str
    taints: list[str]


class FleetStatus(msgspec.Struct, frozen=True, rename="camel"):
    """`clusters` is None when the control plane could not be asked; `problem` then says why."""

    data_dir: str
    timing: str
    components: list[ComponentStatus]
    clusters: list[ClusterSummary] | None
    problem: str = ""


def fleet_status(layout: Layout) -> FleetStatus:
    """Raises: FleetError when there is no fleet."""
    fleet = load_fleet(layout)
    components = [_component(layout, fleet, name) for name in fleet.components]
    clusters, problem = _ask_clusters(layout, fleet)
    return FleetStatus(str(layout.root), fleet.timing, components, clusters, problem)


def summarize(cluster: Manifest) -> ClusterSummary:
    ready = ready_condition(cluster) or {}
    return ClusterSummary(
        name=name_of(cluster),
        mode=cluster["spec"].get("syncMode", ""),
        ready=ready.get("status", "-"),
        reason=ready.get("reason", ""),
        version=cluster.get("status", {}).get("kubernetesVersion", ""),
        taints=taints_of(cluster),
    )


def _component(layout: Layout, fleet: Fleet, name: str) -> ComponentStatus:
    ports = {CONTROL_PLANE: fleet.control_plane_port} | {member.name: member.port for member in fleet.members}
    process = processes.find_process(layout, name)
    state = processes.State.STOPPED if process is None else processes.state_of_process(process)
    faults = str(read_faults(layout.faults(name))) if name in ports else ""
    return ComponentStatus(name, state.value, process.pid if process else None, ports.get(name), faults)


def _ask_clusters(layout: Layout, fleet: Fleet) -> tuple[list[ClusterSummary] | None, str]:
    if processes.find_process(layout, CONTROL_PLANE) is None:
        return None, "the control plane does not run: start it with `leeward up`"
    try:
        api = AdminClient(layout, fleet.control_plane_port, ANSWER_SECONDS)
        clusters = [summarize(cluster) for cluster in api.list(CLUSTERS.path())]
        api.close()
    except FleetError as error:
        return None, str(error)
    return sorted(clusters, key=lambda cluster: cluster.name), ""
