"""A small JSON server over TLS for tests of verbs: it keeps objects by path, and says no as told."""

import json
import ssl
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from leeward.app.local.layout import Layout
from tests.https_server import Asked, https_server

DELETED_AT = "2026-01-01T00:00:00Z"
BINDING = ("uid", "resourceVersion")
"""Fields of the metadata that bind a patch to an object as it was seen."""


@dataclass
class JsonServer:
    """An object with finalizers stays until they are off; `refusals` are answered with their code and body."""

    port: int = 0
    objects: dict[str, Any] = field(default_factory=dict[str, Any])
    refusals: dict[str, tuple[int, bytes]] = field(default_factory=dict[str, tuple[int, bytes]])
    users: set[str] = field(default_factory=set[str])

    def answer(self, method: str, path: str, body: Any) -> tuple[int, bytes]:
        if path in self.refusals:
            return self.refusals[path]
        match method:
            case "POST":
                self.objects[f"{path}/{body['metadata']['name']}"] = body
            case "PATCH" if path in self.objects:
                return self._merge(path, body)
            case "DELETE" if path in self.objects:
                self.objects[path]["metadata"]["deletionTimestamp"] = DELETED_AT
                self._let_go(path)
            case "GET" if path in self.objects:
                return 200, json.dumps(self.objects[path]).encode()
            case "GET" if path.endswith("s"):
                items = [value for key, value in self.objects.items() if key.rpartition("/")[0] == path]
                return 200, json.dumps({"items": items}).encode()
            case _:
                return 404, json.dumps({"kind": "Status", "message": f"{path} not found", "code": 404}).encode()
        return 200, b"{}"

    def _merge(self, path: str, patch: Any) -> tuple[int, bytes]:
        present, wanted = self.objects[path]["metadata"], patch.get("metadata", {})
        if any(name in wanted and wanted[name] != present.get(name) for name in BINDING):
            return 409, json.dumps({"kind": "Status", "message": f"{path} has changed", "code": 409}).encode()
        self.objects[path] = merged(self.objects[path], patch)
        answer = json.dumps(self.objects[path]).encode()
        self._let_go(path)
        return 200, answer

    def _let_go(self, path: str) -> None:
        metadata = self.objects[path]["metadata"]
        if "deletionTimestamp" in metadata and not metadata.get("finalizers"):
            del self.objects[path]


def merged(old: Any, patch: Any) -> Any:
    """A JSON merge patch (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    changes = cast(dict[str, Any], patch)
    result = dict(cast(dict[str, Any], old)) if isinstance(old, dict) else {}
    result |= {key: merged(result.get(key), value) for key, value in changes.items()}
    return {key: value for key, value in result.items() if changes.get(key, "") is not None}


@contextmanager
def serve_json(layout: Layout) -> Generator[JsonServer]:
    """Serves with the control plane's certificate of `layout`, on a free port."""
    server = JsonServer()

    def answer(asked: Asked) -> tuple[int, bytes]:
        server.users.add(str(asked.peer))
        return server.answer(asked.method, asked.path.partition("?")[0], json.loads(asked.body) if asked.body else None)

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=layout.pki / "ca.crt")
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(layout.pki / "control-plane.crt", layout.pki / "control-plane.key")
    with https_server(answer, context) as server.port:
        yield server
