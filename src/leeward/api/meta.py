"""What all Kubernetes objects share: metadata, conditions, owner references, selectors' wire form, and timestamps.

Every struct is immutable, and its fields follow the wire names in snake case (`lastTransitionTime` is
`last_transition_time`). Fields with their default value are left out on the wire, as Go's `omitempty` does.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, cast

import msgspec
from msgspec import Meta, field

Manifest = dict[str, Any]
"""A whole object of any kind as a JSON mapping: users' templates, and everything in the API server."""

ReadOnlyManifest = Mapping[str, Any]

Int32 = Annotated[int, Meta(extra_json_schema={"format": "int32"})]
Int64 = Annotated[int, Meta(extra_json_schema={"format": "int64"})]

ATOMIC = Meta(extra_json_schema={"x-kubernetes-list-type": "atomic"})
"""On a list: server-side apply replaces it as a whole."""

ON_WIRE = Meta(extra={"on_wire": True})
"""On a field with a struct default: the schema requires it all the same, as Karmada's does."""


def schema_default(value: object) -> Meta:
    """On a field: what the API server fills in. The struct's own default stays "absent", so that nothing is lost."""
    return Meta(extra_json_schema={"default": value})


class Object(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    """Base of all wire structs."""


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


class TypedObject(Object, frozen=True):
    """An object of a kind that Leeward decides about."""

    api_version: str = ""
    kind: str = ""
    metadata: ObjectMeta = ObjectMeta()

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace


_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = rf"({_LABEL}(\.{_LABEL})*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])"
_CONDITION_TYPE = {"maxLength": 316, "pattern": f"^{_QUALIFIED}$"}
_CONDITION_REASON = {"minLength": 1, "maxLength": 1024, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"}


class Condition(Object, frozen=True):
    """`metav1.Condition`; `status` is `True`, `False` or `Unknown`. An empty message is on the wire, too."""

    type: Annotated[str, Meta(extra_json_schema=_CONDITION_TYPE)]
    status: Annotated[str, Meta(extra_json_schema={"enum": ["True", "False", "Unknown"]})]
    reason: Annotated[str, Meta(extra_json_schema=_CONDITION_REASON)]
    message: Annotated[str, Meta(extra_json_schema={"maxLength": 32768}), ON_WIRE] = field(default_factory=str)
    last_transition_time: Annotated[datetime | None, ON_WIRE] = None
    observed_generation: Annotated[int, Meta(extra_json_schema={"format": "int64", "minimum": 0})] = 0


class LabelSelectorRequirement(Object, frozen=True):
    key: str
    operator: str
    values: Annotated[tuple[str, ...], ATOMIC] = ()


class LabelSelector(Object, frozen=True):
    match_labels: Mapping[str, str] = {}
    match_expressions: Annotated[tuple[LabelSelectorRequirement, ...], ATOMIC] = ()


def find_condition(conditions: Iterable[Condition], condition_type: str) -> Condition | None:
    for condition in conditions:
        if condition.type == condition_type:
            return condition
    return None


def set_condition(conditions: Sequence[Condition], condition: Condition, now: datetime) -> tuple[Condition, ...]:
    """`conditions` with `condition` put in its place; `lastTransitionTime` moves only when the status does.

    Same as apimachinery's `meta.SetStatusCondition`.
    """
    old = find_condition(conditions, condition.type)
    if old is not None and old.status == condition.status and old.last_transition_time is not None:
        since = old.last_transition_time
    else:
        since = condition.last_transition_time or wire_time(now)
    new = msgspec.structs.replace(condition, last_transition_time=since)
    if old is None:
        return (*conditions, new)
    return tuple(new if c.type == condition.type else c for c in conditions)


def remove_condition(conditions: Sequence[Condition], condition_type: str) -> tuple[Condition, ...]:
    return tuple(c for c in conditions if c.type != condition_type)


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
    """Reads RFC 3339. Raises: ValueError."""
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return instant


def labels_of(manifest: ReadOnlyManifest) -> dict[str, str]:
    return cast(dict[str, str], manifest["metadata"].get("labels") or {})


def annotations_of(manifest: ReadOnlyManifest) -> dict[str, str]:
    return cast(dict[str, str], manifest["metadata"].get("annotations") or {})
