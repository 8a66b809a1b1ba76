"""Metadata that the kinds share which Leeward decides about, beyond Kubernetes' own metadata (`kubeapi.meta`): their
base, their conditions, and what a field says to the schemas that are made of them."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta, field

from kubeapi.meta import Dated, wire_time
from kubeapi.text import shortened

MOST_MESSAGE = 32_768
"""Letters that the message of a condition may have, as in Kubernetes."""

ON_WIRE = Meta(extra={"on_wire": True})
"""Mark of a field with a struct default: the schema requires it all the same, as Karmada's does."""

UNCHECKED = Meta(extra={"unchecked": True})
"""Mark of a field whose schema names the types alone: no field in it is required, and no value refused."""


def schema_default(value: object) -> Meta:
    """Mark of a field with what the API server fills in. The struct's own default stays "absent", so that nothing is
    lost."""
    return Meta(extra_json_schema={"default": value})


_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = rf"({_LABEL}(\.{_LABEL})*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])"
_CONDITION_TYPE = {"maxLength": 316, "pattern": f"^{_QUALIFIED}$"}
_CONDITION_REASON = {"minLength": 1, "maxLength": 1024, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"}


class Condition(Dated, frozen=True):
    """`metav1.Condition`; `status` is `True`, `False` or `Unknown`. An empty message is on the wire, too.

    Any of the texts may be missing in the status of a Cluster, which others report unchecked."""

    type: Annotated[str, Meta(extra_json_schema=_CONDITION_TYPE), ON_WIRE] = field(default_factory=str)
    status: Annotated[str, Meta(extra_json_schema={"enum": ["True", "False", "Unknown"]}), ON_WIRE] = field(
        default_factory=str
    )
    reason: Annotated[str, Meta(extra_json_schema=_CONDITION_REASON), ON_WIRE] = field(default_factory=str)
    message: Annotated[str, Meta(extra_json_schema={"maxLength": MOST_MESSAGE}), ON_WIRE] = field(default_factory=str)
    last_transition_time: Annotated[datetime | None, ON_WIRE] = None
    observed_generation: Annotated[int, Meta(extra_json_schema={"format": "int64", "minimum": 0})] = 0


def find_condition(conditions: Iterable[Condition], condition_type: str, status: str = "") -> Condition | None:
    """The condition of the type; None also where its status is another than the one that is asked for."""
    for condition in conditions:
        if condition.type == condition_type:
            return condition if status in ("", condition.status) else None
    return None


def set_condition(conditions: Sequence[Condition], condition: Condition, now: datetime) -> tuple[Condition, ...]:
    """`conditions` with `condition` put in its place; `lastTransitionTime` moves only when the status does.

    Same as apimachinery's `meta.SetStatusCondition`. A message that no API server would store is cut.
    """
    old = find_condition(conditions, condition.type)
    if old is not None and old.status == condition.status and old.last_transition_time is not None:
        since = old.last_transition_time
    else:
        since = condition.last_transition_time or wire_time(now)
    message = shortened(condition.message, MOST_MESSAGE)
    new = msgspec.structs.replace(condition, message=message, last_transition_time=since)
    if old is None:
        return (*conditions, new)
    return tuple(new if c.type == condition.type else c for c in conditions)


def remove_condition(conditions: Sequence[Condition], condition_type: str) -> tuple[Condition, ...]:
    return tuple(c for c in conditions if c.type != condition_type)


def put_condition(
    conditions: Sequence[Condition], condition_type: str, condition: Condition | None, now: datetime
) -> tuple[Condition, ...]:
    """`conditions` with this one of its type, or with none of that type."""
    return (
        remove_condition(conditions, condition_type) if condition is None else set_condition(conditions, condition, now)
    )
