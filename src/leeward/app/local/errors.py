"""The error of the local fleet's verbs."""

from pathlib import Path


class FleetError(Exception):
    """Something that a user can cause and mend; the message names the fault and the way out."""


def no_fleet(data_dir: Path) -> FleetError:
    return FleetError(f"there is no fleet in {data_dir}: start one with `leeward up`, or give its --data-dir")


def no_trust(server: str, error: Exception) -> str:
    """Sentence on a server of this machine with which TLS fails over a certificate: it runs, and is not silent."""
    return (
        f"{server} answers, and TLS fails over a certificate: {error}; where one has expired, `leeward down` and then "
        "`leeward up` make it anew, and else the clock of this machine is wrong, or another server has that port"
    )
