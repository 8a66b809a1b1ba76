"""Carries out what the policies say about a request: the first denial counts, and every warning and note is made.

A policy or a binding that cannot be followed denies, unless the policy's `failurePolicy` is Ignore.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from leeward.api import codec
from leeward.api.meta import Manifest
from leeward.apiserver import refusals
from leeward.apiserver.admission import AdmissionReview
from leeward.apiserver.authorization.asked import authorizer_about, deciding
from leeward.apiserver.authorization.port import Authorizer
from leeward.apiserver.catalog import Catalog
from leeward.apiserver.cel.authorizer import authorizing
from leeward.apiserver.kinds.kind import Kind
from leeward.apiserver.policies.configuration import BINDINGS, POLICIES, Bound, BoundPolicies, Match
from leeward.apiserver.policies.evaluation import Evaluation, Failed, Failure
from leeward.apiserver.policies.params import Misconfigured, find_params
from leeward.apiserver.registry.objects import metadata_of
from leeward.apiserver.remarks import annotate, warn
from leeward.apiserver.store import Store
from leeward.apiserver.webhooks.configuration import GROUP
from leeward.apiserver.webhooks.matching import as_seen, is_excluded, is_selected, labels_of, matched_kind
from leeward.apiserver.webhooks.wire import render_request

AUDIT_KEY = "validation.policy.admission.k8s.io/validation_failure"
_CODES = {"Unauthorized": 401, "Forbidden": 403, "Invalid": 422, "RequestEntityTooLarge": 413}
_UNKNOWN_TO_EXPRESSIONS = ("uid", "object", "oldObject")


@dataclass(slots=True)
class _Said:
    """What comes of all policies. `denied`: who denies, and why."""

    denied: list[tuple[Bound, Failure]] = field(default_factory=list[tuple[Bound, Failure]])
    noted: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    annotations: dict[str, list[str]] = field(default_factory=dict[str, list[str]])


class AdmissionPolicies:
    """The `Policies` of a store."""

    def __init__(self, store: Store, catalog: Catalog, authorizer: Authorizer) -> None:
        self._store = store
        self._catalog = catalog
        self._authorizer = authorizer
        self._bound = BoundPolicies(store)

    def validate(self, review: AdmissionReview) -> None:
        bound = self._bound.all()
        if not bound or _is_exempt(review.kind):
            return
        said = _Said()
        for each in bound:
            self._judge(each, review, said)
        for key, values in said.annotations.items():
            annotate(key, ", ".join(dict.fromkeys(values)))
        if said.noted:
            annotate(AUDIT_KEY, codec.encode(said.noted).decode())
        if said.denied:
            raise _denied(review, *said.denied[0])

    def _judge(self, bound: Bound, review: AdmissionReview, said: _Said) -> None:
        policy, binding = bound
        kind = self._wanted_kind(policy.spec.match_constraints, review)
        if kind is None or self._wanted_kind(binding.spec.match_resources, review) is None:
            return
        try:
            params = find_params(policy, binding, review.namespace, self._catalog, self._store)
        except Misconfigured as error:
            if policy.spec.failure_policy == "Fail":
                said.denied.append((bound, Failure(str(error))))
            return
        known = self._known(as_seen(review, kind), kind)
        for param in params:
            with authorizing(deciding(self._authorizer, review.user)):
                self._evaluate(bound, {**known, "params": param}, said)

    def _evaluate(self, bound: Bound, known: Mapping[str, Any], said: _Said) -> None:
        policy, binding = bound
        evaluation = Evaluation(policy.spec, known)
        try:
            if not evaluation.is_meant():
                return
            failures = list(evaluation.failures())
            for key, value in evaluation.annotations():
                said.annotations.setdefault(f"{policy.name}/{key}", []).append(value)
        except Failed as failed:
            failures = [Failure(str(failed))] if policy.spec.failure_policy == "Fail" else []
        for failure in failures:
            _act(bound, failure, binding.spec.validation_actions, said)

    def _wanted_kind(self, match: Match, review: AdmissionReview) -> Kind | None:
        """As which kind the object is seen; None where the request is not meant."""
        equivalents = [other for other in self._catalog.kinds() if other.prefix == review.kind.prefix]
        kind = matched_kind(match, review, equivalents) if match.rules else review.kind
        if kind is None or is_excluded(match.exclude_resource_rules, match.match_policy, review, equivalents):
            return None
        namespace = self._namespace(review)
        return kind if is_selected(match, review, labels_of(namespace or {})) else None

    def _known(self, review: AdmissionReview, kind: Kind) -> dict[str, Any]:
        rendered = render_request(review, kind, "")
        request = {key: value for key, value in rendered.items() if key not in _UNKNOWN_TO_EXPRESSIONS}
        return {
            "object": rendered["object"],
            "oldObject": rendered["oldObject"],
            "request": request,
            "namespaceObject": self._namespace(review),
            "authorizer": authorizer_about(review, request.get("name", "")),
        }

    def _namespace(self, review: AdmissionReview) -> Manifest | None:
        """The namespace that the object lies in."""
        record = self._store.get(f"//namespaces//{review.namespace}") if review.kind.namespaced else None
        return codec.decode_manifest(record.value) if record else None


def _is_exempt(kind: Kind) -> bool:
    return kind.group == GROUP and kind.plural in (POLICIES, BINDINGS)


def _act(bound: Bound, failure: Failure, actions: tuple[str, ...], said: _Said) -> None:
    policy, binding = bound
    if "Deny" in actions:
        said.denied.append((bound, failure))
    if "Warn" in actions:
        who = f"ValidatingAdmissionPolicy '{policy.name}' with binding '{binding.name}'"
        warn(f"Validation failed for {who}: {failure.message}")
    if "Audit" in actions:
        said.noted.append(
            {
                "message": failure.message,
                "policy": policy.name,
                "binding": binding.name,
                "expressionIndex": max(failure.index, 0),
                "validationActions": list(actions),
            }
        )


def _denied(review: AdmissionReview, bound: Bound, failure: Failure) -> refusals.Refused:
    policy, binding = bound
    who = f"ValidatingAdmissionPolicy '{policy.name}' with binding '{binding.name}'"
    name = review.name or metadata_of(review.object).get("name", "")
    message = f"{who} denied request: {failure.message}"
    return refusals.denied(review.kind.group, review.kind.plural, name, message, failure.reason, _CODES[failure.reason])
