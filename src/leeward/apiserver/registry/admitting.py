"""Admission in order: what this process says, the webhooks that change, policies, and the webhooks that only judge.

    admit ▸ complete and check the object ▸ approve ▸ put

Where a webhook changed something, this process is asked once more: what it forbids, nobody brings in behind it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from leeward.api.meta import Manifest
from leeward.apiserver import refusals
from leeward.apiserver.admission import Admission, AdmissionReview, NoWebhooks, Policies, Rejected, Webhooks
from leeward.apiserver.kinds.kind import Kind
from leeward.apiserver.registry import lifecycle
from leeward.apiserver.registry.objects import metadata_of
from leeward.apiserver.registry.scaling import render_scale, scaled

_WHOLE = ("", "scale")
"""What is written with all of an object's rules."""
_SILENT = ("finalize", "binding")
"""Writes that are asked about as something else, or not at all: a namespace must be able to end."""


@dataclass(frozen=True, slots=True)
class Admitter:
    """All who have a say; `guards` about subresources. Every method raises: Refused."""

    inside: Sequence[Admission] = ()
    guards: Sequence[Admission] = ()
    webhooks: Webhooks = field(default_factory=NoWebhooks)
    judges: Sequence[Policies] = ()

    async def admit(self, review: AdmissionReview) -> Manifest:
        """The object as it is wanted by all who may change it."""
        manifest = self._ask_inside(review)
        if review.subresource in _SILENT:
            return manifest
        changed = await self._ask_webhooks(review.about(manifest))
        return manifest if changed is manifest else self._ask_inside(review.about(changed))

    async def approve(self, review: AdmissionReview) -> None:
        """Asks those who judge the object as it would be stored."""
        if review.subresource not in _SILENT:
            await self._judge(_as_scale(review) if review.subresource == "scale" else review)

    async def admit_deletion(self, review: AdmissionReview) -> None:
        self._ask_inside(review)
        await self.ask(review)

    async def ask(self, review: AdmissionReview) -> Manifest:
        """For what changes no object of the kind: deletions, connections, and deeds like an eviction.

        Gives what is asked for as it is wanted by all who may change it.
        """
        wanted = await self.webhooks.mutate(review)
        await self._judge(review.about(wanted))
        return wanted

    async def _judge(self, review: AdmissionReview) -> None:
        for judge in self.judges:
            judge.validate(review)
        await self.webhooks.validate(review)

    async def _ask_webhooks(self, review: AdmissionReview) -> Manifest:
        if review.subresource != "scale":
            return await self.webhooks.mutate(review)
        shown = _as_scale(review)
        wanted = await self.webhooks.mutate(shown)
        return review.object if wanted is shown.object else scaled(review.kind, review.object, wanted)

    def _ask_inside(self, review: AdmissionReview) -> Manifest:
        manifest = review.object
        for admission in self.inside if review.subresource in _WHOLE else self.guards:
            try:
                admitted = admission.admit(review.about(manifest))
            except Rejected as rejection:
                raise _refusal_of(review.kind, metadata_of(manifest).get("name", ""), rejection) from rejection
            if admitted is not manifest and review.operation != "DELETE":
                manifest = admitted
                review.kind.default(manifest)
        if review.old_object is not None and review.operation == "UPDATE" and review.subresource in _WHOLE:
            lifecycle.stamp_changed(review.kind, review.old_object, manifest)
        return manifest


def _as_scale(review: AdmissionReview) -> AdmissionReview:
    old = review.old_object
    shown = render_scale(review.kind, review.object)
    return replace(review, object=shown, old_object=render_scale(review.kind, old) if old is not None else None)


def _refusal_of(kind: Kind, name: str, rejection: Rejected) -> refusals.Refused:
    if rejection.problems:
        return refusals.invalid(kind.group, kind.kind, name, rejection.problems)
    return refusals.forbidden(kind.group, kind.plural, name, rejection.message)
