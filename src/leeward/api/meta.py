"""What all Kubernetes objects share: metadata, conditions, owner references, selectors' wire form, and timestamps.

Every struct is immutable, and its fields follow the wire names in snake case (`lastTransitionTime` is
`last_transition_time`). Fields with their default value are left out on the wire, as Go's `omitempty` does.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

Manifest = dict[str, Any]
"""A whole object of any kind as a JSON mapping: users' templates, and everything in the API server."""

ReadOnlyManifest = Mapping[str, Any]


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


class Condition(Object, frozen=True):
    """`metav1.Condition`; `status` is `True`, `False` or `Unknown`."""

    type: str
    status: str
    reason: str
    message: str = ""
    last_transition_time: datetime | None = None
    observed_generation: int = 0


class LabelSelectorRequirement(Object, frozen=True):
    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(Object, frozen=True):
    match_labels: Mapping[str, str] = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


def find_condition(conditions: Iterable[Condition], condition_type: str) -> Condition | None:
    return next((c for c in conditions if c.type == condition_type), None)


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
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_micro_time(instant: datetime) -> str:
    """RFC 3339 in UTC with microseconds, as Kubernetes prints `metav1.MicroTime`."""
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def parse_time(text: str) -> datetime:
    """Reads RFC 3339. Raises: ValueError."""
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return instant
