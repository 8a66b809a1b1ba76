"""The error of the local fleet's verbs."""

from pathlib import Path


class FleetError(Exception):
    """Something that a user can cause and mend; the message names what is wrong and the way out."""


def no_fleet(data_dir: Path) -> FleetError:
    return FleetError(f"there is no fleet in {data_dir}: start one with `leeward up`, or give its --data-dir")
