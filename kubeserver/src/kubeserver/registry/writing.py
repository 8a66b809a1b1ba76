"""Create and update: the way of an object into the store.

    create:  stamp ▸ default ▸ admit ▸ hook ▸ check ▸ approve ▸ put, if the name is free
    change:  read the head ▸ default ▸ let the caller change it ▸ default ▸ stamp ▸ ... ▸ approve ▸ put, or nothing

Only where webhooks are asked, for admission or for another version, something is waited for between reading the head
and `put`; others get a turn between the steps of a large object. Should the store say that somebody was faster, the
change is made again on what is there now, and is admitted again. Defaults that came after an object was stored count as
stored: they are no change of it.

Holds: D4, D8 (an object that is being deleted goes when its last finalizer does).
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from msgspec import Struct

from kubeapi import codec
from kubeapi.diff import is_equal
from kubeapi.loop import Clock, Randomness
from kubeapi.meta import Manifest, format_time
from kubeapi.status import Problem
from kubeserver import errors
from kubeserver.admission import AdmissionReview
from kubeserver.handler import User
from kubeserver.kinds.kind import Kind
from kubeserver.kinds.metadata import validate_metadata, validate_metadata_update
from kubeserver.limits import FEW_VALUES, check_stored, has_too_many_values
from kubeserver.registry import lifecycle, managing
from kubeserver.registry.admitting import Admitter
from kubeserver.registry.conversion import is_kept, kept, show_one
from kubeserver.registry.hooks import Hook, NoHook
from kubeserver.registry.large_objects import WriteTurns, pause
from kubeserver.registry.objects import decode_stored, encode_stored, metadata_of, restamped
from kubeserver.registry.options import parse_version
from kubeserver.registry.room import Room
from kubeserver.registry.strict_decoding import read_anew
from kubeserver.registry.termination import already_there, check_definition, check_namespace, definition_of
from kubeserver.registry.versions import settled
from kubeserver.store import Raced, Record, Store
from kubeserver.values import section
from kubeserver.warnings import warn

MAX_RACES = 10
DURABLE_TIMEOUT_SECONDS = 10.0

Change = Callable[[Manifest], Manifest]
"""Function from a private copy of the stored object to the wanted one. Raises: Refused."""

_NO_HOOK = NoHook()


class Written(Struct, frozen=True):
    """`record` is None for what was not stored: dry runs. `deleted`: the object ended with it."""

    manifest: Manifest
    record: Record | None = None
    deleted: bool = False


@dataclass
class Writer:
    """The writing half of the registry."""

    store: Store
    clock: Clock
    randomness: Randomness
    admission: Admitter = field(default_factory=Admitter)
    hooks: Mapping[str, Hook] = field(default_factory=dict[str, Hook])
    room: Room | None = None
    """Bounds on what is stored; none of the writes by which the server begins."""
    turns: WriteTurns = field(default_factory=WriteTurns)

    async def create(
        self, kind: Kind, namespace: str, manifest: Manifest, user: User, dry_run: bool, manager: str = ""
    ) -> Written:
        """Stores a new object, owned by `manager`. Raises: Refused."""
        if metadata_of(manifest).get("resourceVersion"):
            raise errors.version_at_birth()
        check_namespace(self.store, kind, namespace, manifest)
        definition = definition_of(self.store, kind)
        now, suffix = self.clock.now(), self.randomness.suffix() if lifecycle.is_nameless(manifest) else ""
        lifecycle.stamp_new(kind, namespace, manifest, now, self.randomness.uid(), suffix)
        kind.default(manifest)
        size = await self._check_size(kind, manifest, b"")
        if manager:
            manifest = await settled(lambda: managing.tracked_create(kind, manifest, manager, format_time(now)))
            size = await self._check_size(kind, manifest, b"")
        kind.complete(manifest)
        review = AdmissionReview("CREATE", kind, namespace, manifest, None, user, dry_run)
        manifest = await self.admission.admit(review)
        name = metadata_of(manifest).get("name", "")
        key = kind.key(namespace if kind.namespaced else "", name)
        self._prepare(kind, manifest, None, dry_run)
        await self._approve(review.about(manifest), size)
        check_definition(self.store, kind, definition, name)
        try:
            if self.store.head(key) is not None:
                self.hook_of(kind).not_written(manifest, None)
                raise Raced
            return await self._put(kind, key, None, manifest, None, dry_run)
        except Raced:
            raise already_there(kind, name, self.store.head(key)) from None

    async def change(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        change: Change,
        user: User,
        dry_run: bool,
        subresource: str = "",
        manager: str = "",
    ) -> Written:
        """Replaces the stored object by what `change` makes of it, for `manager`. Raises: Refused."""
        key = kind.key(namespace if kind.namespaced else "", name)
        for _ in range(MAX_RACES):
            there = self.store.head(key)
            async with self.turns.turn(key, len(there.value) if there is not None else 0):
                record = self.store.head(key)
                if record is None:
                    raise errors.not_found(kind.group, kind.plural, name)
                try:
                    return await self._change_once(kind, key, record, change, user, dry_run, subresource, manager)
                except Raced:
                    continue
        raise errors.conflict(kind.group, kind.plural, name)

    async def _change_once(
        self,
        kind: Kind,
        key: str,
        record: Record,
        change: Change,
        user: User,
        dry_run: bool,
        subresource: str,
        manager: str,
    ) -> Written:
        shown = await show_one(kind, record)
        old = decode_stored(kind, shown)
        kind.default(old)
        await pause(len(record.value))
        wanted = self._changed(kind, old, await settled(lambda: change(codec.copy_manifest(old))), subresource)
        size = await self._check_size(kind, wanted, record.value)

        def tracked() -> Manifest:
            new = {**wanted, "metadata": dict(wanted["metadata"])}
            managing.track_change(kind, old, new, manager, subresource, format_time(self.clock.now()))
            return new

        new = wanted
        if manager:
            new = await settled(tracked)
            size = await self._check_size(kind, new, record.value)
        kind.complete(new)
        lifecycle.stamp_changed(kind, old, new, counts=subresource not in ("status", "approval", "binding"))
        namespace = old["metadata"].get("namespace", "")
        review = AdmissionReview("UPDATE", kind, namespace, new, old, user, dry_run, subresource)
        new = await self.admission.admit(review)
        self._prepare(kind, new, old, dry_run, subresource)
        await self._approve(review.about(new), size)
        if is_equal(new, old) and is_kept(kind, record):
            await self._until_durable(record)
            return Written(old, record)
        if lifecycle.is_finished(new):
            return await self._finish(kind, key, record, new, dry_run)
        return await self._put(kind, key, record, new, old, dry_run)

    def _changed(self, kind: Kind, old: Manifest, wanted: Manifest, subresource: str) -> Manifest:
        """The new object, with everything put back that this kind of update may not touch."""
        self._check_identity(kind, old, wanted)
        if subresource in ("status", "approval"):
            new = lifecycle.only_status(kind, old, wanted)
        elif subresource == "finalize":
            new = {**old, "spec": {key: value for key, value in section(wanted, "spec").items() if value}}
        elif subresource in ("ephemeralcontainers", "resize"):
            new = lifecycle.only_fields(old, wanted, subresource)
        elif subresource == "binding":
            new = wanted
        else:
            self._check_update(kind, old, wanted)
            new = lifecycle.only_spec(kind, old, wanted)
        kind.default(new)
        return new

    def _check_identity(self, kind: Kind, old: Manifest, wanted: Manifest) -> None:
        """The resourceVersion that the writer expects must be the stored one, where it names one."""
        name, before, after = old["metadata"]["name"], old["metadata"], metadata_of(wanted)
        try:
            version = parse_version(after.get("resourceVersion", ""))
        except ValueError as error:
            raise errors.broken_version(str(error)) from None
        if version and str(version) != before["resourceVersion"]:
            raise errors.conflict(kind.group, kind.plural, name)

    def _check_update(self, kind: Kind, old: Manifest, wanted: Manifest) -> None:
        problems = validate_metadata_update(old, wanted)
        if problems:
            raise errors.invalid(kind.group, kind.kind, old["metadata"]["name"], problems)

    async def _approve(self, review: AdmissionReview, size: int) -> None:
        """Asks those who judge what was prepared; a namespace may have come to its end meanwhile. Raises: Refused."""
        try:
            await pause(size)
            await self.admission.approve(review)
            if review.operation == "CREATE":
                check_namespace(self.store, review.kind, review.namespace, review.object)
        except BaseException:
            self.hook_of(review.kind).not_written(review.object, review.old_object)
            raise

    def _prepare(self, kind: Kind, new: Manifest, old: Manifest | None, dry_run: bool, subresource: str = "") -> None:
        """Lets the hook complete the object, then checks all of it. Raises: Refused."""
        hook = self.hook_of(kind)
        hook.before_write(new, old)
        found = validate_metadata(kind, new, update=old is not None)
        problems = [*found, *self._content_problems(kind, new, old, subresource)]
        if kind.schema is not None:
            problems += kind.schema.judge(new, old, problems)
        if problems or dry_run:
            hook.not_written(new, old)
        if problems:
            raise errors.invalid(kind.reported_group, kind.kind, metadata_of(new).get("name", ""), problems)
        for text in kind.warnings(new, old) if not subresource else ():
            warn(text)

    def _content_problems(self, kind: Kind, new: Manifest, old: Manifest | None, subresource: str) -> list[Problem]:
        if subresource == "status":
            checked = kind.schema.validate_status(new, old) if kind.schema is not None else []
            return [*checked, *kind.validate_status(new, old)]
        if subresource in ("binding", "ephemeralcontainers", "resize"):
            return []
        checked = kind.schema.validate(new, old) if kind.schema is not None else []
        problems = kind.validate(new, old)
        if problems and old is not None and not kind.custom:
            problems = kind.validate(new, read_anew(kind.structure, old))
        return [*checked, *problems]

    async def _put(
        self, kind: Kind, key: str, record: Record | None, new: Manifest, old: Manifest | None, dry_run: bool
    ) -> Written:
        to_store = await kept(kind, new)
        if dry_run:
            return Written(new)
        if record is None and to_store is not new:
            check_namespace(self.store, kind, new["metadata"].get("namespace", ""), new)
        form = kind.form if to_store is new else None
        try:
            render = partial(self._limited, kind, key, record, to_store, old)
            stored = await self.store.put(key, record, render, form)
        except (errors.Refused, Raced):
            self.hook_of(kind).not_written(new, old)
            raise
        self.hook_of(kind).after_write(new, old)
        new["metadata"]["resourceVersion"] = str(stored.revision)
        return Written(new, stored)

    def takes_large(self, kind: Kind) -> bool:
        return self.room is not None and kind.prefix in self.room.bounds.large

    def _limited(
        self, kind: Kind, key: str, head: Record | None, manifest: Manifest, old: Manifest | None, revision: int
    ) -> bytes:
        """The value to store. Raises: Refused when it is too large or too deep, or there is no room for it."""
        value = encode_stored(kind, manifest, revision)
        leaving = self._check_bytes(kind, manifest, value, b"" if head is None else head.value)
        begins_to_leave = leaving and old is not None and "deletionTimestamp" not in old["metadata"]
        if self.room is not None and not begins_to_leave:
            self.room.check(kind, key, head, len(value))
        return value

    async def _check_size(self, kind: Kind, manifest: Manifest, before: bytes) -> int:
        """Size in bytes. Refuses what defaults or owners have made too large before more of it is gone through: a body
        of 60,000 fields may get ten times as many. Of few values its kind says more. Raises: Refused."""
        value = codec.encode(manifest)
        if has_too_many_values(value, FEW_VALUES):
            self._check_bytes(kind, manifest, value, before)
        await pause(len(value))
        return len(value)

    def _check_bytes(self, kind: Kind, manifest: Manifest, value: bytes, before: bytes) -> bool:
        """Tells whether the object is leaving. Raises: Refused when it is too large or too deep."""
        leaving = "deletionTimestamp" in manifest["metadata"]
        check_stored(value, before, leaving=leaving, large=self.takes_large(kind))
        return leaving

    async def _finish(self, kind: Kind, key: str, record: Record, last: Manifest, dry_run: bool) -> Written:
        """Deletes an object whose deletion was only held back."""
        if not dry_run:
            await self.erase(kind, key, record)
        return Written(last, deleted=True)

    async def erase(self, kind: Kind, key: str, record: Record) -> Record:
        """Deletes the record for good; its last state is the stored one. Raises: Raced."""
        last = decode_stored(kind, record.value)
        erased = await self.store.delete(key, record, lambda revision: restamped(record.value, revision))
        self.hook_of(kind).after_delete(last)
        return erased

    async def replace(self, kind: Kind, key: str, record: Record, new: Manifest) -> Written:
        """Stores `new` as it is, for the server's own changes. Raises: Raced."""
        return await self._put(kind, key, record, new, decode_stored(kind, record.value), dry_run=False)

    def hook_of(self, kind: Kind) -> Hook:
        return self.hooks.get(kind.prefix, _NO_HOOK)

    async def _until_durable(self, record: Record) -> None:
        """An answer may only show what a crash cannot take back: waits for the write that is shown. Holds: D1."""
        if record.revision <= self.store.revision:
            return
        watcher = self.store.watch(record.key, self.store.revision)
        try:
            async with asyncio.timeout(DURABLE_TIMEOUT_SECONDS):
                while record.revision > self.store.revision and await watcher.next() is not None:
                    pass
        except TimeoutError:
            raise errors.unavailable("the write of another client is not durable yet") from None
        finally:
            watcher.close()
