"""Reviews: questions that are answered at once and never stored."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from leeward.api.meta import Manifest, format_time
from leeward.api.status import Problem
from leeward.apiserver.handler import User
from leeward.apiserver.kinds.kind import Kind
from leeward.apiserver.refusals import Refused, invalid
from leeward.apiserver.values import section

Reviewer = Callable[[Manifest, User], dict[str, Any]]
"""From the question and who asks to the status of the answer. Raises: Refused."""


def answer(kind: Kind, manifest: Manifest, user: User, now: datetime) -> Manifest:
    """The review with its status. Raises: Refused."""
    status = _REVIEWERS[kind.kind](manifest, user)
    metadata = {"creationTimestamp": format_time(now)} if kind.kind == "SelfSubjectReview" else {}
    spec = {"spec": manifest["spec"]} if "spec" in manifest else {}
    return {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata, **spec, "status": status}


def _who_am_i(manifest: Manifest, user: User) -> dict[str, Any]:
    del manifest
    info: dict[str, Any] = {"username": user.name, "uid": user.uid, "groups": list(user.groups)}
    return {"userInfo": {key: value for key, value in info.items() if value}}


def _token(manifest: Manifest, user: User) -> dict[str, Any]:
    """Tokens are known to the way in only; here none is valid."""
    del manifest, user
    return {"user": {}, "error": "invalid bearer token"}


def _may_i(manifest: Manifest, user: User) -> dict[str, Any]:
    del user
    spec = section(manifest, "spec")
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is None and path is None:
        said = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
        raise _wrong("spec.resourceAttributes", None, said)
    if resource is not None and path is not None:
        raise _wrong("spec.nonResourceAttributes", path, "cannot be specified in combination with resourceAttributes")
    return {"allowed": True}


def _wrong(field: str, value: object, said: str) -> Refused:
    return invalid("authorization.k8s.io", "", "", [Problem.invalid(field, value, said)])


_REVIEWERS: dict[str, Reviewer] = {
    "SelfSubjectReview": _who_am_i,
    "TokenReview": _token,
    "SelfSubjectAccessReview": _may_i,
}
