"""The life of custom kinds: what is served follows the stored definitions.

As a hook it serves the kinds of a definition as soon as the write is durable. As a task it settles the definition's
status, and removes the objects of a definition that is being deleted before the definition itself goes.

Holds: D10 (what was accepted is served), D8 (a definition waits for the finalizers of its objects).
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import aclosing
from typing import Any

from kubeapi import codec
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeserver.apiextensions.definitions import (
    PREFIX,
    is_accepted,
    is_terminating,
    kinds_of,
    name_conflict,
    prefix_of,
    remember_storage,
    settled_status,
    storage_kind_of,
)
from kubeserver.controllers.changes import changes
from kubeserver.errors import Refused
from kubeserver.handler import User
from kubeserver.kinds.kind import Conversion, Kind
from kubeserver.kinds.scheme import Scheme
from kubeserver.registry.deleting import DEFINITION_FINALIZER, DeleteOptions, Deleter
from kubeserver.registry.open_watches import OpenWatches
from kubeserver.registry.writing import Writer
from kubeserver.store import Raced, Record, Store, StoreFailed
from kubeserver.values import texts

log = logging.getLogger(__name__)

CONTROLLER = User("system:serviceaccount:kube-system:customresourcecleanup", ("system:masters",))
RETRY_SECONDS = 1.0

Converter = Callable[[ReadOnlyManifest], Conversion | None]
"""Function that says how a definition wants its objects to be converted; None where only their apiVersion changes."""


class Definitions:
    """The hook of CustomResourceDefinitions, and the task that looks after them."""

    def __init__(
        self, store: Store, scheme: Scheme, definition_kind: Kind, watches: OpenWatches, converter: Converter
    ) -> None:
        self._store = store
        self._scheme = scheme
        self._kind = definition_kind
        self._watches = watches
        self._converter = converter
        self._decoded: dict[str, tuple[int, ReadOnlyManifest]] = {}
        self._compiled: dict[str, tuple[ReadOnlyManifest, bool, tuple[Kind, ...]]] = {}
        """Kinds that the spec of each definition gave last, while it lived or as it ended."""

    def serve_stored(self) -> None:
        """Serves what was defined before a restart."""
        for definition in self._stored():
            self._serve(definition)

    def before_write(self, new: Manifest, old: ReadOnlyManifest | None) -> None:
        if old is not None and not is_equal(old["spec"], new["spec"]):
            remember_storage(new)

    def not_written(self, new: ReadOnlyManifest, old: ReadOnlyManifest | None) -> None:
        del new, old

    def after_write(self, new: ReadOnlyManifest, old: ReadOnlyManifest | None) -> None:
        if old is None or not is_equal(_served_by(old), _served_by(new)):
            self._serve(new)
        if old is not None and not is_equal(old["spec"], new["spec"]):
            self._watches.end(prefix_of(new))

    def after_delete(self, old: ReadOnlyManifest) -> None:
        name = old["metadata"]["name"]
        self._compiled.pop(name, None)
        self._scheme.install(name, ())
        self._watches.end(prefix_of(old))

    async def settle(self, writer: Writer, name: str) -> None:
        """Brings the status of one definition to what is true now."""
        key = PREFIX + "/" + name
        while (record := self._store.head(key)) is not None:
            definition = codec.decode_manifest(record.value)
            conflict = name_conflict(definition, self._accepted())
            status = settled_status(definition, conflict, writer.clock.now())
            if is_equal(status, definition.get("status")):
                return
            try:
                await writer.replace(self._kind, key, record, {**definition, "status": status})
            except Raced:
                continue

    async def run(self, writer: Writer, deleter: Deleter) -> None:
        """Looks after all definitions until it is cancelled."""
        async with aclosing(changes(self._store, concerns=_concerns)) as records:
            async for record in records:
                try:
                    await self._look_at(record, writer, deleter)
                except (Refused, StoreFailed) as error:
                    log.warning("definitions: %s: %s", record.key, error)
                    await asyncio.sleep(RETRY_SECONDS)

    async def _look_at(self, record: Record, writer: Writer, deleter: Deleter) -> None:
        if not record.key.startswith(PREFIX):
            if record.deleted:
                await self._finish_if_terminating(record.key, writer)
            return
        if record.deleted:
            await self._settle_all(writer)
            return
        name = record.key.removeprefix(PREFIX + "/")
        await self.settle(writer, name)
        definition = codec.decode_manifest(record.value)
        if is_terminating(definition):
            await self._remove_objects(definition, deleter)
            await self._finish(name, writer)

    async def _settle_all(self, writer: Writer) -> None:
        """Names were given back: others may have them now."""
        for definition in self._stored():
            await self.settle(writer, definition["metadata"]["name"])

    async def _remove_objects(self, definition: ReadOnlyManifest, deleter: Deleter) -> None:
        kind = storage_kind_of(definition, self._converter(definition))
        for record in self._store.list(kind.prefix).records:
            metadata = codec.decode_manifest(record.value)["metadata"]
            await delete_quietly(deleter, kind, metadata)

    async def _finish_if_terminating(self, key: str, writer: Writer) -> None:
        _, group, plural, *_ = key.split("/")
        name = f"{plural}.{group}"
        if self._store.get(f"{PREFIX}/{name}") is not None:
            await self._finish(name, writer)

    async def _finish(self, name: str, writer: Writer) -> None:
        """Takes the finalizer away when no object is left."""
        record = self._store.get(f"{PREFIX}/{name}")
        if record is None:
            return
        definition = codec.decode_manifest(record.value)
        if not is_terminating(definition) or self._store.list(prefix_of(definition), limit=1).records:
            return
        try:
            await writer.change(self._kind, "", name, _without_finalizer, CONTROLLER, dry_run=False)
        except Refused as refusal:
            if refusal.status.code != 404:
                raise

    def _serve(self, definition: ReadOnlyManifest) -> None:
        """Installs the kinds, unless another definition has the names."""
        name = definition["metadata"]["name"]
        conflict = name_conflict(definition, self._accepted())
        self._scheme.install(name, () if conflict else self._kinds_of(name, definition))

    def _kinds_of(self, name: str, definition: ReadOnlyManifest) -> tuple[Kind, ...]:
        """Compiled once for each spec: its definition is served again when its names are accepted."""
        spec, ends = definition["spec"], is_terminating(definition)
        known = self._compiled.get(name)
        if known is None or not is_equal(known[0], spec) or known[1] != ends:
            known = self._compiled[name] = (spec, ends, kinds_of(definition, self._converter(definition)))
        return known[2]

    def _accepted(self) -> list[ReadOnlyManifest]:
        return [definition for definition in self._stored() if is_accepted(definition)]

    def _stored(self) -> list[ReadOnlyManifest]:
        """Decodes what has changed since the last time."""
        before, self._decoded = self._decoded, {}
        for record in self._store.list(PREFIX).records:
            known = before.get(record.key)
            if known is None or known[0] != record.revision:
                known = (record.revision, codec.decode_manifest(record.value))
            self._decoded[record.key] = known
        return [definition for _, definition in self._decoded.values()]


async def delete_quietly(deleter: Deleter, kind: Kind, metadata: dict[str, Any]) -> None:
    """Deletes an object in the background, that very one; that it is gone already is fine. Holds: S5."""
    options = DeleteOptions(uid=metadata["uid"], propagation="Background")
    try:
        await deleter.delete(kind, metadata.get("namespace", ""), metadata["name"], options, CONTROLLER)
    except Refused as refusal:
        if refusal.status.code not in (404, 409):
            raise


def _concerns(record: Record) -> bool:
    """Tells whether it is a definition, or was the last object of one."""
    return record.deleted or record.key.startswith(PREFIX)


def _without_finalizer(definition: Manifest) -> Manifest:
    finalizers = texts(definition["metadata"], "finalizers")
    definition["metadata"]["finalizers"] = [f for f in finalizers if f != DEFINITION_FINALIZER]
    return definition


def _served_by(definition: ReadOnlyManifest) -> tuple[Any, bool, bool]:
    """Parts of a definition that decide about what is served."""
    return definition["spec"], is_terminating(definition), is_accepted(definition)
