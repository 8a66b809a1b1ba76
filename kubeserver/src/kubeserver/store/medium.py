"""The port below the store: something that keeps batches of records through crashes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from msgspec import Struct

from kubeapi.errors import Fatal
from kubeserver.store.record import Record


class MediumFailed(Fatal):
    """The medium cannot be read, is not ours, or did not take a batch. The message names the file and the way out."""

    @property
    def sentence(self) -> str:
        return f"the store failed: {self}"


class MediumFull(MediumFailed):
    """Lack of room for a batch: nothing of it is kept, and later ones may be."""


class Batch(Struct, frozen=True):
    """Content of one commit, all of it or nothing: new records, revisions to forget, the new compacted revision."""

    records: Sequence[Record]
    forgotten: Sequence[int]
    compacted: int


@dataclass(frozen=True, slots=True)
class Loaded:
    """Content that was kept: records in ascending revision (their `previous` not yet set), and the compacted
    revision."""

    records: Sequence[Record]
    compacted: int


class Medium(Protocol):
    async def load(self) -> Loaded:
        """Everything that was committed. Called once, before the first commit. Raises: MediumFailed."""
        ...

    async def commit(self, batch: Batch) -> None:
        """Returns when `batch` survives a power cut. Never called while another commit runs.

        Raises: MediumFull; MediumFailed, after which it is unknown what was kept.
        """
        ...

    async def close(self) -> None:
        """Lets go of the medium, after the commit that runs, if any, has ended."""
        ...
