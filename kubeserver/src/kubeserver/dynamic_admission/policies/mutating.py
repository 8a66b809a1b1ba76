"""Asks the policies that change: one after the other, each sees what those before it made.

A policy that asks for it is asked once more when somebody changed the object after it: another policy, a webhook, or
this process. What cannot be evaluated refuses the request, unless the policy's `failurePolicy` is Ignore.

Kubernetes: admission/plugin/policy/mutating; the same. Differs: webhooks are not asked again about what policies change
the second time, and deeds that change no object of their kind (evictions, tokens, reviews) are not shown to policies.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kubeapi.diff import is_equal
from kubeapi.meta import Manifest
from kubeapi.status import Status, StatusCause, StatusDetails
from kubeserver.admission import AdmissionReview, Mutated
from kubeserver.dynamic_admission.policies.configuration import (
    MUTATING_BINDINGS,
    MUTATING_POLICIES,
    Binding,
    BoundPolicies,
    MutatingPolicy,
    Mutation,
)
from kubeserver.dynamic_admission.policies.evaluation import Expressions, Failed
from kubeserver.dynamic_admission.policies.mutations import mutated
from kubeserver.dynamic_admission.policies.params import Misconfigured
from kubeserver.dynamic_admission.policies.sight import Sight, is_exempt
from kubeserver.dynamic_admission.webhooks.patching import rewritten
from kubeserver.errors import Refused
from kubeserver.kinds.kind import Kind
from kubeserver.registry.decoding import UndecodableObject
from kubeserver.registry.objects import metadata_of
from kubeserver.registry.scaling import SCALE_KIND
from kubeserver.store import Store

_Bound = tuple[MutatingPolicy, Binding]


@dataclass(slots=True)
class _Round:
    """`made`: what the policies that want to be asked again have left. `denied`: who could not be followed, and why."""

    review: AdmissionReview
    made: dict[str, Manifest] = field(default_factory=dict[str, Manifest])
    denied: list[str] = field(default_factory=list[str])


class MutatingPolicies:
    """The `Mutations` of a store."""

    def __init__(self, store: Store, sight: Sight) -> None:
        self._sight = sight
        self._bound = BoundPolicies(store, MutatingPolicy, MUTATING_POLICIES, MUTATING_BINDINGS)

    async def mutate(self, review: AdmissionReview, before: Mutated | None = None) -> Mutated:
        bound = self._bound.all()
        if not bound or is_exempt(review.kind) or (before is not None and not before.made):
            return Mutated(review.object)
        this = _Round(review)
        for each in bound:
            await self._ask(each, this, None if before is None else before.made)
        if this.denied:
            raise _refusal(review, this.denied)
        return Mutated(this.review.object, this.made)

    async def _ask(self, bound: _Bound, this: _Round, before: Mapping[str, Manifest] | None) -> None:
        policy, binding = bound
        kind = self._sight.wanted_kind(policy, binding, this.review)
        if kind is None:
            return
        try:
            params = await self._sight.params(policy, binding, this.review)
        except Misconfigured as error:
            _deny(bound, str(error), this)
            return
        for param in params:
            key = "/".join((policy.name, binding.name, *_place(param)))
            if before is not None and is_equal(before.get(key, this.review.object), this.review.object):
                continue
            with self._sight.asking_for(this.review):
                await self._follow(bound, kind, param, this)
            if policy.spec.reinvocation_policy == "IfNeeded":
                this.made[key] = this.review.object

    async def _follow(self, bound: _Bound, kind: Kind, param: Manifest | None, this: _Round) -> None:
        policy, _ = bound
        try:
            if not (await self._expressions(policy, kind, param, this.review)).is_meant():
                return
        except Failed as failed:
            _deny(bound, str(failed), this)
            return
        for mutation in policy.spec.mutations:
            try:
                this.review = this.review.about(await self._changed(policy, mutation, kind, param, this.review))
            except Failed as failed:
                _deny(bound, str(failed), this)

    async def _changed(
        self, policy: MutatingPolicy, mutation: Mutation, kind: Kind, param: Manifest | None, review: AdmissionReview
    ) -> Manifest:
        """Raises: Failed."""
        expressions = await self._expressions(policy, kind, param, review)
        structure = (SCALE_KIND if review.subresource == "scale" else kind).structure
        try:
            after = await rewritten(review, kind, lambda seen: mutated(mutation, expressions, structure, seen))
        except (ValueError, UndecodableObject) as error:
            raise Failed(f"the result is no {kind.kind}: {error}") from error
        return review.object if is_equal(after, review.object) else after

    async def _expressions(
        self, policy: MutatingPolicy, kind: Kind, param: Manifest | None, review: AdmissionReview
    ) -> Expressions:
        return Expressions(policy.spec, {**await self._sight.known(review, kind), "params": param})


def _place(param: Manifest | None) -> tuple[str, ...]:
    metadata: Mapping[str, Any] = metadata_of(param) if param is not None else {}
    return metadata.get("namespace", ""), metadata.get("name", "")


def _deny(bound: _Bound, why: str, this: _Round) -> None:
    policy, binding = bound
    if policy.spec.failure_policy == "Fail":
        this.denied.append(f"policy '{policy.name}' with binding '{binding.name}' denied request: {why}")


def _refusal(review: AdmissionReview, denied: list[str]) -> Refused:
    name = review.name or metadata_of(review.object).get("name", "")
    causes = tuple(StatusCause(message=said) for said in denied)
    details = StatusDetails(name=name, group=review.kind.group, kind=review.kind.plural, causes=causes)
    return Refused(Status(message=denied[0], reason="Invalid", details=details, code=403))
