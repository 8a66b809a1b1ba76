"""The paths of kinds in OpenAPI: which operations there are, with which parameters, on objects of which kind.

Written in the dialects of `openapi_types.py`. Version 2 says only what clients of its time ask for: whether an
operation can be a dry run, and of which kind it is.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from kubeserver.discovery.openapi_types import V2, definition_name, identity
from kubeserver.kinds.kind import Kind
from kubeserver.negotiation import JSON

_READ = ("pretty",)
_WRITE = ("dryRun", "fieldManager", "fieldValidation", "pretty")
_LIST = (
    "allowWatchBookmarks", "continue", "fieldSelector", "labelSelector", "limit", "pretty", "resourceVersion",
    "resourceVersionMatch", "sendInitialEvents", "timeoutSeconds", "watch",
)  # fmt: skip
_DELETE = ("dryRun", "gracePeriodSeconds", "orphanDependents", "pretty", "propagationPolicy")
_ACTIONS = {"get": "get", "put": "put", "post": "post", "patch": "patch", "delete": "delete"}
_PATCH_TYPES = ("application/json-patch+json", "application/merge-patch+json")
"""Types of patches without the strategic one: kubectl would take it for a promise that the schemas here say how lists
are merged."""


def paths_of(root: str, kind: Kind, dialect: str) -> dict[str, Any]:
    """Every path below `root`, that of the group and version, by its template. `dialect` is V2 or V3."""
    scope = "/namespaces/{namespace}" if kind.namespaced else ""
    collection = f"{root}{scope}/{kind.plural}"
    if kind.ephemeral:
        return {collection: _operations(kind, dialect, {"post": _WRITE})}
    if kind.derived:
        return {
            collection: _operations(kind, dialect, {"get": _LIST}, collection=True),
            f"{collection}/{{name}}": _operations(kind, dialect, {"get": _READ}),
        }
    paths = {
        collection: _operations(kind, dialect, {"get": _LIST, "post": _WRITE, "delete": _DELETE}, collection=True),
        f"{collection}/{{name}}": _operations(
            kind, dialect, {"get": _READ, "put": _WRITE, "patch": (*_WRITE, "force"), "delete": _DELETE}
        ),
    }
    for subresource in kind.all_subresources:
        operations = {"get": _READ, "put": _WRITE, "patch": (*_WRITE, "force")}
        paths[f"{collection}/{{name}}/{subresource}"] = _operations(kind, dialect, operations)
    if kind.namespaced:
        paths[f"{root}/{kind.plural}"] = _operations(kind, dialect, {"get": _LIST}, collection=True)
    return paths


def _operations(
    kind: Kind, dialect: str, wanted: Mapping[str, Sequence[str]], *, collection: bool = False
) -> dict[str, Any]:
    describe = _old_operation if dialect == V2 else _operation
    return {
        method: {
            "operationId": f"{method}{kind.group.title().replace('.', '')}{kind.version.title()}{kind.kind}",
            **describe(method, parameters, kind),
            "x-kubernetes-action": _action(method, collection),
            "x-kubernetes-group-version-kind": identity(kind),
        }
        for method, parameters in wanted.items()
    }


def _operation(method: str, parameters: Sequence[str], kind: Kind) -> dict[str, Any]:
    return {
        "parameters": [_parameter(name) for name in parameters],
        "responses": {"200": {"description": "OK", "content": _content(kind)}},
        **(_request_body(method, kind) if method in ("post", "put", "patch") else {}),
    }


def _old_operation(method: str, parameters: Sequence[str], kind: Kind) -> dict[str, Any]:
    answer = {"description": "OK", "schema": {"$ref": f"{V2}{definition_name(kind)}"}}
    return {
        "parameters": [{"name": name, "in": "query", "type": "string", "uniqueItems": True} for name in parameters],
        "responses": {"200": answer},
        "produces": [JSON],
        **({"consumes": list(_PATCH_TYPES)} if method == "patch" else {}),
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
