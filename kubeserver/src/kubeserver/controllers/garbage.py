"""The garbage collector: what becomes of objects when their owners go.

It keeps a graph of owners and dependents from the store's changes, and judges an object whenever it, or one of its
owners, changes. A judgement reads the store again, so a missed event costs nothing but time:

    no owner is left                         delete the dependent
    all owners left wait for dependents      delete the dependent, in the foreground
    some owners are gone                     take their references away
    deleted with `orphan`                    take the references to it away, then let it go
    deleted with `foregroundDeletion`        delete its dependents, and let it go when no blocking one is left

An owner of an unknown kind is not looked for: could not see is not gone (S5).
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from kubeapi import codec
from kubeapi.meta import Manifest
from kubeserver.controllers.changes import changes
from kubeserver.errors import Refused
from kubeserver.handler import User
from kubeserver.kinds.kind import Kind
from kubeserver.kinds.scheme import Scheme
from kubeserver.registry.deleting import FOREGROUND, ORPHAN, DeleteOptions, Deleter
from kubeserver.registry.writing import Change, Writer
from kubeserver.store import Record, Store, StoreFailed
from kubeserver.values import entries

log = logging.getLogger(__name__)

COLLECTOR = User("system:serviceaccount:kube-system:generic-garbage-collector", ("system:masters",))
RETRY_SECONDS = 1.0
_OWNERS, _ENDING = b'"ownerReferences":', b'"deletionTimestamp":'


class _Owner(msgspec.Struct, rename="camel", gc=False, frozen=True):
    api_version: str
    kind: str
    name: str
    uid: str
    block_owner_deletion: bool | None = None


class _Meta(msgspec.Struct, rename="camel", gc=False, frozen=True):
    name: str
    uid: str
    namespace: str = ""
    owner_references: tuple[_Owner, ...] = ()
    finalizers: tuple[str, ...] = ()
    deletion_timestamp: str = ""


class _Object(msgspec.Struct, rename="camel", gc=False, frozen=True):
    metadata: _Meta


@dataclass(frozen=True, slots=True)
class _Judged:
    """An object's owners, by what is known of them."""

    solid: tuple[_Owner, ...]
    waiting: tuple[_Owner, ...]
    gone: tuple[_Owner, ...]


class GarbageCollector:
    """Follows ownerReferences. Keeps no object, only keys by the uids of their owners."""

    def __init__(self, store: Store, scheme: Scheme, writer: Writer, deleter: Deleter) -> None:
        self._store = store
        self._scheme = scheme
        self._writer = writer
        self._deleter = deleter
        self._owners_of: dict[str, frozenset[str]] = {}
        self._dependents_of: defaultdict[str, set[str]] = defaultdict(set)

    async def run(self) -> None:
        """Works until it is cancelled."""
        async with aclosing(changes(self._store, concerns=self._concerns)) as records:
            async for record in records:
                try:
                    await self._look_at(record)
                except (Refused, StoreFailed) as error:
                    log.warning("garbage collector: %s: %s", record.key, error)
                    await asyncio.sleep(RETRY_SECONDS)

    def _concerns(self, record: Record) -> bool:
        """Tells whether there may be something to do: most records are of objects that neither have owners nor end."""
        may_have = _OWNERS in record.value or _ENDING in record.value
        return may_have or record.deleted or record.key in self._owners_of

    async def _look_at(self, record: Record) -> None:
        meta = codec.decode(record.value, _Object).metadata
        self._note(record, meta)
        if record.deleted:
            for key in sorted(self._dependents_of.get(meta.uid, ())):
                await self._judge(key)
            await self._release_owners(meta)
            return
        if meta.deletion_timestamp and (ORPHAN in meta.finalizers or FOREGROUND in meta.finalizers):
            await self._part(record.key, meta)
        if meta.owner_references:
            await self._judge(record.key)

    def _note(self, record: Record, meta: _Meta) -> None:
        """Keeps the graph true to what the record says."""
        owners = frozenset[str]() if record.deleted else frozenset(o.uid for o in meta.owner_references)
        before = self._owners_of.get(record.key, frozenset[str]())
        for uid in before - owners:
            self._dependents_of[uid].discard(record.key)
            if not self._dependents_of[uid]:
                del self._dependents_of[uid]
        for uid in owners - before:
            self._dependents_of[uid].add(record.key)
        if owners:
            self._owners_of[record.key] = owners
        else:
            self._owners_of.pop(record.key, None)

    async def _judge(self, key: str) -> None:
        """Decides about one dependent from what is stored now."""
        record = self._store.get(key)
        kind = self._kind_of(key)
        if record is None or kind is None:
            return
        meta = codec.decode(record.value, _Object).metadata
        judged = self._look_for_owners(meta)
        if judged.solid:
            unneeded = {owner.uid for owner in (*judged.gone, *judged.waiting)}
            if unneeded:
                await self._forget_owners(kind, meta, unneeded)
        elif meta.deletion_timestamp or not (judged.waiting or judged.gone):
            return
        elif judged.waiting and self._has_dependents(meta.uid):
            await self._delete(kind, meta, "Foreground")
        else:
            await self._delete(kind, meta, "Background")

    def _look_for_owners(self, meta: _Meta) -> _Judged:
        solid: list[_Owner] = []
        waiting: list[_Owner] = []
        gone: list[_Owner] = []
        for owner in meta.owner_references:
            found = self._find(owner, meta.namespace)
            if found is None:
                gone.append(owner)
            elif found is not _UNSEEN and found.deletion_timestamp and FOREGROUND in found.finalizers:
                waiting.append(owner)
            else:
                solid.append(owner)
        return _Judged(tuple(solid), tuple(waiting), tuple(gone))

    def _find(self, owner: _Owner, namespace: str) -> _Meta | None:
        """The owner's metadata; None when it is gone, and a stand-in when one cannot know."""
        kind = self._scheme.find_kind(owner.api_version, owner.kind)
        if kind is None or (kind.namespaced and not namespace):
            return _UNSEEN
        record = self._store.get(kind.key(namespace if kind.namespaced else "", owner.name))
        if record is None:
            return None
        meta = codec.decode(record.value, _Object).metadata
        return meta if meta.uid == owner.uid else None

    async def _part(self, key: str, meta: _Meta) -> None:
        """Carries out the propagation policy of an owner that is being deleted."""
        kind = self._kind_of(key)
        if kind is None:
            return
        dependents = sorted(self._dependents_of.get(meta.uid, ()))
        if ORPHAN in meta.finalizers:
            for dependent in dependents:
                await self._orphan(dependent, meta.uid)
            await self._drop_finalizer(kind, meta, ORPHAN)
            return
        for dependent in dependents:
            await self._judge(dependent)
        if not self._is_blocked(meta.uid):
            await self._drop_finalizer(kind, meta, FOREGROUND)

    async def _orphan(self, key: str, uid: str) -> None:
        record, kind = self._store.get(key), self._kind_of(key)
        if record is not None and kind is not None:
            await self._forget_owners(kind, codec.decode(record.value, _Object).metadata, {uid})

    async def _release_owners(self, gone: _Meta) -> None:
        """Owners that wait in the foreground may go on when a dependent has gone."""
        for owner in gone.owner_references:
            kind = self._scheme.find_kind(owner.api_version, owner.kind)
            found = self._find(owner, gone.namespace)
            if kind is None or found is None or found is _UNSEEN:
                continue
            if found.deletion_timestamp and FOREGROUND in found.finalizers and not self._is_blocked(found.uid):
                await self._drop_finalizer(kind, found, FOREGROUND)

    def _is_blocked(self, uid: str) -> bool:
        """Tells whether a dependent that blocks its owner's deletion is still there."""
        for key in self._dependents_of.get(uid, ()):
            record = self._store.get(key)
            if record is None:
                continue
            owners = codec.decode(record.value, _Object).metadata.owner_references
            if any(owner.uid == uid and owner.block_owner_deletion for owner in owners):
                return True
        return False

    def _has_dependents(self, uid: str) -> bool:
        return bool(self._dependents_of.get(uid))

    def _kind_of(self, key: str) -> Kind | None:
        _, group, plural, *_ = key.split("/")
        kinds = [kind for kind in self._scheme.kinds_of_group(group) if kind.plural == plural]
        stored = (kind for kind in kinds if kind.custom and kind.version == kind.storage_version)
        return next(stored, kinds[0] if kinds else None)

    async def _delete(self, kind: Kind, meta: _Meta, propagation: str) -> None:
        options = DeleteOptions(uid=meta.uid, propagation=propagation)
        await _quietly(self._deleter.delete(kind, meta.namespace, meta.name, options, COLLECTOR))

    async def _forget_owners(self, kind: Kind, meta: _Meta, uids: set[str]) -> None:
        def change(manifest: Manifest) -> Manifest:
            owners = entries(manifest["metadata"], "ownerReferences")
            return _with_list(manifest, "ownerReferences", [o for o in owners if o["uid"] not in uids])

        await self._change(kind, meta, change)

    async def _drop_finalizer(self, kind: Kind, meta: _Meta, finalizer: str) -> None:
        def change(manifest: Manifest) -> Manifest:
            finalizers = cast(Sequence[str], manifest["metadata"].get("finalizers") or ())
            return _with_list(manifest, "finalizers", [f for f in finalizers if f != finalizer])

        await self._change(kind, meta, change)

    async def _change(self, kind: Kind, meta: _Meta, change: Change) -> None:
        def checked(manifest: Manifest) -> Manifest:
            manifest["metadata"]["uid"] = meta.uid
            return change(manifest)

        await _quietly(self._writer.change(kind, meta.namespace, meta.name, checked, COLLECTOR, dry_run=False))


_UNSEEN = _Meta("", "")


def _with_list(manifest: Manifest, field: str, values: list[Any]) -> Manifest:
    metadata = manifest["metadata"]
    if values:
        metadata[field] = values
    else:
        metadata.pop(field, None)
    return manifest


async def _quietly(work: Awaitable[object]) -> None:
    """Does the work; that an object is gone, or another one by now, is fine."""
    try:
        await work
    except Refused as refusal:
        if refusal.status.code not in (404, 409):
            raise
