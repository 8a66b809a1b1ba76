"""Records that the store holds and hands out, and how it says no."""

from msgspec import Struct, structs

from kubeapi.errors import Fatal


class Record(Struct, frozen=True, eq=False):
    """One write of one key.

    `key` is `/<group>/<plural>/<namespace>/<name>`, with empty parts for the core group and for cluster-scoped kinds.
    `value` is the object's JSON; for a deletion its last state. `previous` is the live record that this one replaced:
    None when this one created the key, or when that one is compacted away. `form` is the readers': under which form
    they found that the value is shown as it is. Nobody else looks at it.
    """

    key: str
    revision: int
    value: bytes
    deleted: bool
    previous: "Record | None" = None
    form: object = None

    def __repr__(self) -> str:
        return f"{'deletion' if self.deleted else 'write'} of {self.key} at {self.revision}"

    @staticmethod
    def live(record: "Record | None") -> "Record | None":
        """The record itself; None for a deletion."""
        return None if record is None or record.deleted else record

    @staticmethod
    def called(record: "Record | None") -> str:
        """Words for the record that a writer expects."""
        return f"revision {record.revision}" if record else "nothing"

    def forget_previous(self) -> None:
        """Lets go of what was compacted away."""
        structs.force_setattr(self, "previous", None)

    def remember(self, form: object) -> None:
        """Remembers a form; beside the forgetting the only change that a record ever sees."""
        structs.force_setattr(self, "form", form)


class Listing(Struct, frozen=True):
    """Records of one revision, keys ascending; `remaining` counts those behind the last one."""

    records: list[Record]
    revision: int
    more: bool
    remaining: int


class Compacted(Exception):
    """The revision that was asked for is compacted away."""


class FutureRevision(Exception):
    """The revision that was asked for is not there yet."""


class Raced(Exception):
    """The head of the key is not the one that the writer saw."""


class StoreFailed(Fatal):
    """The medium failed, or the store is closed: it takes no more writes. Whether those under way took is unknown."""

    @property
    def sentence(self) -> str:
        return f"the store failed: {self}"


class Overloaded(StoreFailed):
    """Refusal of a write where too many are under way; this one was not begun. Later ones may be."""


def resource_prefix(key_or_prefix: str) -> str:
    """The part `/<group>/<plural>/`; empty when a prefix is wider than one resource."""
    group_end = key_or_prefix.find("/", 1)
    plural_end = key_or_prefix.find("/", group_end + 1) if group_end > 0 else -1
    return key_or_prefix[: plural_end + 1]
