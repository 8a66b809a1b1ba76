"""The dashboard of a local fleet: a process of its own, that the control plane does not wait for and is not slowed by.

Its link opens it as the administrator, once: the key is in a file that is its owner's alone, and another one is written
there when it was used.
"""

import os
from pathlib import Path

from kubeapi.files import write_file
from kubeapi.loop import Randomness
from leeward.app.local import processes
from leeward.app.local.components import command_of
from leeward.app.local.control_plane import administrators_connection
from leeward.app.local.errors import FleetError
from leeward.app.local.fleet import LocalFleet
from leeward.app.local.layout import DASHBOARD, Layout

HOST = "127.0.0.1"
NICE = 5
"""Niceness by which it gives way to the processes that run the fleet."""
_PAGE = Path(__file__).parents[2] / "dashboard" / "page" / "index.html"


def is_built() -> bool:
    """Tells whether there is a page to serve: a wheel has one, and a clone after `make page`."""
    return _PAGE.is_file()


def spawn_dashboard(layout: Layout, fleet: LocalFleet) -> None:
    """Starts it, unless it runs."""
    _key_of(layout, Randomness())
    if fleet.dashboard_port and processes.find_process(layout, DASHBOARD) is None:
        processes.spawn(layout, DASHBOARD, command_of(layout, DASHBOARD), os.environ)


def link_of(layout: Layout, fleet: LocalFleet) -> str:
    """The address that signs in. Raises: FleetError."""
    return f"http://{HOST}:{fleet.dashboard_port}/#key={_key_of(layout, Randomness())}"


def runs(layout: Layout) -> bool:
    """Tells whether it runs, with the key that its link has."""
    return processes.find_process(layout, DASHBOARD) is not None and layout.dashboard_key.exists()


async def run_local_dashboard(layout: Layout, fleet: LocalFleet) -> None:
    """Serves until cancelled. Raises: FleetError, OSError when its port is taken."""
    from leeward.app.dashboard import DashboardRequest, run_dashboard

    if not fleet.dashboard_port:
        raise FleetError("this fleet has no dashboard: start it with `leeward up`, or use `leeward dashboard`")
    os.nice(NICE)
    request = DashboardRequest(
        name=f"fleet in {layout.root}",
        connection=administrators_connection(layout),
        host=HOST,
        port=fleet.dashboard_port,
        key=_key_of(layout, Randomness()),
        renewed=lambda key: write_file(layout.dashboard_key, f"{key}\n"),
    )
    await run_dashboard(request, lambda _: layout.ready_file(DASHBOARD).touch())


def _key_of(layout: Layout, randomness: Randomness) -> str:
    """Reads the key, or makes one where there is none. Raises: FleetError."""
    path = layout.dashboard_key
    if not path.exists():
        write_file(path, f"{randomness.token()}\n")
    try:
        key = path.read_text().strip()
    except OSError as error:
        raise FleetError(
            f"{path} cannot be read ({error.strerror}): delete it, and `leeward up` makes it anew"
        ) from error
    if not key:
        raise FleetError(f"{path} is empty: delete it, and `leeward up` makes it anew")
    return key
