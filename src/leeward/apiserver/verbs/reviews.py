"""Reviews: questions that are answered at once and never stored."""

from datetime import datetime

from leeward.api.meta import Manifest, format_time
from leeward.apiserver.access.access import Access
from leeward.apiserver.handler import User
from leeward.apiserver.kinds.kind import Kind


def answer(kind: Kind, manifest: Manifest, user: User, now: datetime, access: Access) -> Manifest:
    """The review with its status. Raises: Refused."""
    if kind.kind == "SelfSubjectReview":
        about: Manifest = {"metadata": {"creationTimestamp": format_time(now)}, "status": {"userInfo": user.info()}}
    else:
        about = {**manifest, "status": access.review(kind.kind, manifest, user)}
    if kind.kind == "SelfSubjectRulesReview":
        about |= {"metadata": {}, "spec": {}}
    return {"kind": kind.kind, "apiVersion": kind.api_version, **about}
