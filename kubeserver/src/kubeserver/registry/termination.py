"""Termination, in which nothing new is taken: namespaces and definitions that are being deleted, and names of objects
that are."""

import msgspec

from kubeapi import codec
from kubeapi.meta import Manifest
from kubeapi.status import StatusCause
from kubeserver import errors
from kubeserver.kinds.kind import Kind
from kubeserver.registry.objects import metadata_of
from kubeserver.store import Record, Store

NAMESPACE_PREFIX = "//namespaces//"
DEFINITION_PREFIX = "/apiextensions.k8s.io/customresourcedefinitions//"
_DELETED = b'"deletionTimestamp"'


class _Metadata(msgspec.Struct, rename="camel", gc=False):
    deletion_timestamp: str = ""


class _Life(msgspec.Struct, gc=False):
    metadata: _Metadata


def check_namespace(store: Store, kind: Kind, namespace: str, manifest: Manifest) -> None:
    """A namespaced object needs a namespace that is there to stay. Raises: Refused."""
    if not kind.namespaced:
        return
    record = store.head(NAMESPACE_PREFIX + namespace)
    if record is None:
        raise errors.not_found("", "namespaces", namespace)
    if _is_ending(record):
        metadata = metadata_of(manifest)
        raise _terminating(kind, namespace, metadata.get("name") or metadata.get("generateName") or "Unknown")


def definition_of(store: Store, kind: Kind) -> Record | None:
    """The definition of a custom kind; None for one that the server serves without."""
    return store.head(f"{DEFINITION_PREFIX}{kind.plural}.{kind.group}") if kind.custom else None


def check_definition(store: Store, kind: Kind, before: Record | None, name: str) -> None:
    """A custom kind that had a definition `before` has one that is there to stay. Raises: Refused."""
    if before is None:
        return
    record = definition_of(store, kind)
    if record is None or _is_ending(record):
        why = "create not allowed while custom resource definition is terminating"
        raise errors.forbidden(kind.group, kind.plural, name, why)


def already_there(kind: Kind, name: str, there: Record | None) -> errors.Refused:
    """The answer to a create whose name is taken by `there`, which may have gone meanwhile."""
    refusal = errors.already_exists(kind.group, kind.plural, name)
    if there is None or not _is_ending(there):
        return refusal
    message = f"object is being deleted: {refusal.status.message}"
    return errors.Refused(msgspec.structs.replace(refusal.status, message=message))


def _is_ending(record: Record) -> bool:
    """Tells whether an object is ending. Few objects have the word in them at all, and the one that tells is in the
    metadata."""
    return _DELETED in record.value and bool(codec.decode(record.value, _Life).metadata.deletion_timestamp)


def _terminating(kind: Kind, namespace: str, name: str) -> errors.Refused:
    why = f"unable to create new content in namespace {namespace} because it is being terminated"
    refusal = errors.forbidden(kind.group, kind.plural, name, why)
    assert refusal.status.details is not None
    cause = StatusCause("NamespaceTerminating", f"namespace {namespace} is being terminated", "metadata.namespace")
    details = msgspec.structs.replace(refusal.status.details, causes=(cause,))
    return errors.Refused(msgspec.structs.replace(refusal.status, details=details))
