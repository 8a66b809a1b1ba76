"""A small synchronous client for the control plane, as its administrator: JSON over HTTPS, from the standard library.

It starts in milliseconds, which is why the verbs use it and not `kubeclient`. It never retries and never watches.
"""

import http.client
import json
import ssl
from typing import Any, cast

from kubeapi.meta import Manifest
from kubeapi.tls import blames_a_certificate
from leeward.app.local import processes
from leeward.app.local.errors import FleetError, no_trust
from leeward.app.local.layout import CONTROL_PLANE, Layout
from leeward.app.local.processes import State

TIMEOUT_SECONDS = 5.0
NOT_FOUND, CONFLICT = 404, 409
ATTEMPTS = 5
"""Attempts to delete an object that changes meanwhile."""


class NoAnswer(FleetError):
    """Refused, cut off, not within the deadline, or not to be trusted."""


class Refused(FleetError):
    """The API server said no."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class AdminClient:
    """One API server on this machine, over one connection that is kept open. The process of `component` serves it: one
    that is frozen is not waited for."""

    def __init__(
        self, layout: Layout, port: int, timeout_seconds: float = TIMEOUT_SECONDS, component: str = CONTROL_PLANE
    ) -> None:
        self._name = f"https://127.0.0.1:{port}"
        self._layout, self._component = layout, component
        try:
            context = ssl.create_default_context(cafile=layout.pki / "ca.crt")
            context.load_cert_chain(layout.pki / "admin.crt", layout.pki / "admin.key")
        except (OSError, ssl.SSLError) as error:
            raise FleetError(f"the certificates in {layout.pki} cannot be used ({error}): run `leeward up`") from error
        self._connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=timeout_seconds, context=context)

    def close(self) -> None:
        self._connection.close()

    def find(self, path: str) -> Manifest | None:
        """The object at `path`; None when there is none. Raises: NoAnswer, Refused."""
        try:
            return self._request("GET", path)
        except Refused as error:
            if error.code != 404:
                raise
            return None

    def list(self, path: str) -> list[Manifest]:
        """Raises: NoAnswer, Refused."""
        return cast(list[Manifest], self._request("GET", path).get("items") or [])

    def create(self, path: str, manifest: Manifest) -> Manifest:
        """Raises: NoAnswer, Refused."""
        return self._request("POST", path, manifest)

    def merge(self, path: str, patch: Manifest) -> Manifest:
        """Applies a JSON merge patch. Raises: NoAnswer, Refused."""
        return self._request("PATCH", path, patch, content_type="application/merge-patch+json")

    def delete(self, path: str) -> None:
        """Asks for the deletion of the present object; an absent one counts as deleted. Raises: NoAnswer, Refused."""
        attempts = ATTEMPTS
        while (found := self.find(path)) is not None:
            attempts -= 1
            seen = {key: value for key, value in found["metadata"].items() if key in ("uid", "resourceVersion")}
            try:
                self._request("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": seen})
                return
            except Refused as error:
                if error.code not in (NOT_FOUND, CONFLICT) or not attempts:
                    raise

    def _request(
        self, method: str, path: str, body: Manifest | None = None, content_type: str = "application/json"
    ) -> Manifest:
        self._refuse_frozen()
        content = None if body is None else json.dumps(body).encode()
        headers = {"content-type": content_type, "accept": "application/json", "user-agent": "leeward"}
        try:
            self._connection.request(method, path, content, headers)
            response = self._connection.getresponse()
            answer = response.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            if blames_a_certificate(error):
                raise NoAnswer(no_trust(self._name, error)) from error
            raise NoAnswer(f"{self._name} does not answer: {error}") from error
        return self._read(response.status, answer)

    def _refuse_frozen(self) -> None:
        """Raises: NoAnswer."""
        process = processes.find_process(self._layout, self._component)
        if process is not None and processes.state_of_process(process) is State.PAUSED:
            raise NoAnswer(
                f"{self._component} at {self._name} does not answer: its process {process.pid} is frozen (stopped by a "
                f"signal); `kill -CONT {process.pid}` lets it go on"
            )

    def _read(self, code: int, answer: bytes) -> Manifest:
        try:
            decoded: Any = json.loads(answer)
        except ValueError:
            decoded = {"message": answer[:200].decode(errors="replace")}
        if code >= 400:
            raise Refused(code, f"{self._name}: {decoded.get('message') or f'HTTP {code}'}")
        return cast(Manifest, decoded)
