"""The end of a namespace: everything in it is deleted, and when nothing is left, so is the namespace.

Content that waits for finalizers holds the namespace back; each deletion in it is a reason to look again.

Holds: L3, S5 (only a namespace that is terminating in the store is emptied).
"""

import asyncio
import logging
from contextlib import aclosing

from kubeapi import codec
from kubeapi.meta import Manifest
from kubeserver.controllers.changes import changes
from kubeserver.controllers.definitions import delete_quietly
from kubeserver.errors import Refused
from kubeserver.handler import User
from kubeserver.kinds.kind import Kind
from kubeserver.kinds.scheme import Scheme
from kubeserver.registry.deleting import Deleter
from kubeserver.registry.termination import NAMESPACE_PREFIX
from kubeserver.registry.writing import Writer
from kubeserver.store import Record, Store, StoreFailed
from kubeserver.values import section

log = logging.getLogger(__name__)

CONTROLLER = User("system:serviceaccount:kube-system:namespace-controller", ("system:masters",))
RETRY_SECONDS = 1.0


class NamespaceController:
    """Empties and removes namespaces that are being deleted."""

    def __init__(self, store: Store, scheme: Scheme, kind: Kind) -> None:
        self._store = store
        self._scheme = scheme
        self._kind = kind

    async def run(self, writer: Writer, deleter: Deleter) -> None:
        """Works until it is cancelled."""
        async with aclosing(changes(self._store, concerns=self._is_of_its_end)) as records:
            async for record in records:
                if not self._is_of_its_end(record):
                    continue
                name = _namespace_of(record)
                try:
                    await self._empty(name, writer, deleter, record)
                except (Refused, StoreFailed) as error:
                    log.warning("namespace %s: %s", name, error)
                    await asyncio.sleep(RETRY_SECONDS)

    def _is_of_its_end(self, record: Record) -> bool:
        """Tells whether a namespace that is being deleted has changed, or something in it."""
        name = _namespace_of(record)
        return bool(name) and self._is_terminating(name)

    def _is_terminating(self, name: str) -> bool:
        record = self._store.get(NAMESPACE_PREFIX + name)
        if record is None or b'"deletionTimestamp"' not in record.value:
            return False
        return "deletionTimestamp" in codec.decode_manifest(record.value)["metadata"]

    async def _empty(self, name: str, writer: Writer, deleter: Deleter, reason: Record) -> None:
        """Deletes what is there when the end begins, or something new slipped in; then looks whether all is gone."""
        if not reason.deleted:
            for kind in [kind for kind in self._scheme.stored_kinds() if kind.namespaced]:
                await self._delete_all(kind, name, deleter)
        if not self._has_content(name):
            await self._finalize(name, writer)

    async def _delete_all(self, kind: Kind, namespace: str, deleter: Deleter) -> None:
        for record in self._store.list(f"{kind.prefix}{namespace}/").records:
            metadata = codec.decode_manifest(record.value)["metadata"]
            if "deletionTimestamp" not in metadata:
                await delete_quietly(deleter, kind, metadata)

    def _has_content(self, namespace: str) -> bool:
        kinds = (kind for kind in self._scheme.stored_kinds() if kind.namespaced)
        return any(self._store.list(f"{kind.prefix}{namespace}/", limit=1).records for kind in kinds)

    async def _finalize(self, name: str, writer: Writer) -> None:
        try:
            await writer.change(self._kind, "", name, _finalized, CONTROLLER, dry_run=False, subresource="finalize")
        except Refused as refusal:
            if refusal.status.code != 404:
                raise


def _namespace_of(record: Record) -> str:
    """The namespace that a change concerns; empty when no namespace does."""
    if record.key.startswith(NAMESPACE_PREFIX):
        return "" if record.deleted else record.key.removeprefix(NAMESPACE_PREFIX)
    return record.key.split("/")[3]


def _finalized(namespace: Manifest) -> Manifest:
    finalizers = [f for f in section(namespace, "spec").get("finalizers") or () if f != "kubernetes"]
    namespace["spec"] = {"finalizers": finalizers} if finalizers else {}
    return namespace
