"""Sight that policies have of a request: whether it is meant for them, as which kind, with which parameters and
variables."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from kubeapi import codec
from kubeapi.meta import Manifest
from kubeserver.admission import AdmissionReview
from kubeserver.auth.authorization.interface import Authorizer
from kubeserver.cel.authorizer import authorizing
from kubeserver.dynamic_admission.authorizer import authorizer_about, deciding
from kubeserver.dynamic_admission.policies.configuration import ALL, AnyPolicy, Binding, Match
from kubeserver.dynamic_admission.policies.params import find_params
from kubeserver.dynamic_admission.webhooks.matching import as_seen, is_excluded, is_selected, labels_of, matched_kind
from kubeserver.dynamic_admission.webhooks.wire import render_request
from kubeserver.kinds.kind import Kind
from kubeserver.kinds.scheme import Scheme
from kubeserver.store import Store
from kubeserver.webhooks.configuration import GROUP

_UNKNOWN_TO_EXPRESSIONS = ("uid", "object", "oldObject")


def is_exempt(kind: Kind) -> bool:
    """Policies are not asked about policies: a broken one must be removable."""
    return kind.group == GROUP and kind.plural in ALL


class Sight:
    def __init__(self, store: Store, scheme: Scheme, authorizer: Authorizer) -> None:
        self._store = store
        self._scheme = scheme
        self._authorizer = authorizer

    def wanted_kind(self, policy: AnyPolicy, binding: Binding, review: AdmissionReview) -> Kind | None:
        """Kind as which the policy sees the object; None where the request is not meant by both."""
        kind = self._matched(policy.spec.match_constraints, review)
        bound = kind is not None and self._matched(binding.spec.match_resources, review) is not None
        return kind if bound else None

    async def params(self, policy: AnyPolicy, binding: Binding, review: AdmissionReview) -> list[Manifest | None]:
        """Raises: Misconfigured."""
        return await find_params(policy, binding, review.namespace, self._scheme, self._store)

    async def known(self, review: AdmissionReview, kind: Kind) -> dict[str, Any]:
        """The variables of expressions about the object as `kind`, but for the parameters."""
        rendered = render_request(await as_seen(review, kind), kind, "")
        request = {key: value for key, value in rendered.items() if key not in _UNKNOWN_TO_EXPRESSIONS}
        return {
            "object": rendered["object"],
            "oldObject": rendered["oldObject"],
            "request": request,
            "namespaceObject": self._namespace(review),
            "authorizer": authorizer_about(review, request.get("name", "")),
        }

    @contextmanager
    def asking_for(self, review: AdmissionReview) -> Generator[None]:
        """Expressions that are evaluated here may ask what the user may do."""
        with authorizing(deciding(self._authorizer, review.user)):
            yield

    def _matched(self, match: Match, review: AdmissionReview) -> Kind | None:
        equivalents = [other for other in self._scheme.kinds() if other.prefix == review.kind.prefix]
        kind = matched_kind(match, review, equivalents) if match.rules else review.kind
        if kind is None or is_excluded(match.exclude_resource_rules, match.match_policy, review, equivalents):
            return None
        namespace = self._namespace(review)
        return kind if is_selected(match, review, labels_of(namespace or {})) else None

    def _namespace(self, review: AdmissionReview) -> Manifest | None:
        """The namespace that the object lies in."""
        record = self._store.get(f"//namespaces//{review.namespace}") if review.kind.namespaced else None
        return codec.decode_manifest(record.value) if record else None
