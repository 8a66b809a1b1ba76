"""OpenAPI: what kubectl asks for before it creates, applies or explains something.

Version 3 has one document per group and version, with the paths, their parameters, and the schemas of all that lies
there; version 2 has the schemas alone. What a schema says is in `openapi_types.py`.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from leeward.api import codec
from leeward.apiserver.catalog import Catalog
from leeward.apiserver.health import KUBERNETES_VERSION
from leeward.apiserver.kinds.kind import Kind
from leeward.apiserver.negotiation import JSON, parse_accept
from leeward.apiserver.openapi_types import V2, V3, definition_name, definitions, identity
from leeward.apiserver.refusals import not_acceptable, page_not_found
from leeward.client.transport import Request, Response

_READ = ("pretty",)
_WRITE = ("dryRun", "fieldManager", "fieldValidation", "pretty")
_LIST = (
    "allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "pretty", "resourceVersion",
    "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch",
)  # fmt: skip
_DELETE = ("dryRun", "gracePeriodSeconds", "orphanDependents", "pretty", "propagationPolicy")
_ACTIONS = {"get": "get", "put": "put", "post": "post", "patch": "patch", "delete": "delete"}
_PATCH_TYPES = ("application/json-patch+json", "application/merge-patch+json")
"""Without the strategic one: kubectl would take it for a promise that the schemas here say how lists are merged."""

V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


def _message(*fields: tuple[int, bytes]) -> bytes:
    """A protobuf message of length-delimited fields shorter than 128 bytes."""
    return b"".join(bytes((number << 3 | 2, len(content))) + content for number, content in fields)


_V2_INFO = _message((1, b"Kubernetes"), (2, KUBERNETES_VERSION.encode()))
_EMPTY_V2_PROTOBUF = _message((1, b"2.0"), (2, _V2_INFO), (8, b""))
"""A document without paths: kubectl asks for it when version 3 does not know a kind, and then says so itself."""


class OpenApi:
    """Documents about a catalog; each is made once per change of the catalog."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._documents: dict[str, bytes] = {}
        self._generation = -1

    def answer(self, request: Request) -> Response:
        """The answer to a path under `/openapi/`. Raises: Refused (406) for formats other than JSON."""
        accepted = parse_accept(request.headers.get("accept", ""))
        if request.path.rstrip("/") == "/openapi/v2" and any(element.name == V2_PROTOBUF for element in accepted):
            return Response(200, _EMPTY_V2_PROTOBUF, {"content-type": V2_PROTOBUF.replace("@", ".")})
        if not any(element.name in ("", "*/*", JSON) for element in accepted):
            raise not_acceptable([JSON])
        path = request.path.rstrip("/")
        if path == "/openapi/v2":
            return _json(self._document("v2"))
        if path == "/openapi/v3":
            return _json(self._document("index"))
        name = path.removeprefix("/openapi/v3/")
        if name not in dict(self._groups()):
            return page_not_found()
        return _json(self._document(name))

    def _document(self, name: str) -> bytes:
        if self._generation != self._catalog.generation:
            self._documents.clear()
            self._generation = self._catalog.generation
        if name not in self._documents:
            self._documents[name] = codec.encode(self._render(name))
        return self._documents[name]

    def _render(self, name: str) -> dict[str, Any]:
        match name:
            case "v2":
                return self._version_two()
            case "index":
                return {"paths": {group: self._index_entry(group) for group, _ in self._groups()}}
            case _:
                return _version_three(name, dict(self._groups())[name])

    def _groups(self) -> Iterator[tuple[str, list[Kind]]]:
        """The documents' names, `api/v1` or `apis/apps/v1`, and their kinds."""
        for group in ("", *self._catalog.groups()):
            for version in self._catalog.versions_of_group(group):
                kinds = [kind for kind in self._catalog.kinds_of_group(group) if kind.version == version]
                yield (f"apis/{group}/{version}" if group else f"api/{version}"), kinds

    def _index_entry(self, name: str) -> dict[str, str]:
        digest = hashlib.sha256(self._document(name)).hexdigest().upper()
        return {"serverRelativeURL": f"/openapi/v3/{name}?hash={digest}"}

    def _version_two(self) -> dict[str, Any]:
        schemas = definitions(self._catalog.kinds(), V2)
        return {"swagger": "2.0", "info": _INFO, "paths": {}, "definitions": schemas}


_INFO = {"title": "Kubernetes", "version": KUBERNETES_VERSION}


def _json(body: bytes) -> Response:
    return Response(200, body, {"content-type": JSON})


def _version_three(name: str, kinds: Sequence[Kind]) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for kind in kinds:
        paths |= _paths(f"/{name}", kind)
    schemas = definitions(kinds, V3)
    return {"openapi": "3.0.0", "info": _INFO, "paths": paths, "components": {"schemas": schemas}}


def _paths(root: str, kind: Kind) -> dict[str, Any]:
    scope = "/namespaces/{namespace}" if kind.namespaced else ""
    collection = f"{root}{scope}/{kind.plural}"
    if kind.ephemeral:
        return {collection: _operations(kind, {"post": _WRITE})}
    paths = {
        collection: _operations(kind, {"get": _LIST, "post": _WRITE, "delete": _DELETE}, collection=True),
        f"{collection}/{{name}}": _operations(
            kind, {"get": _READ, "put": _WRITE, "patch": (*_WRITE, "force"), "delete": _DELETE}
        ),
    }
    for subresource in kind.all_subresources:
        operations = {"get": _READ, "put": _WRITE, "patch": (*_WRITE, "force")}
        paths[f"{collection}/{{name}}/{subresource}"] = _operations(kind, operations)
    if kind.namespaced:
        paths[f"{root}/{kind.plural}"] = _operations(kind, {"get": _LIST}, collection=True)
    return paths


def _operations(kind: Kind, wanted: Mapping[str, Sequence[str]], *, collection: bool = False) -> dict[str, Any]:
    return {
        method: {
            "operationId": f"{method}{kind.group.title().replace('.', '')}{kind.version.title()}{kind.kind}",
            "parameters": [_parameter(name) for name in parameters],
            "responses": {"200": {"description": "OK", "content": _content(kind)}},
            "x-kubernetes-action": _action(method, collection),
            "x-kubernetes-group-version-kind": identity(kind),
            **(_request_body(method, kind) if method in ("post", "put", "patch") else {}),
        }
        for method, parameters in wanted.items()
    }


def _action(method: str, collection: bool) -> str:
    if collection:
        return {"get": "list", "delete": "deletecollection"}.get(method, method)
    return _ACTIONS[method]


def _parameter(name: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}


def _content(kind: Kind) -> dict[str, Any]:
    return {JSON: {"schema": {"$ref": f"#/components/schemas/{definition_name(kind)}"}}}


def _request_body(method: str, kind: Kind) -> dict[str, Any]:
    if method != "patch":
        return {"requestBody": {"content": _content(kind), "required": True}}
    content = {media_type: {"schema": {"type": "object"}} for media_type in _PATCH_TYPES}
    return {"requestBody": {"content": content, "required": True}}
