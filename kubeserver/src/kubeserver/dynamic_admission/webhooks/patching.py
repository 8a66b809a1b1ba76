"""Patches of an object by others: within what the request itself may change, and never its identity."""

import copy
from collections.abc import Callable
from typing import Any, cast

from kubeapi import jsonpatch
from kubeapi.meta import Manifest
from kubeserver import errors
from kubeserver.admission import AdmissionReview
from kubeserver.dynamic_admission.webhooks.matching import seen_as
from kubeserver.dynamic_admission.webhooks.wire import Verdict, is_whole
from kubeserver.kinds.kind import Kind
from kubeserver.registry import lifecycle
from kubeserver.registry.decoding import UndecodableObject, decode_object
from kubeserver.registry.objects import metadata_of
from kubeserver.webhooks.configuration import Webhook


async def patched(review: AdmissionReview, kind: Kind, webhook: Webhook, verdict: Verdict) -> Manifest:
    """The object after `verdict` of a webhook that saw it as `kind`. Raises: Refused."""
    if not verdict.patch:
        return review.object
    if review.operation in ("DELETE", "CONNECT"):
        said = "attempted to modify the object, which is not supported for this operation"
        raise errors.internal_error(f'admission webhook "{webhook.name}" {said}')
    try:
        return await rewritten(review, kind, lambda seen: jsonpatch.apply(seen, verdict.patch))
    except (ValueError, UndecodableObject) as error:
        said = f'admission webhook "{webhook.name}" returned a patch that cannot be applied'
        raise errors.internal_error(f"{said}: {error}") from error


async def rewritten(review: AdmissionReview, other: Kind, rewrite: Callable[[Manifest], Any]) -> Manifest:
    """The object after `rewrite` of a copy of it as `other`. Raises: ValueError; UndecodableObject for what is none."""
    kind, before = review.kind, review.object
    if kind.ephemeral or not is_whole(review):
        return rewrite(copy.deepcopy(before))
    seen = before if other is kind else await seen_as(kind, other, before)
    result = rewrite(copy.deepcopy(seen))
    if not isinstance(result, dict):
        raise ValueError("the result is no object")
    after = decode_object(other, cast(Manifest, result), "Ignore").manifest
    if other is not kind:
        after = await seen_as(other, kind, after)
    after = _narrowed(kind, before, after, review.subresource)
    kind.default(after)
    lifecycle.stamp_changed(kind, before, after, counts=False)
    if "managedFields" in before["metadata"]:
        metadata_of(after)["managedFields"] = before["metadata"]["managedFields"]
    return after


def _narrowed(kind: Kind, before: Manifest, after: Manifest, subresource: str) -> Manifest:
    if subresource in ("status", "approval"):
        return lifecycle.only_status(kind, before, after)
    if subresource in ("ephemeralcontainers", "resize"):
        return lifecycle.only_fields(before, after, subresource)
    return lifecycle.only_spec(kind, before, after)
