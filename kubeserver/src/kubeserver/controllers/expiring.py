"""Objects that end, and how they are deleted.

Events go without anybody being asked, as if the store forgot them. The others are deleted as kube-controller-manager
does it, by its names: whoever may object to a deletion can.
"""

from datetime import datetime, timedelta

from kubeapi import codec
from kubeapi.meta import ReadOnlyManifest
from kubeserver.auth.tokens.bootstrap import PREFIX as TOKENS
from kubeserver.controllers.ends import end_of_bootstrap_token, end_of_job, end_of_signing_request, last_seen
from kubeserver.controllers.expiry import Expiring
from kubeserver.handler import ADMIN_GROUP, User
from kubeserver.kinds.kind import Kind
from kubeserver.registry.deleting import DeleteOptions, Deleter
from kubeserver.registry.writing import Writer
from kubeserver.store import Record

EVENT_TTL_SECONDS = 3600.0


def events(writer: Writer, kind: Kind, ttl_seconds: float) -> Expiring:
    """Deletes each `ttl_seconds` after it was written last; one that was there before, after it was last seen.

    Kubernetes: `--event-ttl` of kube-apiserver; same. There the store forgets, here it is a deletion like any other.
    """
    ttl = timedelta(seconds=ttl_seconds)

    def end_of(record: Record, written: datetime | None) -> datetime:
        now = writer.clock.now()
        return (written or min(last_seen(codec.decode_manifest(record.value)) or now, now)) + ttl

    async def delete(record: Record) -> None:
        await writer.erase(kind, record.key, record)

    return Expiring(kind.prefix, end_of, delete)


def jobs(deleter: Deleter, kind: Kind) -> Expiring:
    """Deletes finished Jobs with their Pods, and whatever else belongs to them, first."""

    def end_of(record: Record, written: datetime | None) -> datetime | None:
        del written
        return end_of_job(_living(record)) if b'"ttlSecondsAfterFinished"' in record.value else None

    return Expiring(kind.prefix, end_of, _Deletion(deleter, kind, "ttl-after-finished-controller", "Foreground"))


def bootstrap_tokens(deleter: Deleter, secrets: Kind) -> Expiring:
    def end_of(record: Record, written: datetime | None) -> datetime | None:
        del written
        return end_of_bootstrap_token(_living(record))

    return Expiring(TOKENS, end_of, _Deletion(deleter, secrets, "token-cleaner"))


def signing_requests(deleter: Deleter, kind: Kind) -> Expiring:
    def end_of(record: Record, written: datetime | None) -> datetime | None:
        del written
        return end_of_signing_request(_living(record))

    return Expiring(kind.prefix, end_of, _Deletion(deleter, kind, "certificate-controller"))


def _living(record: Record) -> ReadOnlyManifest:
    """The object; one that is being deleted has no other end than that."""
    manifest = codec.decode_manifest(record.value)
    return {"metadata": {}} if "deletionTimestamp" in manifest["metadata"] else manifest


class _Deletion:
    """Deletes the very state that was looked at."""

    def __init__(self, deleter: Deleter, kind: Kind, name: str, propagation: str | None = None) -> None:
        self._deleter = deleter
        self._kind = kind
        self._user = User(f"system:serviceaccount:kube-system:{name}", (ADMIN_GROUP,))
        self._propagation = propagation

    async def __call__(self, record: Record) -> None:
        metadata = codec.decode_manifest(record.value)["metadata"]
        options = DeleteOptions(
            propagation=self._propagation, uid=metadata["uid"], resource_version=str(record.revision)
        )
        await self._deleter.delete(self._kind, metadata.get("namespace", ""), metadata["name"], options, self._user)
