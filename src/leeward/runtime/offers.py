"""What a discovery document says, in its plain and in its aggregated form. Reads; asks nobody.

A server that knows the aggregated form (Kubernetes 1.26 and later) says everything in two documents, `/api` and
`/apis`; others name their group versions there, and have a document for each.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec

from leeward.api import codec
from leeward.client import Undecodable

AGGREGATED = "APIGroupDiscoveryList"
ACCEPT = ",".join(
    [*(f"application/json;g=apidiscovery.k8s.io;v={v};as={AGGREGATED}" for v in ("v2", "v2beta1")), "application/json"]
)
"""The aggregated form where there is one, else the plain one."""

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
    """The document of one group version. Raises: Undecodable."""
    return _read(body, _Resources).resources


def read_root(body: bytes) -> Root:
    """Raises: Undecodable."""
    root = _read(body, _Root)
    if root.kind == AGGREGATED:
        return {name: offered for group in _read(body, _AggregatedList).items for name, offered in _versions(group)}
    return [*root.versions, *(version.group_version for group in root.groups for version in group.versions)]


def _versions(group: _AggregatedGroup) -> Iterator[tuple[str, Sequence[OfferedResource] | None]]:
    prefix = f"{group.metadata.name}/" if group.metadata.name else ""
    for version in group.versions:
        yield prefix + version.version, None if version.freshness == "Stale" else list(_resources(version))


def _resources(version: _AggregatedVersion) -> Iterator[OfferedResource]:
    """What only stands for its subresources has no kind."""
    for resource in version.resources:
        if resource.response_kind is not None and resource.response_kind.kind:
            yield OfferedResource(resource.resource, resource.response_kind.kind, resource.scope == "Namespaced")


def _read(body: bytes, as_type: type[T]) -> T:
    try:
        return codec.decode(body, as_type)
    except codec.DecodeError as error:
        raise Undecodable(f"discovery: {error}") from error
