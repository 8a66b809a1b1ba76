"""Routing from a path to what it names.

    /api/v1/namespaces/{namespace}/pods/{name}/status        /apis/{group}/{version}/{plural}/{name}
    /api/v1/watch/namespaces/{namespace}/pods/{name}         an older way to say `?watch=true`

An unknown path within a built-in group is a 404 with a Status; anywhere else it is a plain 404 page, as it would be
on a server that has never heard of the group.
"""

from dataclasses import dataclass

from msgspec import Struct, structs

from kubeserver.kinds.kind import Kind
from kubeserver.kinds.scheme import Scheme

WATCH = "watch"
"""Part of a path before what is to be watched."""


class Target(Struct, frozen=True):
    """A collection of objects (no name), one object, or a subresource of it.

    A subresource that a custom kind does not have is no path that is unknown: the kind answers for it.
    """

    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    watched: bool = False
    """Tells whether the path says that it is to be watched."""


@dataclass(frozen=True, slots=True)
class GroupPath:
    """A path that stays above the kinds: `/apis`, `/apis/{group}`, `/apis/{group}/{version}`; `/api` has group ""."""

    group: str | None
    version: str = ""


@dataclass(frozen=True, slots=True)
class Unknown:
    """`known_group`: the group is one of the server's own."""

    known_group: bool


Route = Target | GroupPath | Unknown


def route(scheme: Scheme, path: str) -> Route:
    parts = [] if path.startswith("//") else path.strip("/").split("/")
    if parts[:1] == ["api"]:
        return _route_group(scheme, "", parts[1:], path)
    if parts == ["apis"]:
        return GroupPath(None)
    if parts[:1] == ["apis"]:
        return _route_group(scheme, parts[1], parts[2:], path)
    return Unknown(False)


def _route_group(scheme: Scheme, group: str, parts: list[str], path: str) -> Route:
    known = scheme.is_builtin_group(group)
    versions = scheme.versions_of_group(group)
    if not versions:
        return Unknown(False)
    if not parts:
        return GroupPath(group)
    if parts[0] not in versions:
        return Unknown(known)
    if len(parts) == 1:
        return GroupPath(group, parts[0])
    return _route_target(scheme, group, parts[0], parts[1:]) or Unknown(known)


def _route_target(scheme: Scheme, group: str, version: str, parts: list[str]) -> Target | None:
    if parts[0] == WATCH and len(parts) > 1:
        found = _route_target(scheme, group, version, parts[1:])
        return structs.replace(found, watched=True) if found is not None and _can_be_watched(found) else None
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 2 and scheme.find(group, version, parts[2]) is not None:
        inner = scheme.find(group, version, parts[2])
        if inner is not None and inner.namespaced:
            namespace, parts = parts[1], parts[2:]
    kind = scheme.find(group, version, parts[0])
    if kind is None or len(parts) > 3 or not _fits(kind, namespace, parts[1:]):
        return None
    name, subresource = (*parts[1:], "", "")[:2]
    return Target(kind, namespace, name, subresource)


def _can_be_watched(target: Target) -> bool:
    return not (target.subresource or target.watched or target.kind.ephemeral or target.kind.derived)


def _fits(kind: Kind, namespace: str, rest: list[str]) -> bool:
    """Objects of namespaced kinds are only found in their namespace."""
    if kind.namespaced and rest and not namespace:
        return False
    return len(rest) < 2 or kind.custom or rest[1] in kind.all_subresources
