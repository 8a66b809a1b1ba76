"""All clusters as one: the answers of `clusters/*/proxy`.

    kubectl get --raw '/apis/cluster.karmada.io/v1alpha1/clusters/*/proxy/api/v1/namespaces/default/pods'

    a list              the lists of all clusters in one; a table has a column more, which names the cluster
    one object          whatever is asked of it goes to the one cluster that has it
    no resource         the control plane answers: /version, /apis, /openapi/v3, ...

Who cannot be reached in time is not taken for empty: a warning names it. Names say nothing here about whose they are,
so nothing can be created, watched, or deleted in the plural.

Karmada: pkg/registry/cluster/storage/aggregate.go; the same, but that it leaves out silently whom it cannot reach, and
has no tables.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, cast
from urllib.parse import unquote_plus

from msgspec import structs

from kubeapi import codec
from kubeapi.loop import run_beside
from kubeapi.meta import Manifest
from kubeapi.text import shown
from kubeapi.transport import Request, Response
from kubeclient import Client, WorldError
from kubeclient.forwarding import Conversation, Forwarded
from kubeserver import errors
from kubeserver.auth.authorization.attributes import attributes_of
from kubeserver.handler import Handler, StreamResponse
from kubeserver.handlers.connecting import ConnectRequest
from leeward.api.resource import CLUSTERS

EVERY_CLUSTER = "*"
ANSWER_SECONDS = 15.0
MAX_LIST_BYTES = 32 * 1024 * 1024
"""Most bytes of a list of one cluster."""
MAX_MESSAGE = 200
"""Letters of a cluster's own message in a warning."""
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
_PAGES = ("limit", "continue", "resourceVersion", "resourceVersionMatch")
_COLUMN = {"name": "Cluster", "type": "string", "format": "", "description": "The cluster it is in.", "priority": 0}

Forward = Callable[[ConnectRequest], Awaitable[Forwarded | Conversation]]
"""Asks one cluster. Raises: Refused where it cannot be reached."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """`missing` is why there is none; `code` is 0 then."""

    cluster: str
    code: int
    body: bytes
    missing: str = ""


class AllClusters:
    def __init__(self, client: Client, forward: Forward, own: Handler) -> None:
        self._client = client
        self._forward = forward
        self._own = own

    async def answer_or_find(self, asked: ConnectRequest) -> Response | StreamResponse | str:
        """An answer, or the name of the one cluster that it is for. Raises: Refused."""
        headers = {name: value for name, value in asked.request.headers.items() if not name.startswith("impersonate-")}
        inner = structs.replace(asked.request, path=asked.path, headers=headers)
        attributes = attributes_of(inner)
        if not attributes.resource:
            return await self._own.handle(inner, asked.user)
        if attributes_of(Request("DELETE", asked.path)).name:
            return await self._find(asked)
        if attributes.verb != "list":
            said = f"{attributes.verb} is not supported for all clusters at once: name one instead of {EVERY_CLUSTER}"
            raise errors.method_not_supported(said)
        return await self._list(asked)

    async def _find(self, asked: ConnectRequest) -> str:
        """Finds the one cluster that has the object."""
        path = _object_path(asked.path)
        request = Request("GET", path, {}, {"accept": "application/json"})
        answers = await self._ask_all(replace(asked, path=path, request=request))
        having = [answer.cluster for answer in answers if answer.code == 200]
        if len(having) == 1:
            return having[0]
        if having:
            raise errors.ambiguous(f"it exists in more than one cluster: {', '.join(having)}: name one of them")
        missing = "".join(f"; {answer.missing}" for answer in answers if answer.missing)
        said = f"no cluster has {path}, or none that you may see{missing}"
        raise errors.unavailable(said) if missing else errors.found_nowhere(said)

    async def _list(self, asked: ConnectRequest) -> Response:
        table = "as=Table" in asked.request.headers.get("accept", "")
        query = {key: value for key, value in asked.request.query.items() if key not in _PAGES}
        headers = {"accept": _TABLE if table else "application/json"}
        request = Request("GET", asked.path, query, headers, query_string=_without_pages(asked.request.query_string))
        answers = await self._ask_all(replace(asked, request=request))
        lists = [(answer, await run_beside(_listed, answer.body, table)) for answer in answers if answer.code == 200]
        listed = [_List(answer.cluster, found) for answer, found in lists if found is not None]
        said = [answer.missing or _refusal(answer) for answer in answers if answer.code not in (200, 404)]
        said += [f"cluster {answer.cluster} has answered what is no list" for answer, found in lists if found is None]
        if not listed:
            why = "; ".join(said) or "no cluster serves it"
            raise errors.unavailable(why) if said else errors.found_nowhere(why)
        merged = _merged_tables(listed) if table else _merged(listed)
        encoded = await run_beside(codec.encode, merged)
        return Response(200, encoded, {"content-type": "application/json", **errors.warning_header(said)})

    async def _ask_all(self, asked: ConnectRequest) -> list[_Answer]:
        clusters = (await self._client.list(CLUSTERS)).items
        names = sorted(cluster.name for cluster in clusters)
        return await asyncio.gather(*(self._ask(replace(asked, name=name)) for name in names))

    async def _ask(self, asked: ConnectRequest) -> _Answer:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                answer = await self._forward(asked)
                assert isinstance(answer, Forwarded), "no list is a conversation"
                return _Answer(asked.name, answer.code, await _read(answer.chunks))
        except TimeoutError:
            return _Answer(asked.name, 0, b"", f"cluster {asked.name} does not answer within {ANSWER_SECONDS:g} s")
        except (errors.Refused, WorldError, _TooMuch) as error:
            return _Answer(asked.name, 0, b"", str(error))


class _TooMuch(Exception):
    """A list that is larger than the bound for one cluster."""


async def _read(chunks: AsyncGenerator[bytes, None]) -> bytes:
    body = bytearray()
    async with aclosing(chunks) as stream:
        async for chunk in stream:
            body += chunk
            if len(body) > MAX_LIST_BYTES:
                raise _TooMuch(f"a list of more than {MAX_LIST_BYTES} bytes: narrow it down with a selector")
    return bytes(body)


def _without_pages(query_string: str) -> str:
    """The query as it came, without the choice of a page."""
    parameters = query_string.split("&")
    return "&".join(each for each in parameters if unquote_plus(each.partition("=")[0]) not in _PAGES)


def _object_path(path: str) -> str:
    """Path of the object itself, where a subresource of it is asked for."""
    asked = attributes_of(Request("DELETE", path))
    own = f"/{asked.resource}/{asked.name}"
    return path.partition(f"{own}/{asked.subresource}")[0] + own if asked.subresource else path


def _refusal(answer: _Answer) -> str:
    message = shown(str(_decoded(answer.body).get("message", "")), MAX_MESSAGE)
    return f"cluster {answer.cluster} has answered {answer.code}: {message}"


def _decoded(body: bytes) -> Manifest:
    try:
        return codec.decode_manifest(body)
    except codec.DecodeError:
        return {}


@dataclass(frozen=True, slots=True)
class _List:
    """Answer of one cluster to a list; its entries have been looked at."""

    cluster: str
    body: Manifest


def _listed(body: bytes, table: bool) -> Manifest | None:
    """The list, or the table; None for any other answer."""
    decoded = _decoded(body)
    entries = "rows" if table else "items"
    found: object = decoded.get(entries)
    items: object = [] if found is None else found
    if not str(decoded.get("kind", "")).endswith("Table" if table else "List") or not isinstance(items, list):
        return None
    if not all(isinstance(item, dict) for item in cast("list[object]", items)):
        return None
    if table and not all(isinstance(row.get("cells"), list) for row in cast("list[Manifest]", items)):
        return None
    return {**decoded, entries: items}


def _merged(lists: Sequence[_List]) -> Manifest:
    items = [item for one in lists for item in one.body["items"]]
    first = lists[0].body
    head = {"apiVersion": str(first.get("apiVersion", "")), "kind": str(first["kind"])}
    return {**head, "metadata": {"resourceVersion": ""}, "items": items}


def _merged_tables(tables: Sequence[_List]) -> Manifest:
    columns: object = tables[0].body.get("columnDefinitions") or []
    named = cast("list[Any]", columns) if isinstance(columns, list) else []
    rows = [
        {**row, "cells": [*row["cells"][:1], table.cluster, *row["cells"][1:]]}
        for table in tables
        for row in table.body["rows"]
    ]
    return {
        "apiVersion": "meta.k8s.io/v1",
        "kind": "Table",
        "metadata": {"resourceVersion": ""},
        "columnDefinitions": [*named[:1], _COLUMN, *named[1:]],
        "rows": rows,
    }
