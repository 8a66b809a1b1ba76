"""OpenAPI: what kubectl asks for before it creates, applies or explains something.

Version 3 has one document per group and version; version 2 has a single one, which older clients and
`kubectl explain --output=plaintext-openapiv2` read as protobuf. What a schema says is in `openapi_types.py`, what a
path says in `openapi_paths.py`.
"""

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from kubeapi import codec
from kubeapi.transport import Request, Response
from kubeserver.discovery.openapi_paths import paths_of
from kubeserver.discovery.openapi_types import V2, V3, definitions
from kubeserver.errors import TEXT, not_acceptable, page_not_found
from kubeserver.health import KUBERNETES_VERSION
from kubeserver.kinds.kind import Kind
from kubeserver.kinds.scheme import Scheme
from kubeserver.negotiation import JSON, parse_accept
from kubeserver.serialization.protobuf.openapi import render_document

V2_PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


class OpenApi:
    """Documents about a scheme; each is made once per change of the scheme."""

    def __init__(self, scheme: Scheme) -> None:
        self._scheme = scheme
        self._documents: dict[str, bytes] = {}
        self._generation = -1

    def answer(self, request: Request) -> Response:
        """The answer to a path under `/openapi/`. Raises: Refused (406) for formats other than JSON.

        The index is called plain text, as kube-apiserver calls its own.
        """
        accepted = parse_accept(request.headers.get("accept", ""))
        path = request.path.rstrip("/")
        if path == "/openapi/v2" and any(element.name == V2_PROTOBUF for element in accepted):
            return Response(200, self._document("v2.pb"), {"content-type": V2_PROTOBUF.replace("@", ".")})
        if not any(element.name in ("", "*/*", JSON) for element in accepted):
            raise not_acceptable([JSON])
        if path == "/openapi/v2":
            return _json(self._document("v2"))
        if path == "/openapi/v3":
            return Response(200, self._document("index"), {"content-type": TEXT})
        name = path.removeprefix("/openapi/v3/")
        if name not in self._names():
            return page_not_found()
        return _json(self._document(name))

    def _document(self, name: str) -> bytes:
        if self._generation != self._scheme.generation:
            self._documents.clear()
            self._generation = self._scheme.generation
        if name not in self._documents:
            rendered = self._render(name)
            self._documents[name] = rendered if isinstance(rendered, bytes) else codec.encode(rendered)
        return self._documents[name]

    def _render(self, name: str) -> dict[str, Any] | bytes:
        match name:
            case "v2":
                return self._version_two()
            case "v2.pb":
                return render_document(self._version_two())
            case "index":
                return {"paths": {name: self._index_entry(name) for name in self._names()}}
            case _:
                kinds = dict(self._groups()).get(name)
                return _above_kinds(name) if kinds is None else _version_three(name, kinds)

    def _names(self) -> list[str]:
        """Names of all documents of version 3: one for each version of a group, and for each path above those."""
        groups = [group for group in self._scheme.groups() if self._scheme.is_builtin_group(group)]
        versions = [name for name, _ in self._groups()]
        return sorted(["api", "apis", "version", *(f"apis/{group}" for group in groups), *versions])

    def _groups(self) -> Iterator[tuple[str, list[Kind]]]:
        """The documents' names, `api/v1` or `apis/apps/v1`, and their kinds."""
        for group in ("", *self._scheme.groups()):
            for version in self._scheme.versions_of_group(group):
                kinds = [kind for kind in self._scheme.kinds_of_group(group) if kind.version == version]
                yield (f"apis/{group}/{version}" if group else f"api/{version}"), kinds

    def _index_entry(self, name: str) -> dict[str, str]:
        digest = hashlib.sha256(self._document(name)).hexdigest().upper()
        return {"serverRelativeURL": f"/openapi/v3/{name}?hash={digest}"}

    def _version_two(self) -> dict[str, Any]:
        schemas = definitions(self._scheme.kinds(), V2)
        paths = {path: it for name, kinds in self._groups() for path, it in _paths(name, kinds, V2).items()}
        return {"swagger": "2.0", "info": _INFO, "paths": paths, "definitions": schemas}


_INFO = {"title": "Kubernetes", "version": KUBERNETES_VERSION}


def _json(body: bytes) -> Response:
    return Response(200, body, {"content-type": JSON})


def _version_three(name: str, kinds: Sequence[Kind]) -> dict[str, Any]:
    schemas = definitions(kinds, V3)
    return {"openapi": "3.0.0", "info": _INFO, "paths": _paths(name, kinds, V3), "components": {"schemas": schemas}}


def _above_kinds(name: str) -> dict[str, Any]:
    read = {"description": f"what is below /{name}", "responses": {"200": {"description": "OK"}}}
    return {
        "openapi": "3.0.0",
        "info": _INFO,
        "paths": {f"/{name}/": {"get": read}},
        "components": {"schemas": {}},
    }


def _paths(name: str, kinds: Sequence[Kind], dialect: str) -> dict[str, Any]:
    return {path: item for kind in kinds for path, item in paths_of(f"/{name}", kind, dialect).items()}
