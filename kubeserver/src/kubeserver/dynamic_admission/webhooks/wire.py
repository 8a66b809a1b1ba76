"""The conversation with a webhook: an `admission.k8s.io/v1` AdmissionReview goes out, and comes back answered."""

from typing import Any

import msgspec

from kubeapi import codec
from kubeapi.base64_text import read_base64
from kubeapi.meta import Manifest
from kubeserver.admission import AdmissionReview
from kubeserver.kinds.kind import Kind
from kubeserver.registry.objects import metadata_of

API_VERSION, KIND = "admission.k8s.io/v1", "AdmissionReview"
_OPTIONS = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}


class Unreadable(Exception):
    """Answer of a webhook that is none to the question."""


class _Wire(msgspec.Struct, rename="camel", frozen=True, gc=False):
    """Read leniently: null is the same as absent."""


class Said(_Wire, frozen=True):
    """The Status of a refusal; `code` is 0 where it names none."""

    code: int = 0
    message: str = ""
    reason: str = ""


class _Response(_Wire, frozen=True):
    uid: str
    allowed: bool
    status: Said | None = None
    patch: str | None = None
    patch_type: str | None = None
    warnings: tuple[str, ...] | None = None
    audit_annotations: dict[str, str] | None = None


class _Review(_Wire, frozen=True):
    api_version: str = ""
    kind: str = ""
    response: _Response | None = None


class Verdict(msgspec.Struct, frozen=True):
    """Verdict of a webhook. `patch` are the operations of a JSON patch; None where it changes nothing."""

    allowed: bool
    said: Said
    patch: Any = None
    warnings: tuple[str, ...] = ()
    annotations: dict[str, str] = {}


def render_request(review: AdmissionReview, kind: Kind, uid: str) -> dict[str, Any]:
    """The request, also what match conditions know as `request`. The objects are of `kind` already."""
    own, shown = review.kind, review.object
    same = kind is own or not is_whole(review)
    name = review.name or metadata_of(shown).get("name", "")
    request: dict[str, Any] = {
        "uid": uid,
        "kind": _kind_of(shown),
        "resource": _resource(kind),
        "subResource": review.subresource,
        "requestKind": _kind_of(shown) if same else _identity(own),
        "requestResource": _resource(own),
        "requestSubResource": review.subresource,
        "name": name,
        "namespace": review.namespace,
        "operation": review.operation,
        "userInfo": review.user.info(),
        "object": None if review.operation == "DELETE" else shown,
        "oldObject": review.old_object,
        "dryRun": review.dry_run,
        "options": _options(review),
    }
    return {key: value for key, value in request.items() if value != ""}


def render_review(request: dict[str, Any]) -> bytes:
    return codec.encode({"kind": KIND, "apiVersion": API_VERSION, "request": request})


def read_verdict(body: bytes, uid: str) -> Verdict:
    """Raises: Unreadable."""
    try:
        review = codec.decode(body, _Review)
    except codec.DecodeError as error:
        raise Unreadable(f"the answer is no AdmissionReview: {error}") from error
    if (review.api_version, review.kind) != (API_VERSION, KIND):
        said = f"{review.api_version}, Kind={review.kind}"
        raise Unreadable(f"expected webhook response of {API_VERSION}, Kind={KIND}, got {said}")
    response = review.response
    if response is None:
        raise Unreadable("webhook response is missing")
    if response.uid != uid:
        raise Unreadable(f'expected response.uid="{uid}", got "{response.uid}"')
    patch = _patch(response)
    said, annotations = response.status or Said(), response.audit_annotations or {}
    return Verdict(response.allowed, said, patch, response.warnings or (), annotations)


def is_whole(review: AdmissionReview) -> bool:
    """Tells whether the object is one of the kind itself, not one of a subresource's own kind."""
    return review.object.get("kind") == review.kind.kind


def _patch(response: _Response) -> Any:
    if not response.patch:
        if response.patch_type:
            raise Unreadable("webhook returned response.patchType but not response.patch")
        return None
    if response.patch_type != "JSONPatch":
        raise Unreadable(f'webhook returned response.patchType="{response.patch_type or ""}", expected "JSONPatch"')
    try:
        return codec.decode_any(read_base64(response.patch))
    except (ValueError, codec.DecodeError) as error:
        raise Unreadable(f"webhook returned a response.patch that is no JSON in base64: {error}") from error


def _kind_of(manifest: Manifest) -> dict[str, str]:
    group, _, version = str(manifest.get("apiVersion", "")).rpartition("/")
    return {"group": group, "version": version, "kind": str(manifest.get("kind", ""))}


def _identity(kind: Kind) -> dict[str, str]:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _resource(kind: Kind) -> dict[str, str]:
    return {"group": kind.group, "version": kind.version, "resource": kind.plural}


def _options(review: AdmissionReview) -> dict[str, Any] | None:
    kind = _OPTIONS.get(review.operation)
    if kind is None:
        return None
    return {"kind": kind, "apiVersion": "meta.k8s.io/v1", **({"dryRun": ["All"]} if review.dry_run else {})}
