"""The local fleet: a control plane and member clusters as processes of one machine, kept in one data directory.

The model: the directory says what the fleet *is* (`fleet`), `/proc` says what of it *runs* (`processes`), and every
verb brings the second to the first and ends. There is no supervising daemon: what has been started runs until a verb
ends it. `lock` lets one verb at a time change a fleet.

Everything here is synchronous and starts fast. It never looks into a component's store: it talks to the control plane
over HTTPS, as any client does.

Start reading at `layout`, then `fleet`, then `starting`.
"""

from leeward.app.local.errors import FleetError
from leeward.app.local.layout import CONTROL_PLANE, DASHBOARD, Layout

__all__ = ["CONTROL_PLANE", "DASHBOARD", "FleetError", "Layout"]
