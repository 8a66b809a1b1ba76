"""Carries out what the policies say about a request: the first denial counts, and every warning and note is made.

A policy or a binding that cannot be followed denies, unless the policy's `failurePolicy` is Ignore.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kubeapi import codec
from kubeserver import errors
from kubeserver.admission import AdmissionReview
from kubeserver.dynamic_admission.policies.configuration import BINDINGS, POLICIES, Bound, BoundPolicies, Policy
from kubeserver.dynamic_admission.policies.evaluation import Evaluation, Failed, Failure
from kubeserver.dynamic_admission.policies.params import Misconfigured
from kubeserver.dynamic_admission.policies.sight import Sight, is_exempt
from kubeserver.registry.objects import metadata_of
from kubeserver.store import Store
from kubeserver.warnings import annotate, warn

AUDIT_KEY = "validation.policy.admission.k8s.io/validation_failure"
_CODES = {"Unauthorized": 401, "Forbidden": 403, "Invalid": 422, "RequestEntityTooLarge": 413}


@dataclass(slots=True)
class _Said:
    """Result of all policies. `denied`: who denies, and why."""

    denied: list[tuple[Bound, Failure]] = field(default_factory=list[tuple[Bound, Failure]])
    noted: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    annotations: dict[str, list[str]] = field(default_factory=dict[str, list[str]])


class AdmissionPolicies:
    """The `Policies` of a store."""

    def __init__(self, store: Store, sight: Sight) -> None:
        self._sight = sight
        self._bound = BoundPolicies(store, Policy, POLICIES, BINDINGS)

    async def validate(self, review: AdmissionReview) -> None:
        bound = self._bound.all()
        if not bound or is_exempt(review.kind):
            return
        said = _Said()
        for each in bound:
            await self._judge(each, review, said)
        for key, values in said.annotations.items():
            annotate(key, ", ".join(dict.fromkeys(values)))
        if said.noted:
            annotate(AUDIT_KEY, codec.encode(said.noted).decode())
        if said.denied:
            raise _denied(review, *said.denied[0])

    async def _judge(self, bound: Bound, review: AdmissionReview, said: _Said) -> None:
        policy, binding = bound
        kind = self._sight.wanted_kind(policy, binding, review)
        if kind is None:
            return
        try:
            params = await self._sight.params(policy, binding, review)
        except Misconfigured as error:
            if policy.spec.failure_policy == "Fail":
                said.denied.append((bound, Failure(str(error))))
            return
        known = await self._sight.known(review, kind)
        for param in params:
            with self._sight.asking_for(review):
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


def _denied(review: AdmissionReview, bound: Bound, failure: Failure) -> errors.Refused:
    policy, binding = bound
    who = f"ValidatingAdmissionPolicy '{policy.name}' with binding '{binding.name}'"
    name = review.name or metadata_of(review.object).get("name", "")
    message = f"{who} denied request: {failure.message}"
    return errors.denied(review.kind.group, review.kind.plural, name, message, failure.reason, _CODES[failure.reason])
