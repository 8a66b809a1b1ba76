"""The fleet that was backed up, where it may still run on this machine while another is made of its backup.

Both have the same keys, so at one address each takes the other for its own: the new fleet gets ports of its own. A
cluster that has joined from elsewhere cannot be moved like this, and would be acted on by both.
"""

from collections.abc import Set

import msgspec

from kubeapi.loop.randomness import Randomness
from leeward.app.local.errors import FleetError
from leeward.app.local.fleet import LocalFleet
from leeward.app.local.planning import taken_ports
from leeward.app.local.ports import is_free, pick_port


def beside_another(fleet: LocalFleet, joined: Set[str], randomness: Randomness) -> LocalFleet:
    """The fleet as it was backed up; with other ports throughout where one of its own is in use.

    `joined` are the Clusters of its control plane. Raises: FleetError when one of them is no member of it, either.
    """
    used = [port for port in taken_ports(fleet) if port and not is_free(port)]
    if not used:
        return fleet
    _refuse_shared(used[0], joined - {member.name for member in fleet.members})
    drawn = list[int]()
    for _ in range(2 + len(fleet.members)):
        drawn.append(pick_port(randomness, (*drawn, *taken_ports(fleet))))
    pairs = zip(fleet.members, drawn[2:], strict=True)
    members = tuple(msgspec.structs.replace(member, port=port) for member, port in pairs)
    dashboard = drawn[1] if fleet.dashboard_port else 0
    return msgspec.structs.replace(fleet, control_plane_port=drawn[0], dashboard_port=dashboard, members=members)


def refuse_other_running(own: LocalFleet, backed_up: LocalFleet, joined: Set[str]) -> None:
    """Raises: FleetError when the backup is of another fleet that runs, one of whose clusters is no member of `own`."""
    port = backed_up.control_plane_port
    if port not in taken_ports(own) and not is_free(port):
        _refuse_shared(port, joined - {member.name for member in own.members})


def _refuse_shared(port: int, shared: Set[str]) -> None:
    """Raises: FleetError when there are clusters on which two control planes would act."""
    if shared:
        raise FleetError(
            f"port {port} of the fleet that was backed up is in use, so it may run; two control planes would act on "
            f"{', '.join(sorted(shared))}: stop that one first (`leeward down` with its --data-dir)"
        )
