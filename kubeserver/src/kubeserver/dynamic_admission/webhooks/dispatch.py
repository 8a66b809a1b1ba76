"""Asks the webhooks: those that change one after the other, those that only judge all at once.

    mutate:    each in order ▸ what somebody changed later is shown once more to those who asked for it
    validate:  all together ▸ the first refusal in order counts

Each has its own time. One that fails refuses the request, or is passed over, as its `failurePolicy` says. Whoever
embeds the server may have some passed over whose Service leads nowhere.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import structs

from kubeapi import codec
from kubeapi.diff import is_equal
from kubeapi.loop import Randomness
from kubeapi.meta import Manifest
from kubeapi.status import Status
from kubeserver import errors
from kubeserver.admission import AdmissionReview
from kubeserver.auth.authorization.interface import Authorizer
from kubeserver.cel.authorizer import authorizing
from kubeserver.dynamic_admission.authorizer import authorizer_about, deciding
from kubeserver.dynamic_admission.webhooks.conditions import meets_conditions
from kubeserver.dynamic_admission.webhooks.matching import as_seen, is_exempt, is_selected, labels_of, matched_kind
from kubeserver.dynamic_admission.webhooks.patching import patched
from kubeserver.dynamic_admission.webhooks.wire import Unreadable, Verdict, read_verdict, render_request, render_review
from kubeserver.kinds.kind import Kind
from kubeserver.kinds.scheme import Scheme
from kubeserver.store import Store
from kubeserver.warnings import annotate, warn
from kubeserver.webhooks import configuration
from kubeserver.webhooks.calling import (
    LeadsNowhere,
    PassedOver,
    Uncallable,
    WebhookClient,
    address_of,
    nobody,
)
from kubeserver.webhooks.configuration import Configurations, Configured, Webhook

log = logging.getLogger(__name__)

_WITHOUT_SIDE_EFFECTS = ("None", "NoneOnDryRun")


@dataclass(frozen=True, slots=True)
class _Question:
    """A webhook that wants to see a request: `review` as it sees it, of `kind`; `place` is its own among all."""

    configured: Configured
    place: int
    kind: Kind
    request: dict[str, Any]

    @property
    def webhook(self) -> Webhook:
        return self.configured.webhook


class AdmissionWebhooks:
    """The `Webhooks` of a store's configurations, reached through `client`."""

    def __init__(
        self,
        store: Store,
        scheme: Scheme,
        client: WebhookClient,
        randomness: Randomness,
        authorizer: Authorizer,
        passed_over: PassedOver = nobody,
    ) -> None:
        self._authorizer = authorizer
        self._passed_over = passed_over
        self._store = store
        self._scheme = scheme
        self._client = client
        self._randomness = randomness
        self._mutating = Configurations(store, configuration.MUTATING)
        self._validating = Configurations(store, configuration.VALIDATING)

    async def mutate(self, review: AdmissionReview) -> Manifest:
        configured = self._mutating.webhooks()
        if not configured or is_exempt(review.kind):
            return review.object
        review, again = await self._round(review, list(enumerate(configured)), 0)
        review, _ = await self._round(review, again, 1)
        return review.object

    async def validate(self, review: AdmissionReview) -> None:
        configured = self._validating.webhooks()
        if not configured or is_exempt(review.kind):
            return
        asked = [await self._question(each, place, review) for place, each in enumerate(configured)]
        outcomes = await asyncio.gather(*(self._ask(q, "validating", 0) for q in asked if q), return_exceptions=True)
        for outcome in outcomes:
            if isinstance(outcome, BaseException):
                raise outcome

    async def _round(
        self, review: AdmissionReview, webhooks: Sequence[tuple[int, Configured]], number: int
    ) -> tuple[AdmissionReview, list[tuple[int, Configured]]]:
        """The review after all `webhooks`, and those that want to see it again because others changed it later."""
        asked: list[tuple[int, Configured]] = []
        again: dict[int, Configured] = {}
        for place, each in webhooks:
            question = await self._question(each, place, review)
            verdict = await self._ask(question, "mutating", number) if question else None
            if question is None or verdict is None:
                continue
            changed = await patched(review, question.kind, question.webhook, verdict)
            _annotate_mutation(question, number, changed=not is_equal(changed, review.object))
            if not is_equal(changed, review.object):
                review = structs.replace(review, object=changed)
                again |= dict(asked)
            if each.webhook.reinvocation_policy == "IfNeeded":
                asked.append((place, each))
        return review, sorted(again.items())

    async def _question(self, configured: Configured, place: int, review: AdmissionReview) -> _Question | None:
        """None where the webhook does not want to see the request."""
        webhook = configured.webhook
        kind = matched_kind(webhook, review, self._equivalents(review.kind))
        if kind is None or not is_selected(webhook, review, self._namespace_labels(webhook, review)):
            return None
        if self._is_passed_over(configured):
            return None
        request = render_request(await as_seen(review, kind), kind, self._randomness.uid())
        try:
            with authorizing(deciding(self._authorizer, review.user)):
                wanted = meets_conditions(webhook, request, authorizer_about(review, request.get("name", "")))
        except Uncallable as error:
            _failed(webhook, str(error))
            return None
        return _Question(configured, place, kind, request) if wanted else None

    def _is_passed_over(self, configured: Configured) -> bool:
        try:
            address_of(configured.webhook.client_config, self._store)
        except LeadsNowhere:
            return self._passed_over(configured)
        except Uncallable:
            return False
        return False

    async def _ask(self, question: _Question, what: str, number: int) -> Verdict | None:
        """Verdict of the webhook; None where it failed and that does not matter. Raises: Refused."""
        webhook, request = question.webhook, question.request
        if request["dryRun"] and webhook.side_effects not in _WITHOUT_SIDE_EFFECTS:
            raise errors.bad_request(f'admission webhook "{webhook.name}" does not support dry run')
        try:
            verdict = await self._call(webhook, request)
        except (Uncallable, Unreadable) as error:
            _failed(webhook, str(error))
            place = f"round_{number}_index_{question.place}"
            annotate(f"failed-open.{what}.webhook.admission.k8s.io/{place}", webhook.name)
            return None
        for text in verdict.warnings:
            warn(text)
        for key, value in verdict.annotations.items():
            annotate(f"{webhook.name}/{key}", value)
        if not verdict.allowed:
            raise _denied(webhook, verdict)
        return verdict

    async def _call(self, webhook: Webhook, request: dict[str, Any]) -> Verdict:
        seconds = webhook.timeout_seconds
        address = address_of(webhook.client_config, self._store)
        try:
            async with asyncio.timeout(seconds):
                answer = await self._client.post(address, render_review(request), seconds)
        except TimeoutError:
            raise Uncallable(f"{address.url}: no answer within {seconds} s") from None
        return read_verdict(answer, request["uid"])

    def _equivalents(self, kind: Kind) -> list[Kind]:
        return [other for other in self._scheme.kinds() if other.prefix == kind.prefix and other is not kind]

    def _namespace_labels(self, webhook: Webhook, review: AdmissionReview) -> dict[str, str]:
        if not webhook.namespaces or not review.kind.namespaced:
            return {}
        record = self._store.get(f"//namespaces//{review.namespace}")
        return dict(labels_of(codec.decode_manifest(record.value))) if record else {}


def _annotate_mutation(question: _Question, number: int, *, changed: bool) -> None:
    place = f"round_{number}_index_{question.place}"
    names = {"configuration": question.configured.configuration, "webhook": question.webhook.name, "mutated": changed}
    annotate(f"mutation.webhook.admission.k8s.io/{place}", codec.encode(names).decode())


def _failed(webhook: Webhook, why: str) -> None:
    """Raises: Refused, where the failure matters."""
    if webhook.failure_policy == "Ignore":
        log.warning("admission webhook %s failed and is passed over: %s", webhook.name, why)
        return
    raise errors.internal_error(f'failed calling webhook "{webhook.name}": failed to call webhook: {why}')


def _denied(webhook: Webhook, verdict: Verdict) -> errors.Refused:
    said, start = verdict.said, f'admission webhook "{webhook.name}" denied the request'
    why = said.message or said.reason
    message = f"{start}: {why}" if why else f"{start} without explanation"
    return errors.Refused(Status(message=message, reason=said.reason, code=max(said.code, 400)))
