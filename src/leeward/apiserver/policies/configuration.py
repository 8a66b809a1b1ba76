"""Policies and bindings as their objects say, each binding with its policy, in the order of their names."""

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from leeward.api import codec
from leeward.api.meta import LabelSelector
from leeward.apiserver.store import Store
from leeward.apiserver.webhooks.configuration import GROUP, Chooser, MatchCondition, Rule

T = TypeVar("T")

POLICIES, BINDINGS = "validatingadmissionpolicies", "validatingadmissionpolicybindings"


class _Wire(msgspec.Struct, rename="camel", frozen=True, dict=True):
    """Read from what is stored, which has been checked and defaulted."""


class Match(Chooser, frozen=True):
    """Which requests are meant. Without rules, all that the selectors let through."""

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


class PolicySpec(_Wire, frozen=True):
    match_constraints: Match = Match()
    match_conditions: tuple[MatchCondition, ...] = ()
    param_kind: ParamKind | None = None
    validations: tuple[Validation, ...] = ()
    audit_annotations: tuple[AuditAnnotation, ...] = ()
    variables: tuple[Variable, ...] = ()
    failure_policy: str = "Fail"


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


class Policy(_Wire, frozen=True):
    metadata: _Meta
    spec: PolicySpec = PolicySpec()

    @property
    def name(self) -> str:
        return self.metadata.name


class Binding(_Wire, frozen=True):
    metadata: _Meta
    spec: BindingSpec

    @property
    def name(self) -> str:
        return self.metadata.name


Bound = tuple[Policy, Binding]


class BoundPolicies:
    """All that are in force; read again when a policy or a binding has changed."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen = (0, 0)
        self._bound: Sequence[Bound] = ()

    def all(self) -> Sequence[Bound]:
        seen = self._store.last_change(_prefix(POLICIES)), self._store.last_change(_prefix(BINDINGS))
        if seen != self._seen:
            self._bound = self._read()
            self._seen = seen
        return self._bound

    def _read(self) -> Sequence[Bound]:
        policies = {policy.name: policy for policy in _decoded(self._store, POLICIES, Policy)}
        bindings = _decoded(self._store, BINDINGS, Binding)
        bound = [(policies[each.spec.policy_name], each) for each in bindings if each.spec.policy_name in policies]
        return sorted(bound, key=lambda pair: (pair[0].name, pair[1].name))


def _prefix(plural: str) -> str:
    return f"/{GROUP}/{plural}/"


def _decoded(store: Store, plural: str, kind: type[T]) -> list[T]:
    return [codec.decode(record.value, kind) for record in store.list(_prefix(plural)).records]
