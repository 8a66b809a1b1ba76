"""The control plane of a local fleet, seen from its directory: the administrator's way to it, and why it is silent."""

from kubeclient.connection import Connection
from leeward.app.local import processes
from leeward.app.local.errors import FleetError
from leeward.app.local.fleet import load_fleet
from leeward.app.local.layout import CONTROL_PLANE, Layout
from leeward.app.local.logs import fatal_reason
from leeward.app.local.processes import State


def administrators_connection(layout: Layout) -> Connection:
    """Raises: FleetError when there is no fleet, or its certificates cannot be read."""
    fleet = load_fleet(layout)
    try:
        authority, certificate, key = (
            (layout.pki / name).read_bytes() for name in ("ca.crt", "admin.crt", "admin.key")
        )
    except OSError as error:
        raise FleetError(f"the certificates in {layout.pki} cannot be used ({error}): run `leeward up`") from error
    return Connection(
        f"https://127.0.0.1:{fleet.control_plane_port}",
        certificate_authority=authority,
        client_certificate=certificate,
        client_key=key,
    )


def is_running(layout: Layout) -> bool:
    return processes.state_of(layout, CONTROL_PLANE) is State.RUNNING


def why_silent(layout: Layout) -> str:
    """Explanation why the process does not answer, and the way out."""
    match processes.state_of(layout, CONTROL_PLANE):
        case State.STOPPED:
            reason = fatal_reason(layout.log(CONTROL_PLANE))
            ended = f"the control plane has ended: {reason}"
            return ended if reason else "the control plane does not run, start it with `leeward up`"
        case State.PAUSED:
            process = processes.find_process(layout, CONTROL_PLANE)
            number = "" if process is None else f" {process.pid}"
            return f"its process{number} is frozen (stopped by a signal), `kill -CONT{number}` lets it go on"
        case State.RUNNING:
            return "its process runs and does not answer, `leeward logs control-plane` shows what it says"
