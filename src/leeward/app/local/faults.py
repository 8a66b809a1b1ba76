"""The faults that a member is told to have: DATA/members/NAME/faults.json, re-read by the member when it changes."""

from pathlib import Path

import msgspec

from kubeapi.files import write_file
from leeward.app.local.errors import FleetError


class Faults(msgspec.Struct, frozen=True, kw_only=True):
    """`unready`: /readyz answers 500. `stalled`: it answers ok, but reads and writes get no answer.

    `latency_seconds`: every answer comes that much later.
    """

    unready: bool = False
    stalled: bool = False
    latency_seconds: float = 0

    def __str__(self) -> str:
        parts = [name for name, there in (("unready", self.unready), ("stalled", self.stalled)) if there]
        if self.latency_seconds:
            parts.append(f"slow {self.latency_seconds:g}s")
        return ", ".join(parts)


NO_FAULTS = Faults()


def read_faults(path: Path) -> Faults:
    """The faults in `path`; none when there is no such file. Raises: FleetError when it cannot be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Faults)
    except FileNotFoundError:
        return NO_FAULTS
    except msgspec.MsgspecError as error:
        raise FleetError(f"{path}: {error}; delete the file to have no faults") from error


def write_faults(path: Path, faults: Faults) -> None:
    write_file(path, msgspec.json.encode(faults))
