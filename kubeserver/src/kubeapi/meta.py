"""Parts that all Kubernetes objects share: metadata, owner references, selectors' wire form, and timestamps.

Every struct is immutable, and its fields follow the wire names in snake case (`lastTransitionTime` is
`last_transition_time`). Fields with their default value are left out on the wire, as Go's `omitempty` does.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, cast

import msgspec
from msgspec import Meta
from msgspec.structs import force_setattr

Manifest = dict[str, Any]
"""A whole object of any kind as a JSON mapping: users' templates, and everything in the API server."""

ReadOnlyManifest = Mapping[str, Any]

Int32 = Annotated[int, Meta(extra_json_schema={"format": "int32"})]
Int64 = Annotated[int, Meta(extra_json_schema={"format": "int64"})]

ATOMIC = Meta(extra_json_schema={"x-kubernetes-list-type": "atomic"})
"""Mark of a list that server-side apply replaces as a whole."""


class Object(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    """Base of all wire structs."""


FIRST, LAST = datetime(1900, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)
MOST = 10**9


def countable(instant: datetime) -> datetime:
    """`instant`, or the nearest from which centuries can be counted in both directions, and that has each time zone."""
    return min(max(instant, FIRST), LAST)


class Dated(Object, frozen=True):
    """Base of wire structs with instants, which others may have written: each is read as one that can be counted
    from."""

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, datetime) and not FIRST <= value <= LAST:
                force_setattr(self, name, countable(value))


class Counted(Dated, frozen=True):
    """Base of wire structs with counts and seconds, too: each is read as the nearest that can be counted on from."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if isinstance(value, int) and not 0 <= value <= MOST:
                force_setattr(self, name, min(max(value, 0), MOST))


class OwnerReference(Object, frozen=True):
    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Object, frozen=True):
    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: datetime | None = None
    deletion_timestamp: datetime | None = None
    deletion_grace_period_seconds: int | None = None
    labels: Mapping[str, str] = {}
    annotations: Mapping[str, str] = {}
    finalizers: tuple[str, ...] = ()
    owner_references: tuple[OwnerReference, ...] = ()


class LabelSelectorRequirement(Object, frozen=True):
    key: str
    operator: str
    values: Annotated[tuple[str, ...], ATOMIC] = ()


class LabelSelector(Object, frozen=True):
    match_labels: Mapping[str, str] = {}
    match_expressions: Annotated[tuple[LabelSelectorRequirement, ...], ATOMIC] = ()


def wire_time(instant: datetime) -> datetime:
    """`instant` as `metav1.Time` keeps it: in UTC, cut to whole seconds."""
    return instant.astimezone(UTC).replace(microsecond=0)


def format_time(instant: datetime) -> str:
    """RFC 3339 in UTC with whole seconds, as Kubernetes prints `metav1.Time`."""
    return f"{instant.astimezone(UTC).isoformat(timespec='seconds')[:19]}Z"


def format_micro_time(instant: datetime) -> str:
    """RFC 3339 in UTC with microseconds, as Kubernetes prints `metav1.MicroTime`."""
    return f"{instant.astimezone(UTC).isoformat(timespec='microseconds')[:26]}Z"


def parse_time(text: str) -> datetime:
    """Reads RFC 3339, as an instant that can be counted from. Raises: ValueError."""
    return countable(exact_time(text))


def exact_time(text: str) -> datetime:
    """Reads RFC 3339. Raises: ValueError."""
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return instant


def labels_of(manifest: ReadOnlyManifest) -> dict[str, str]:
    return cast(dict[str, str], manifest["metadata"].get("labels") or {})


def annotations_of(manifest: ReadOnlyManifest) -> dict[str, str]:
    return cast(dict[str, str], manifest["metadata"].get("annotations") or {})


class TypedObject(Object, frozen=True):
    """An object of a kind that has a type here, or where it is used."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace


def unversioned(metadata: ObjectMeta) -> ObjectMeta:
    """The metadata without the version, which each write changes."""
    return msgspec.structs.replace(metadata, resource_version="")


def is_same_state(before: TypedObject, after: TypedObject) -> bool:
    """Tells whether two states of an object differ in their versions alone."""
    metadata = msgspec.structs.replace(after.metadata, resource_version=before.metadata.resource_version)
    return before == msgspec.structs.replace(after, metadata=metadata)
