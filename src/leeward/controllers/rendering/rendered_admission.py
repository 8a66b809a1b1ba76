"""Admission of rendered objects: what overrides have made meets the rules that its template has met.

The control plane is asked to create the object, as a dry run (--admit-rendered-objects). Its template is there already,
so the answer about one that is let in is that it already exists: kube-apiserver says so after all admission. Nobody
asks again about one that was let in while it is remembered, as nobody asks about a stored object.

A quota of the control plane counts the template, which is not counted twice. Node ports are given out there to the
template, and so are not asked for.
"""

import re
from collections.abc import Mapping
from hashlib import sha256
from typing import Final

from controller_runtime import keep_latest
from kubeapi.codec import encode
from kubeapi.meta import Manifest
from kubeapi.node_ports import drop_ports
from kubeclient import AlreadyExists, ApiError, WorldError
from leeward.core.interpreter.interpret import prune
from leeward.core.overrides.rendering import Overridden, OverrideFailure
from leeward.runtime.controller_context import Server

MAX_REMEMBERED: Final = 50_000
_QUOTA: Final = re.compile(r'^[^"]*"[^"]*" is forbidden: exceeded quota: ')
"""Refusal of kube-apiserver's ResourceQuota, which it asks after all other admission."""
_ASKED: Final = "Admission of the control plane, asked by --admit-rendered-objects,"


class RenderedAdmission:
    """Asks a control plane, and remembers digests of what it has let in."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._admitted: dict[bytes, None] = {}

    async def refused(self, rendered: Mapping[str, Overridden]) -> dict[str, OverrideFailure]:
        """Failures by cluster of those that overrides have changed, and which are not let in or cannot be asked
        about."""
        said, failures = dict[bytes, str](), dict[str, OverrideFailure]()
        for cluster, overridden in rendered.items():
            if not overridden.applied:
                continue
            manifest = prune(overridden.manifest)
            drop_ports(manifest)
            digest = sha256(encode(manifest)).digest()
            if digest not in self._admitted and digest not in said:
                said[digest] = await self._refusal(manifest)
            if message := said.get(digest, ""):
                failures[cluster] = OverrideFailure(None, message)
            else:
                self._admitted[digest] = None
        keep_latest(self._admitted, MAX_REMEMBERED)
        return failures

    async def _refusal(self, manifest: Manifest) -> str:
        """Reason for which the object is not let in; empty for one that is."""
        try:
            resource = await self._server.discovery.resource(manifest["apiVersion"], manifest["kind"])
            namespace = manifest["metadata"].get("namespace", "")
            await self._server.client.create(resource, manifest, namespace, dry_run=True)
        except ApiError as error:
            is_let_in = isinstance(error, AlreadyExists) or _QUOTA.match(str(error))
            return "" if is_let_in else f"{_ASKED} refuses the rendered object: {error}"
        except WorldError as error:
            return f"{_ASKED} cannot be asked about the rendered object: {error}"
        return ""
