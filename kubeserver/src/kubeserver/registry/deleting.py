"""Deletion: preconditions, grace, finalizers, and the propagation policies that the garbage collector carries out.

An object without finalizers and grace goes at once. Any other is marked, and goes when the last of them is taken away.

Holds: S5 (preconditions are checked against the head), D8.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import cast

import msgspec

from kubeapi import codec
from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.status import Problem
from kubeserver import errors
from kubeserver.admission import AdmissionReview
from kubeserver.apiextensions.definitions import ending_status
from kubeserver.handler import User
from kubeserver.kinds.kind import Kind
from kubeserver.registry import lifecycle
from kubeserver.registry.conversion import read_object
from kubeserver.registry.decoding import check_media_type
from kubeserver.registry.decoding_errors import DecodingError
from kubeserver.registry.options import parse_integer
from kubeserver.registry.strict_decoding import fit
from kubeserver.registry.writing import MAX_RACES, Writer, Written
from kubeserver.serialization.json_text import json_fault
from kubeserver.serialization.protobuf import MEDIA_TYPE as PROTOBUF
from kubeserver.serialization.protobuf import parse_protobuf
from kubeserver.store import Raced, Record
from kubeserver.structures.builtin import structure_of
from kubeserver.values import section, texts
from kubeserver.warnings import warn

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
DEFINITION_FINALIZER = "customresourcecleanup.apiextensions.k8s.io"
_POLICIES = ("Foreground", "Background", "Orphan")
_GROUP, _KIND = "meta.k8s.io", "DeleteOptions"
_SCHEME = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"
_PODS = "//pods/"
_NAMESPACES = "//namespaces/"
_IMMORTAL = ("default", "kube-public", "kube-system")


class _Preconditions(msgspec.Struct, rename="camel", gc=False):
    uid: str | None = None
    resource_version: str | None = None


class _Body(msgspec.Struct, rename="camel", gc=False):
    grace_period_seconds: int | None = None
    preconditions: _Preconditions | None = None
    propagation_policy: str | None = None
    orphan_dependents: bool | None = None
    dry_run: list[str] | None = None


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """`propagation` is Background, Foreground or Orphan; None leaves that to the object's finalizers, and its kind."""

    grace_seconds: int | None = None
    propagation: str | None = None
    uid: str = ""
    resource_version: str = ""
    dry_run: bool = False


def delete_options(body: bytes, query: dict[str, str], content_type: str) -> DeleteOptions:
    """Options from the body, else from the query. Raises: Refused."""
    read = _read_body(body, content_type) if body else _of_query(query)
    dry_run = read.dry_run or []
    problems = _problems(read, dry_run)
    if problems:
        raise errors.invalid(_GROUP, _KIND, "", problems)
    conditions = read.preconditions or _Preconditions()
    return DeleteOptions(
        grace_seconds=read.grace_period_seconds,
        propagation=_propagation(read),
        uid=conditions.uid or "",
        resource_version=conditions.resource_version or "",
        dry_run=bool(dry_run),
    )


def _read_body(body: bytes, content_type: str) -> _Body:
    check_media_type(content_type)
    try:
        options = _parse(body, content_type)
    except (codec.DecodeError, ValueError) as error:
        raise errors.bad_request(f"couldn't get version/kind; json parse error: {json_fault(error, body)}") from error
    kind, api_version = options.get("kind"), options.get("apiVersion", "")
    if kind and kind != _KIND:
        said = f'no kind "{kind}" is registered for version "{api_version}" in scheme "{_SCHEME}"'
        raise errors.bad_request(said)
    structure = structure_of(_KIND)
    assert structure is not None
    try:
        fit(structure, options)
    except DecodingError as error:
        raise errors.bad_request(str(error)) from error
    return msgspec.convert(options, _Body)


def _parse(body: bytes, content_type: str) -> Manifest:
    """Raises: ValueError."""
    if content_type.startswith(PROTOBUF):
        return parse_protobuf(body)
    if "yaml" in content_type:
        documents = list(codec.parse_yaml(body))
        return documents[0] if documents else {}
    return codec.decode_manifest(body)


def _of_query(query: dict[str, str]) -> _Body:
    grace = query.get("gracePeriodSeconds", "")
    return _Body(
        grace_period_seconds=parse_integer(grace) if grace else None,
        propagation_policy=query.get("propagationPolicy") or None,
        orphan_dependents={"true": True, "false": False}.get(query.get("orphanDependents", "")),
        dry_run=[query["dryRun"]] if "dryRun" in query else None,
    )


def _problems(read: _Body, dry_run: list[str]) -> list[Problem]:
    problems: list[Problem] = []
    if read.propagation_policy is not None and read.orphan_dependents is not None:
        said = "orphanDependents and deletionPropagation cannot be both set"
        problems.append(Problem.invalid("propagationPolicy", read.propagation_policy, said))
    if read.propagation_policy is not None and read.propagation_policy not in _POLICIES:
        choices = [*_POLICIES, "nil"]
        problems.append(Problem.not_supported("propagationPolicy", read.propagation_policy, choices))
    if any(value != "All" for value in dry_run):
        problems.append(Problem.not_supported("dryRun", dry_run, ["All"]))
    return problems


def _propagation(read: _Body) -> str | None:
    if read.orphan_dependents is not None:
        return "Orphan" if read.orphan_dependents else "Background"
    return read.propagation_policy


@dataclass(frozen=True, slots=True)
class Deleter:
    """The deleting part of the registry."""

    writer: Writer

    async def delete(self, kind: Kind, namespace: str, name: str, options: DeleteOptions, user: User) -> Written:
        """Deletes or marks one object. Raises: Refused."""
        key = kind.key(namespace if kind.namespaced else "", name)
        for _ in range(MAX_RACES):
            record = self.writer.store.head(key)
            if record is None:
                raise errors.not_found(kind.group, kind.plural, name)
            try:
                return await self._delete_once(kind, key, record, options, user)
            except Raced:
                continue
        raise errors.conflict(kind.group, kind.plural, name)

    async def _delete_once(self, kind: Kind, key: str, record: Record, options: DeleteOptions, user: User) -> Written:
        old = await read_object(kind, record)
        _check_immortal(kind, old)
        _check_preconditions(kind, old, options)
        namespace = old["metadata"].get("namespace", "")
        if options.propagation is None and kind.orphans_warning:
            warn(kind.orphans_warning)
        review = AdmissionReview("DELETE", kind, namespace, old, old, user, options.dry_run)
        await self.writer.admission.admit_deletion(review)
        marked = self._marked(kind, old, options)
        if options.dry_run:
            return Written(marked, deleted=lifecycle.is_finished(marked))
        if lifecycle.is_finished(marked):
            erased = await self.writer.erase(kind, key, record)
            last = marked if kind.prefix == _PODS else old
            last["metadata"]["resourceVersion"] = str(erased.revision)
            return Written(last, erased, deleted=True)
        if is_equal(marked, old):
            return Written(old, record)
        return await self.writer.replace(kind, key, record, marked)

    def _marked(self, kind: Kind, old: Manifest, options: DeleteOptions) -> Manifest:
        now = self.writer.clock.now()
        finalizers = _finalizers(kind, old, options.propagation)
        if kind.prefix == _NAMESPACES:
            return _marked_namespace(old, lifecycle.stamp_deleted(old, now, 0, finalizers))
        if kind.prefix == "/apiextensions.k8s.io/customresourcedefinitions/":
            return _marked_definition(old, lifecycle.stamp_deleted(old, now, 0, finalizers), now)
        return lifecycle.stamp_deleted(old, now, _grace(kind, old, options.grace_seconds), finalizers)


def _marked_namespace(old: Manifest, marked: Manifest) -> Manifest:
    """Namespace as it is stored while it ends; one that ends already stays as it is until it is empty."""
    if "deletionTimestamp" in old["metadata"] and section(old, "spec").get("finalizers"):
        return old
    marked["metadata"].pop("deletionGracePeriodSeconds", None)
    return {**marked, "status": {**section(marked, "status"), "phase": "Terminating"}}


def _marked_definition(old: ReadOnlyManifest, marked: Manifest, now: datetime) -> Manifest:
    """A definition stays until its objects are gone."""
    metadata = marked["metadata"]
    metadata.pop("deletionGracePeriodSeconds", None)
    if "generation" in old["metadata"]:
        metadata["generation"] = old["metadata"]["generation"]
    if "deletionTimestamp" in old["metadata"]:
        return marked
    others = [finalizer for finalizer in texts(metadata, "finalizers") if finalizer != DEFINITION_FINALIZER]
    metadata["finalizers"] = [*others, DEFINITION_FINALIZER]
    return {**marked, "status": ending_status(old, now)}


def _finalizers(kind: Kind, old: ReadOnlyManifest, propagation: str | None) -> list[str]:
    finalizers = list(cast(list[str], old["metadata"].get("finalizers") or []))
    if propagation is None and kind.orphans and not {ORPHAN, FOREGROUND} & set(finalizers):
        propagation = "Orphan"
    if propagation is None:
        return finalizers
    kept = [finalizer for finalizer in finalizers if finalizer not in (ORPHAN, FOREGROUND)]
    added = {"Orphan": [ORPHAN], "Foreground": [FOREGROUND]}.get(propagation, [])
    return kept + added


def _grace(kind: Kind, old: ReadOnlyManifest, asked: int | None) -> int:
    """Grace of a Pod; only those that run somewhere are given time."""
    if kind.prefix != _PODS:
        return 0
    spec = section(old, "spec")
    status = section(old, "status")
    if not spec.get("nodeName") or status.get("phase") in ("Succeeded", "Failed"):
        return 0
    return max(asked, 0) if asked is not None else cast(int, spec.get("terminationGracePeriodSeconds", 30))


def _check_immortal(kind: Kind, old: ReadOnlyManifest) -> None:
    name = old["metadata"]["name"]
    if kind.prefix == _NAMESPACES and name in _IMMORTAL:
        raise errors.forbidden("", kind.plural, name, "this namespace may not be deleted")


def _check_preconditions(kind: Kind, old: ReadOnlyManifest, options: DeleteOptions) -> None:
    metadata = old["metadata"]
    if options.uid and options.uid != metadata["uid"]:
        why = (
            f"the UID in the precondition ({options.uid}) does not match the UID in record ({metadata['uid']}). "
            "The object might have been deleted and then recreated"
        )
        raise errors.conflict(kind.group, kind.kind, metadata["name"], why)
    if options.resource_version and options.resource_version != metadata["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({options.resource_version}) does not match the "
            f"ResourceVersion in record ({metadata['resourceVersion']}). The object might have been modified"
        )
        raise errors.conflict(kind.group, kind.kind, metadata["name"], why)
