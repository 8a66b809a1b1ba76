"""Admission: how other packages default and reject objects before they are stored.

An `Admission` sees every create, update and delete of a whole object, after decoding and defaulting and before
validation; never a write to a subresource. It answers at once: it neither waits nor writes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from leeward.api.meta import Manifest, ReadOnlyManifest
from leeward.api.resource import Resource
from leeward.api.status import Problem
from leeward.apiserver.handler import User


@dataclass(frozen=True, slots=True)
class AdmissionReview:
    """`operation` is CREATE, UPDATE or DELETE. On DELETE, `object` is the object that would go."""

    operation: str
    resource: Resource[Manifest]
    namespace: str
    object: Manifest
    old_object: ReadOnlyManifest | None
    user: User
    dry_run: bool


class Rejected(Exception):
    """The object is refused: with problems of its fields (422), or with a message (403)."""

    def __init__(self, message: str = "", problems: Sequence[Problem] = ()) -> None:
        super().__init__(message or "; ".join(map(str, problems)))
        self.message = message
        self.problems = tuple(problems)


class Admission(Protocol):
    def admit(self, review: AdmissionReview) -> Manifest:
        """The object to store: `review.object` itself, or a changed copy. Ignored on DELETE. Raises: Rejected."""
        ...
