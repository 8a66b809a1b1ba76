"""Admission: how others default and reject objects before they are stored.

An `Admission` is code in this process. It sees every create, update and delete of a whole object, after decoding and
defaulting and before validation; writes to subresources are for others, the guards, which are of the same form. It
answers at once: it neither waits nor writes.

`Mutations` and `Policies` are rules that administrators wrote: they change and judge, and see writes to subresources,
too. `Webhooks` are somewhere else: they see the same, and are waited for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from msgspec import Struct, structs

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.resource import Resource
from kubeapi.status import Problem
from kubeserver.handler import User
from kubeserver.kinds.kind import Kind


class AdmissionReview(Struct, frozen=True):
    """`operation` is CREATE, UPDATE, DELETE or CONNECT. On DELETE, `object` is the object that would go.

    With a `subresource`, the objects are of that one's own kind where it has one (a Scale, an Eviction), and `name` is
    that of the object which has the subresource.
    """

    operation: str
    kind: Kind
    namespace: str
    object: Manifest
    old_object: ReadOnlyManifest | None
    user: User
    dry_run: bool
    subresource: str = ""
    name: str = ""

    @property
    def resource(self) -> Resource[Manifest]:
        return self.kind.resource

    def about(self, wanted: Manifest) -> "AdmissionReview":
        """Review of the same deed with another object."""
        return self if wanted is self.object else structs.replace(self, object=wanted)


class Rejected(Exception):
    """The object is refused: with problems of its fields (422), or with a message (403), which may have its reason."""

    def __init__(self, message: str = "", problems: Sequence[Problem] = (), reason: str = "") -> None:
        super().__init__(message or "; ".join(map(str, problems)))
        self.message = message
        self.problems = tuple(problems)
        self.reason = reason


class Admission(Protocol):
    def admit(self, review: AdmissionReview) -> Manifest:
        """The object to store: `review.object` itself, or a changed copy. Ignored on DELETE. Raises: Rejected."""
        ...


class Policies(Protocol):
    async def validate(self, review: AdmissionReview) -> None:
        """Raises: Refused."""
        ...


@dataclass(frozen=True, slots=True)
class Mutated:
    """`made`: what each of those who want to be asked again has left, by their own names."""

    object: Manifest
    made: Mapping[str, Manifest] = field(default_factory=dict[str, Manifest])


class Mutations(Protocol):
    async def mutate(self, review: AdmissionReview, before: Mutated | None = None) -> Mutated:
        """The object as it is wanted. With what came of asking `before`, only those have a say who left it otherwise.

        Raises: Refused.
        """
        ...


class NoMutations:
    """Mutations where there are no rules that change."""

    async def mutate(self, review: AdmissionReview, before: Mutated | None = None) -> Mutated:
        del before
        return Mutated(review.object)


class Webhooks(Protocol):
    async def mutate(self, review: AdmissionReview) -> Manifest:
        """The object that is wanted: `review.object` itself, or a changed copy. Raises: Refused."""
        ...

    async def validate(self, review: AdmissionReview) -> None:
        """Raises: Refused."""
        ...


class NoWebhooks:
    """Decides alone: nobody else is asked."""

    async def mutate(self, review: AdmissionReview) -> Manifest:
        return review.object

    async def validate(self, review: AdmissionReview) -> None:
        del review
