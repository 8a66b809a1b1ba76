"""Admission in order: what this process says, policies and webhooks that change, and those that only judge.

    admit ▸ complete and check the object ▸ approve ▸ put

Where others changed something, this process is asked once more: what it forbids, nobody brings in behind it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import structs

from kubeapi.meta import Manifest
from kubeserver import errors
from kubeserver.admission import (
    Admission,
    AdmissionReview,
    Mutated,
    Mutations,
    NoMutations,
    NoWebhooks,
    Policies,
    Rejected,
    Webhooks,
)
from kubeserver.kinds.kind import Kind
from kubeserver.registry import lifecycle
from kubeserver.registry.objects import metadata_of
from kubeserver.registry.scaling import render_scale, scaled

_WITH_ALL_RULES = ("", "scale")
"""Subresources that are written with all of an object's rules."""
_SILENT = ("finalize", "binding")
"""Writes that are asked about as something else, or not at all: a namespace must be able to end."""


@dataclass(frozen=True, slots=True)
class Admitter:
    """Chain of all that admit a request; `guards` judge subresources. Every method raises: Refused."""

    inside: Sequence[Admission] = ()
    guards: Sequence[Admission] = ()
    mutations: Mutations = field(default_factory=NoMutations)
    webhooks: Webhooks = field(default_factory=NoWebhooks)
    judges: Sequence[Policies] = ()

    async def admit(self, review: AdmissionReview) -> Manifest:
        """The object as it is wanted by all who may change it."""
        manifest = self._ask_inside(review)
        if review.subresource in _SILENT:
            return manifest
        wanted, first = await self._mutate(review.about(manifest), None)
        wanted = await self._ask_webhooks(review.about(wanted))
        if wanted is manifest:
            return manifest
        wanted = self._ask_inside(review.about(wanted))
        again, _ = await self._mutate(review.about(wanted), first)
        return wanted if again is wanted else self._ask_inside(review.about(again))

    async def approve(self, review: AdmissionReview) -> None:
        """Asks those who judge the object as it would be stored."""
        if review.subresource not in _SILENT:
            await self._judge(_as_scale(review) if review.subresource == "scale" else review)

    async def admit_deletion(self, review: AdmissionReview) -> None:
        self._ask_inside(review)
        await self.ask(review)

    async def ask(self, review: AdmissionReview) -> Manifest:
        """Admits what changes no object of the kind: deletions, connections, and deeds like an eviction.

        Gives what is asked for as it is wanted by all who may change it.
        """
        wanted = await self.webhooks.mutate(review)
        await self._judge(review.about(wanted))
        return wanted

    async def _judge(self, review: AdmissionReview) -> None:
        for judge in self.judges:
            await judge.validate(review)
        await self.webhooks.validate(review)

    async def _mutate(self, review: AdmissionReview, before: Mutated | None) -> tuple[Manifest, Mutated]:
        """The object as policies want it, and what they made; of a scale they see only that."""
        if review.subresource != "scale":
            made = await self.mutations.mutate(review, before)
            return made.object, made
        shown = _as_scale(review)
        made = await self.mutations.mutate(shown, before)
        unchanged = made.object is shown.object
        return review.object if unchanged else scaled(review.kind, review.object, made.object), made

    async def _ask_webhooks(self, review: AdmissionReview) -> Manifest:
        if review.subresource != "scale":
            return await self.webhooks.mutate(review)
        shown = _as_scale(review)
        wanted = await self.webhooks.mutate(shown)
        return review.object if wanted is shown.object else scaled(review.kind, review.object, wanted)

    def _ask_inside(self, review: AdmissionReview) -> Manifest:
        manifest = review.object
        for admission in self.inside if review.subresource in _WITH_ALL_RULES else self.guards:
            try:
                admitted = admission.admit(review.about(manifest))
            except Rejected as rejection:
                raise _refusal_of(review.kind, metadata_of(manifest), rejection) from rejection
            if admitted is not manifest and review.operation != "DELETE":
                manifest = admitted
                review.kind.default(manifest)
        if review.old_object is not None and review.operation == "UPDATE" and review.subresource in _WITH_ALL_RULES:
            lifecycle.stamp_changed(review.kind, review.old_object, manifest)
        return manifest


def _as_scale(review: AdmissionReview) -> AdmissionReview:
    old = review.old_object
    shown = render_scale(review.kind, review.object)
    return structs.replace(review, object=shown, old_object=render_scale(review.kind, old) if old is not None else None)


def _refusal_of(kind: Kind, metadata: Mapping[str, Any], rejection: Rejected) -> errors.Refused:
    """Refusal of a write. What is forbidden is told by what its writer has said of its name, not by what the server
    made of that."""
    name, prefix = metadata.get("name", ""), metadata.get("generateName", "")
    if rejection.problems:
        return errors.invalid(kind.group, kind.kind, name, rejection.problems)
    told = prefix if lifecycle.is_made_of(prefix, name) else name
    if rejection.reason:
        return errors.denied(kind.group, kind.plural, told, rejection.message, rejection.reason, 403)
    return errors.forbidden(kind.group, kind.plural, told, rejection.message)
