"""A component that ran here before and has no store: started, it would be a new cluster without any object."""

from collections.abc import Iterable

from leeward.app.config import SIGNING_KEY_FILE
from leeward.app.local.archive import STORE
from leeward.app.local.backup_writing import directory_of
from leeward.app.local.errors import FleetError
from leeward.app.local.layout import CONTROL_PLANE, Layout


def refuse_lost_stores(layout: Layout, components: Iterable[str]) -> None:
    """Raises: FleetError where the store of one is missing or empty, and its key says that it had one."""
    for name in components:
        directory = directory_of(layout, name)
        store = directory / STORE
        if not (directory / SIGNING_KEY_FILE).exists() or (store.exists() and store.stat().st_size):
            continue
        what = "is empty" if store.exists() else "is missing"
        if name == CONTROL_PLANE:
            way_out = "`leeward restore FILE` puts a backup in its place, and another --data-dir has a new fleet"
        else:
            way_out = (
                f"`leeward restore FILE --member {name}` puts a backup in its place, and without the directory "
                f"{directory} it is a new and empty cluster"
            )
        raise FleetError(f"{store} {what}, and {name} ran here before: all its objects would be gone; {way_out}")
