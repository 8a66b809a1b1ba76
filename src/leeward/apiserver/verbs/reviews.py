"""Reviews: questions that are answered at once and never stored."""

from datetime import datetime
from typing import Any

from leeward.api.meta import Manifest, format_time
from leeward.apiserver.access.access import Access
from leeward.apiserver.handler import User
from leeward.apiserver.kinds.kind import Kind


def answer(kind: Kind, manifest: Manifest, user: User, now: datetime, access: Access, namespace: str) -> Manifest:
    """The review with its status. Raises: Refused."""
    if kind.kind == "SelfSubjectReview":
        status: dict[str, Any] = {"userInfo": user.info()}
        metadata = {"creationTimestamp": format_time(now)}
    else:
        status, metadata = access.review(kind.kind, manifest, user, namespace), {}
    spec = {"spec": manifest["spec"]} if "spec" in manifest else {}
    return {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata, **spec, "status": status}
