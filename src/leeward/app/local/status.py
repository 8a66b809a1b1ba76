"""The processes of a local fleet, for `leeward status`: which run, and why others do not."""

from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from leeward.app.local import processes
from leeward.app.local.faults import read_faults
from leeward.app.local.fleet import LocalFleet, load_fleet
from leeward.app.local.layout import AGENT_SUFFIX, CONTROL_PLANE, DASHBOARD, Layout
from leeward.operations.findings import Finding, Severity, worst_first

_ENDED = {"paused": ("is frozen: its process is stopped by a signal", "resume"), "stopped": ("does not run", "start")}
"""Words by the state of the process: what is wrong, and the verb of `leeward member` that mends it."""


class ComponentStatus(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    state: Literal["running", "paused", "stopped"]
    pid: int | None
    port: int | None
    faults: str = ""


class ProcessesStatus(msgspec.Struct, frozen=True, rename="camel"):
    data_dir: str
    timing: str
    components: list[ComponentStatus]


def processes_status(layout: Layout) -> ProcessesStatus:
    """Raises: FleetError when there is no fleet."""
    fleet = load_fleet(layout)
    components = [_component(layout, fleet, name) for name in fleet.components]
    return ProcessesStatus(str(layout.root), fleet.timing, components)


def with_components(
    findings: Sequence[Finding], components: Sequence[ComponentStatus], told: str = ""
) -> list[Finding]:
    """The findings, with one for each process that does not run, or with the way out where its cluster has one; `told`
    is the process that was told of already.

    Without its dashboard a fleet runs as well as with it. What has ended with the control plane comes back with it.
    """
    found = list(findings)
    for component in _that_need_somebody(components, told):
        wrong, _ = _ENDED[component.state]
        about = f"cluster/{component.name}"
        known = next((index for index, finding in enumerate(found) if finding.about == about), None)
        if known is None:
            sentence = f"{component.name} {wrong}"
            severity = Severity.SOON if component.name == DASHBOARD else Severity.NEEDS_SOMEBODY
            found.append(Finding(severity, f"component/{component.name}", sentence, next=_way_out(component)))
        else:
            found[known] = msgspec.structs.replace(found[known], next=_way_out(component))
    return worst_first(found)


def _that_need_somebody(components: Sequence[ComponentStatus], told: str) -> Iterator[ComponentStatus]:
    is_down = any(component.name == CONTROL_PLANE and component.state == "stopped" for component in components)
    for component in components:
        comes_back = is_down and component.state == "stopped" and component.name != CONTROL_PLANE
        if component.state != "running" and component.name != told and not comes_back:
            yield component


def _way_out(component: ComponentStatus) -> str:
    _, verb = _ENDED[component.state]
    if component.name == DASHBOARD and verb == "start":
        return "leeward dashboard"
    if component.name in (CONTROL_PLANE, DASHBOARD):
        return "leeward up" if verb == "start" else f"kill -CONT {component.pid}"
    if component.name.endswith(AGENT_SUFFIX):
        return f"leeward member {verb} {component.name.removesuffix(AGENT_SUFFIX)} --only agent"
    return f"leeward member {verb} {component.name}"


def _component(layout: Layout, fleet: LocalFleet, name: str) -> ComponentStatus:
    ports = {CONTROL_PLANE: fleet.control_plane_port, DASHBOARD: fleet.dashboard_port} | {
        member.name: member.port for member in fleet.members
    }
    process = processes.find_process(layout, name)
    state = processes.State.STOPPED if process is None else processes.state_of_process(process)
    faults = str(read_faults(layout.faults(name))) if name in ports and name != DASHBOARD else ""
    return ComponentStatus(name, state.value, process.pid if process else None, ports.get(name), faults)
