"""Unreported replicas: what other bindings have been given and their clusters do not report yet, for a question about
one binding.

Bindings are listed as a table of a few columns, so that a fleet of ten thousand is one small answer for each page; only
those that are not fully applied are read, and of these as many as are bounded.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from kubeapi.codec import decode
from kubeapi.errors import error_of
from kubeapi.meta import Object, ObjectMeta
from kubeapi.resource import Resource
from kubeclient import Client, NotFound
from leeward.answers.fleet_state import BindingName
from leeward.api.resource import CLUSTER_RESOURCE_BINDINGS, RESOURCE_BINDINGS
from leeward.api.work import ClusterResourceBinding, ResourceBinding

T = TypeVar("T")
PAGE = 500
MOST_READ = 200
AT_ONCE = 10
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
COLUMN = "FULLYAPPLIED"
"""Column of the CRDs of Karmada and of Leeward, in any case of letters."""


class UnreportedReplicas(NamedTuple):
    """Bindings that are not fully applied; `more` were not read."""

    bindings: tuple[ResourceBinding, ...] = ()
    cluster_bindings: tuple[ClusterResourceBinding, ...] = ()
    more: int = 0


class _Definition(Object, frozen=True):
    name: str


class _RowObject(Object, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class _Row(Object, frozen=True):
    cells: tuple[Any, ...] = ()
    object: _RowObject | None = None


class _Table(Object, frozen=True):
    column_definitions: tuple[_Definition, ...] = ()
    rows: tuple[_Row, ...] = ()
    metadata: Mapping[str, Any] = {}


async def read_unreported(client: Client, but: BindingName) -> UnreportedReplicas:
    """Reads what arrives of all bindings `but` one. Raises: WorldError."""
    local = [key async for key in _not_applied(client, RESOURCE_BINDINGS) if key != but]
    wide = [key async for key in _not_applied(client, CLUSTER_RESOURCE_BINDINGS) if key != but]
    read_local, read_wide = local[:MOST_READ], wide[:MOST_READ]
    more = len(local) + len(wide) - len(read_local) - len(read_wide)
    return UnreportedReplicas(
        tuple([each async for each in _read(client, RESOURCE_BINDINGS, read_local)]),
        tuple([each async for each in _read(client, CLUSTER_RESOURCE_BINDINGS, read_wide)]),
        more,
    )


async def _read(client: Client, resource: Resource[T], keys: Sequence[BindingName]) -> AsyncGenerator[T, None]:
    """Objects of these keys that are still there."""
    for begin in range(0, len(keys), AT_ONCE):
        asked = [client.get(resource, key.name, key.namespace) for key in keys[begin : begin + AT_ONCE]]
        for answer in await asyncio.gather(*asked, return_exceptions=True):
            if isinstance(answer, BaseException) and not isinstance(answer, NotFound):
                raise answer
            if not isinstance(answer, BaseException):
                yield answer


async def _not_applied(client: Client, resource: Resource[Any]) -> AsyncGenerator[BindingName, None]:
    """Pages of bindings, each without names first, and with them where it has any."""
    token = ""
    while True:
        table = await _page(client, resource, token, "None")
        if any(True for _ in _rows(table)):
            for row in _rows(await _page(client, resource, token, "Metadata")):
                if row.object is not None:
                    yield BindingName(row.object.metadata.namespace, row.object.metadata.name)
        token = str(table.metadata.get("continue") or "")
        if not token:
            return


def _rows(table: _Table) -> Iterator[_Row]:
    names = [definition.name.upper() for definition in table.column_definitions]
    column = names.index(COLUMN) if COLUMN in names else None
    for row in table.rows:
        if column is not None and column < len(row.cells) and row.cells[column] != "True":
            yield row


async def _page(client: Client, resource: Resource[Any], token: str, include: str) -> _Table:
    query = {"limit": str(PAGE), "includeObject": include, **({"continue": token} if token else {})}
    response = await client.raw("GET", resource.path(), accept=TABLE, query=query)
    if response.code >= 400:
        raise error_of(response.code, response.body)
    return decode(response.body, _Table)
