"""Policies and bindings as their objects say, each binding with its policy, in the order of their names."""

from collections.abc import Sequence
from typing import Generic, Protocol, TypeVar

import msgspec

from kubeapi import codec
from kubeapi.meta import LabelSelector
from kubeserver.store import Store
from kubeserver.webhooks.configuration import GROUP, Chooser, MatchCondition, Rule

POLICIES, BINDINGS = "validatingadmissionpolicies", "validatingadmissionpolicybindings"
MUTATING_POLICIES, MUTATING_BINDINGS = "mutatingadmissionpolicies", "mutatingadmissionpolicybindings"
ALL = (POLICIES, BINDINGS, MUTATING_POLICIES, MUTATING_BINDINGS)


class _Wire(msgspec.Struct, rename="camel", frozen=True, dict=True):
    """Read from what is stored, which has been checked and defaulted."""


class Match(Chooser, frozen=True):
    """Choice of requests. Without rules, all that the selectors let through."""

    rules: tuple[Rule, ...] = msgspec.field(default=(), name="resourceRules")
    exclude_resource_rules: tuple[Rule, ...] = ()


class ParamKind(_Wire, frozen=True):
    api_version: str = ""
    kind: str = ""


class Validation(_Wire, frozen=True):
    expression: str
    message: str = ""
    message_expression: str = ""
    reason: str = "Invalid"


class AuditAnnotation(_Wire, frozen=True):
    key: str
    value_expression: str


class Variable(_Wire, frozen=True):
    name: str
    expression: str


class CommonSpec(_Wire, frozen=True):
    """Common part of policies that judge and policies that change."""

    match_constraints: Match = Match()
    match_conditions: tuple[MatchCondition, ...] = ()
    param_kind: ParamKind | None = None
    variables: tuple[Variable, ...] = ()
    failure_policy: str = "Fail"


class PolicySpec(CommonSpec, frozen=True):
    validations: tuple[Validation, ...] = ()
    audit_annotations: tuple[AuditAnnotation, ...] = ()


class Expression(_Wire, frozen=True):
    expression: str


class Mutation(_Wire, frozen=True):
    """Mutation by one of two kinds of expressions, as `patch_type` says."""

    patch_type: str
    apply_configuration: Expression | None = None
    json_patch: Expression | None = msgspec.field(default=None, name="jsonPatch")


class MutatingSpec(CommonSpec, frozen=True, kw_only=True):
    reinvocation_policy: str
    mutations: tuple[Mutation, ...] = ()


class ParamRef(_Wire, frozen=True):
    name: str = ""
    namespace: str = ""
    selector: LabelSelector | None = None
    parameter_not_found_action: str = "Deny"


class BindingSpec(_Wire, frozen=True):
    policy_name: str
    param_ref: ParamRef | None = None
    match_resources: Match = Match()
    validation_actions: tuple[str, ...] = ()


class _Meta(_Wire, frozen=True):
    name: str


class _Named(_Wire, frozen=True):
    metadata: _Meta

    @property
    def name(self) -> str:
        return self.metadata.name


class Policy(_Named, frozen=True):
    spec: PolicySpec = PolicySpec()


class MutatingPolicy(_Named, frozen=True, kw_only=True):
    spec: MutatingSpec


class AnyPolicy(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def spec(self) -> CommonSpec: ...


class Binding(_Named, frozen=True, kw_only=True):
    spec: BindingSpec


P = TypeVar("P", bound=AnyPolicy)
T = TypeVar("T")
Bound = tuple[Policy, Binding]


class BoundPolicies(Generic[P]):
    """All policies of one type that are in force; read again when a policy or a binding has changed."""

    def __init__(self, store: Store, policy: type[P], policies: str, bindings: str) -> None:
        self._store = store
        self._type = policy
        self._prefixes = _prefix(policies), _prefix(bindings)
        self._seen = (0, 0)
        self._bound: Sequence[tuple[P, Binding]] = ()

    def all(self) -> Sequence[tuple[P, Binding]]:
        policies, bindings = self._prefixes
        seen = self._store.last_change(policies), self._store.last_change(bindings)
        if seen != self._seen:
            self._bound = self._read()
            self._seen = seen
        return self._bound

    def _read(self) -> Sequence[tuple[P, Binding]]:
        policies = {policy.name: policy for policy in self._decoded(self._prefixes[0], self._type)}
        bindings = self._decoded(self._prefixes[1], Binding)
        bound = [(policies[each.spec.policy_name], each) for each in bindings if each.spec.policy_name in policies]
        return sorted(bound, key=lambda pair: (pair[0].name, pair[1].name))

    def _decoded(self, prefix: str, kind: type[T]) -> list[T]:
        return [codec.decode(record.value, kind) for record in self._store.list(prefix).records]


def _prefix(plural: str) -> str:
    return f"/{GROUP}/{plural}/"
