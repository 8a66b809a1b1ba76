"""Shapes of all that is kept by one version and opened by the next: each field by its path, with what it may hold.

`outage.spec.cluster` is `!str`: text, which must be there. A closed set names its members. `breaking_changes` compares
what an earlier version has kept with what this one reads.
"""

from collections.abc import Iterator, Mapping

import msgspec
from msgspec import inspect

from kubeserver.store.sqlite import SCHEMA_VERSION
from leeward.answers.fleet_state import RecordedFleet
from leeward.api.cluster import Cluster
from leeward.api.outage import ClusterOutage
from leeward.api.policy import ClusterPropagationPolicy, PropagationPolicy
from leeward.api.work import ClusterResourceBinding, ResourceBinding, Work
from leeward.app.local.archive import FORMAT_VERSION as BACKUP_VERSION
from leeward.app.local.fleet import FORMAT_VERSION as FLEET_VERSION
from leeward.app.local.fleet import LocalFleet
from leeward.app.local.processes import ProcessRecord
from leeward.app.migration.record import ClusterRecord, SwitchRecord
from leeward.core.cluster_health.flap_damping import Flapping
from leeward.core.settings_in_force import SettingsInForce
from leeward.planning.recording import RecordedSnapshot

ROOTS: Mapping[str, type] = {
    "fleet.json": LocalFleet,
    "run/COMPONENT.json": ProcessRecord,
    "cluster": Cluster,
    "policy": PropagationPolicy,
    "binding": ResourceBinding,
    "work": Work,
    "outage": ClusterOutage,
    "snapshot": RecordedFleet,
    "decision": RecordedSnapshot,
    "switch": SwitchRecord,
    "switch.cluster": ClusterRecord,
    "heartbeat.settings": SettingsInForce,
    "cluster.flapping": Flapping,
}
KINDS = frozenset((Cluster, PropagationPolicy, ClusterPropagationPolicy, ResourceBinding, ClusterResourceBinding, Work))
"""Kinds with a root of their own, which say nothing new where they are within another one."""
NUMBERS = {"store": SCHEMA_VERSION, "backup": BACKUP_VERSION, "fleet.json": FLEET_VERSION}
Shapes = dict[str, str]


def shapes() -> Shapes:
    """Types by path, and the number of each format that has one."""
    found: Shapes = {f"{name}#": str(number) for name, number in NUMBERS.items()}
    for name, root in ROOTS.items():
        for path, kind in _walk(name, inspect.type_info(root), ()):
            found[path] = kind
    return dict(sorted(found.items()))


def breaking_changes(before: Shapes, now: Shapes) -> list[str]:
    """Changes after which what was kept `before` is read otherwise, or not at all."""
    gone = [f"{path}: is not read any more" for path in before if path not in now]
    other = [
        f"{path}: was {kind}, and is {now[path]}"
        for path, kind in before.items()
        if path in now and not _reads(kind, now[path])
    ]
    parents = {_parent(path) for path in before} | before.keys()
    required = [
        f"{path}: must be there, and was not kept"
        for path, kind in now.items()
        if path not in before and kind.startswith("!") and _parent(path) in parents
    ]
    return gone + other + required


def _reads(kept: str, now: str) -> bool:
    """Tells whether what was kept as one is read as the other: the same, or a closed set with more in it."""
    if kept == now or kept == f"!{now}":
        return True
    if not (kept.lstrip("!").startswith("one of ") and now.lstrip("!").startswith("one of ")):
        return False
    may_lack = now.startswith("!") <= kept.startswith("!")
    return may_lack and _members(kept) <= _members(now)


def _members(kind: str) -> set[str]:
    return set(kind.removeprefix("!").removeprefix("one of ").split(", "))


def _parent(path: str) -> str:
    return path.rpartition(".")[0].removesuffix("[]").removesuffix("{}")


def _walk(path: str, type_: inspect.Type, above: tuple[type, ...]) -> Iterator[tuple[str, str]]:
    for suffix, fields, whose in _objects(type_):
        if whose in above or (above and whose in KINDS):
            continue
        for field in fields:
            below = f"{path}{suffix}.{field.encode_name}"
            yield below, ("!" if field.required else "") + _text(field.type)
            yield from _walk(below, field.type, (*above, whose))


def _objects(type_: inspect.Type) -> Iterator[tuple[str, tuple[inspect.Field, ...], type]]:
    """Objects in a type, with how a path leads into them."""
    match type_:
        case inspect.StructType() | inspect.DataclassType() | inspect.TypedDictType():
            yield "", type_.fields, type_.cls
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            yield from ((f"[]{suffix}", fields, whose) for suffix, fields, whose in _objects(item))
        case inspect.DictType(value_type=value):
            yield from (("{}" + suffix, fields, whose) for suffix, fields, whose in _objects(value))
        case inspect.UnionType(types=types):
            for each in types:
                yield from _objects(each)
        case inspect.Metadata(type=inner):
            yield from _objects(inner)
        case _:
            return


def _text(type_: inspect.Type) -> str:
    match type_:
        case inspect.EnumType(cls=cls):
            return "one of " + ", ".join(str(each.value) for each in cls)
        case inspect.LiteralType(values=values):
            return "one of " + ", ".join(map(str, values))
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return f"list of {_text(item)}"
        case inspect.DictType(value_type=value):
            return f"mapping of {_text(value)}"
        case inspect.UnionType(types=types):
            return " or ".join(sorted(map(_text, types)))
        case inspect.Metadata(type=inner):
            return _text(inner)
        case _:
            return type(type_).__name__.removesuffix("Type").lower()


def read_shapes(data: bytes) -> Shapes:
    return msgspec.json.decode(data, type=dict[str, str])


def write_shapes(found: Shapes) -> bytes:
    return msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n"
