"""Contents of a discovery document, in its plain and in its aggregated form. Reads; asks nobody.

A server that knows the aggregated form (Kubernetes 1.26 and later) says everything in two documents, `/api` and
`/apis`; others name their group versions there, and have a document for each.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from kubeapi import codec
from kubeapi.errors import TooLarge
from kubeapi.text import shown
from kubeclient import Undecodable
from kubeclient.bounds import MAX_GROUP_VERSIONS, MAX_KINDS, MAX_NAME_LENGTH

AGGREGATED = "APIGroupDiscoveryList"
ACCEPT = ",".join(
    [*(f"application/json;g=apidiscovery.k8s.io;v={v};as={AGGREGATED}" for v in ("v2", "v2beta1")), "application/json"]
)
"""The aggregated form where there is one, else the plain one."""

_NAME = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_./]*")

T = TypeVar("T")


class OfferedResource(msgspec.Struct):
    """One kind, or in the plain form one of its subresources, which has a slash in its name."""

    name: str
    kind: str
    namespaced: bool = False


Root = Sequence[str] | Mapping[str, Sequence[OfferedResource] | None]
"""The group versions that must be asked one by one, or what all of them offer; None: one that does not answer."""


class _Resources(msgspec.Struct):
    resources: list[OfferedResource] = []


class _GroupVersion(msgspec.Struct, rename="camel"):
    group_version: str


class _Group(msgspec.Struct):
    versions: list[_GroupVersion] = []


class _Root(msgspec.Struct):
    """`/api` names versions, `/apis` groups; `kind` tells the aggregated form apart."""

    kind: str = ""
    versions: list[str] = []
    groups: list[_Group] = []


class _ResponseKind(msgspec.Struct):
    kind: str = ""


class _AggregatedResource(msgspec.Struct, rename="camel"):
    resource: str
    response_kind: _ResponseKind | None = None
    scope: str = ""


class _AggregatedVersion(msgspec.Struct):
    version: str
    freshness: str = ""
    resources: list[_AggregatedResource] = []


class _Name(msgspec.Struct):
    name: str = ""


class _AggregatedGroup(msgspec.Struct):
    metadata: _Name = msgspec.field(default_factory=_Name)
    versions: list[_AggregatedVersion] = []


class _AggregatedList(msgspec.Struct):
    items: list[_AggregatedGroup] = []


def read_resources(body: bytes) -> Sequence[OfferedResource]:
    """The document of one group version. Raises: Undecodable, TooLarge."""
    return _checked(_read(body, _Resources).resources)


def read_root(body: bytes) -> Root:
    """Raises: Undecodable, TooLarge."""
    root = _read(body, _Root)
    if root.kind == AGGREGATED:
        groups = _read(body, _AggregatedList).items
        found = {name: offered for group in groups for name, offered in _versions(group)}
        _checked([resource for resources in found.values() for resource in resources or ()])
        _check_versions(list(found))
        return found
    return _check_versions(
        [*root.versions, *(version.group_version for group in root.groups for version in group.versions)]
    )


def _checked(resources: Sequence[OfferedResource]) -> Sequence[OfferedResource]:
    """Raises: TooLarge, and Undecodable for a name that no kind has."""
    if len(resources) > MAX_KINDS:
        raise TooLarge(f"discovery: more than {MAX_KINDS} kinds")
    for resource in resources:
        for name in (resource.name, resource.kind):
            _check_name(name, "kind")
    return resources


def _check_versions(versions: Sequence[str]) -> Sequence[str]:
    """Raises: TooLarge, Undecodable."""
    if len(versions) > MAX_GROUP_VERSIONS:
        raise TooLarge(f"discovery: more than {MAX_GROUP_VERSIONS} group versions")
    for name in versions:
        _check_name(name, "group version")
    return versions


def _check_name(name: str, what: str) -> None:
    """Raises: Undecodable."""
    if len(name) > MAX_NAME_LENGTH or not _NAME.fullmatch(name):
        raise Undecodable(f"discovery: no {what} is called {shown(name, 80)!r}")


def _versions(group: _AggregatedGroup) -> Iterator[tuple[str, Sequence[OfferedResource] | None]]:
    prefix = f"{group.metadata.name}/" if group.metadata.name else ""
    for version in group.versions:
        yield prefix + version.version, None if version.freshness == "Stale" else list(_resources(version))


def _resources(version: _AggregatedVersion) -> Iterator[OfferedResource]:
    """Resources of a version. What only stands for its subresources has no kind, and is left out."""
    for resource in version.resources:
        if resource.response_kind is not None and resource.response_kind.kind:
            yield OfferedResource(resource.resource, resource.response_kind.kind, resource.scope == "Namespaced")


def _read(body: bytes, as_type: type[T]) -> T:
    try:
        return codec.decode(body, as_type)
    except codec.DecodeError as error:
        raise Undecodable(f"discovery: {error}") from error
