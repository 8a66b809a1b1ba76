"""RBAC: allowed is what a bound role allows; `system:masters` may do everything.

Roles and bindings are decoded once and found by subject. Before each decision the store is asked whether any of them
has changed since, which costs four look-ups, so that a decision is never based on what is no more.

Kubernetes: plugin/pkg/auth/authorizer/rbac; the same, and the same words. plugin/pkg/auth/authorizer/node: rights that
come with a name; here as a function that the server is given.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from kubeapi import codec
from kubeserver.auth.authorization.attributes import Attributes
from kubeserver.auth.authorization.interface import Decision
from kubeserver.auth.authorization.rules import EVERYTHING, Rule, matches
from kubeserver.handler import ADMIN_GROUP, User
from kubeserver.store import Record, Store

log = logging.getLogger(__name__)

GROUP = "rbac.authorization.k8s.io"
SERVICE_ACCOUNT_PREFIX = "system:serviceaccount:"
_PREFIXES = tuple(f"/{GROUP}/{plural}/" for plural in ("clusterroles", "clusterrolebindings", "roles", "rolebindings"))


RulesOfUser = Callable[[User, str], Sequence[Rule]]
"""Rights in a namespace ("" for none) that a user has by name, without any binding."""


def no_rules(user: User, namespace: str) -> Sequence[Rule]:
    """The `RulesOfUser` of a server that was given none."""
    return ()


class Subject(msgspec.Struct, frozen=True, rename="camel"):
    kind: str = ""
    name: str = ""
    namespace: str = ""


class RoleRef(msgspec.Struct, frozen=True, rename="camel"):
    kind: str = ""
    name: str = ""


class _Meta(msgspec.Struct, frozen=True):
    name: str
    namespace: str = ""


class _Role(msgspec.Struct, frozen=True):
    rules: tuple[Rule, ...] | None = ()


class _Binding(msgspec.Struct, frozen=True, rename="camel"):
    metadata: _Meta
    role_ref: RoleRef
    subjects: tuple[Subject, ...] | None = ()


class Grant(NamedTuple):
    """One binding as one of its subjects sees it."""

    binding: _Binding
    subject: Subject

    def __str__(self) -> str:
        name, namespace = self.binding.metadata.name, self.binding.metadata.namespace
        role = self.binding.role_ref
        whom = f"{self.subject.name}/{self.subject.namespace}" if self.subject.namespace else self.subject.name
        which = f'RoleBinding "{name}/{namespace}"' if namespace else f'ClusterRoleBinding "{name}"'
        return f'{which} of {role.kind} "{role.name}" to {self.subject.kind} "{whom}"'


class Rbac:
    """Decides from the roles and bindings in the store, and from `rules_of_user`."""

    def __init__(self, store: Store, rules_of_user: RulesOfUser = no_rules) -> None:
        self._store = store
        self._rules_of_user = rules_of_user
        self._seen: tuple[int, ...] = ()
        self._decoded: dict[str, tuple[Record, _Role | _Binding]] = {}
        self._roles: dict[tuple[str, str], Sequence[Rule]] = {}
        self._grants: dict[tuple[str, str, str], list[Grant]] = {}

    def decide(self, user: User, attributes: Attributes) -> Decision:
        if ADMIN_GROUP in user.groups:
            return Decision(True)
        self._refresh()
        problems: list[str] = []
        for grant in self._grants_of(user, attributes.namespace):
            rules = self._rules_of(grant.binding.role_ref, grant.binding.metadata.namespace)
            if rules is None:
                problems.append(_not_found(grant.binding.role_ref))
            elif any(matches(rule, attributes) for rule in rules):
                return Decision(True, f"RBAC: allowed by {grant}")
        if any(matches(rule, attributes) for rule in self._rules_of_user(user, attributes.namespace)):
            return Decision(True, f'allowed to "{user.name}" by name')
        return Decision(False, f"RBAC: {_joined(problems)}" if problems else "")

    def rules_for(self, user: User, namespace: str) -> list[Rule]:
        """Rules of all that the user may do, in one namespace and at the cluster scope."""
        self._refresh()
        rules = list(EVERYTHING) if ADMIN_GROUP in user.groups else []
        for grant in self._grants_of(user, namespace):
            rules += self._rules_of(grant.binding.role_ref, grant.binding.metadata.namespace) or ()
        return [*rules, *self._rules_of_user(user, namespace)]

    def role_rules(self, reference: RoleRef, namespace: str) -> Sequence[Rule] | None:
        """The rules of the role that a binding in `namespace` names; None when it is not there."""
        self._refresh()
        return self._rules_of(reference, namespace)

    def _rules_of(self, reference: RoleRef, namespace: str) -> Sequence[Rule] | None:
        return self._roles.get(("" if reference.kind == "ClusterRole" else namespace, reference.name))

    def _grants_of(self, user: User, namespace: str) -> Iterator[Grant]:
        """Grants of the user, those at the cluster scope first."""
        keys = [("User", user.name), *(("Group", group) for group in user.groups)]
        if user.name.startswith(SERVICE_ACCOUNT_PREFIX):
            keys.append(("ServiceAccount", user.name.removeprefix(SERVICE_ACCOUNT_PREFIX)))
        for scope in dict.fromkeys(("", namespace)):
            for kind, name in keys:
                yield from self._grants.get((scope, kind, name), ())

    def _refresh(self) -> None:
        changed = tuple(self._store.last_change(prefix) for prefix in _PREFIXES)
        if changed == self._seen:
            return
        self._seen = changed
        fresh: dict[str, tuple[Record, _Role | _Binding]] = {}
        self._roles, self._grants = {}, {}
        for prefix in _PREFIXES:
            shape = _Binding if prefix.endswith("bindings/") else _Role
            for record in self._store.list(prefix).records:
                known = self._decoded.get(record.key)
                decoded = known[1] if known and known[0] is record else _decoded(record, shape)
                if decoded is not None:
                    fresh[record.key] = record, decoded
                    self._take(record.key, decoded)
        self._decoded = fresh

    def _take(self, key: str, decoded: "_Role | _Binding") -> None:
        if isinstance(decoded, _Role):
            namespace, name = key.split("/", 4)[3:]
            self._roles[namespace, name] = decoded.rules or ()
            return
        scope = decoded.metadata.namespace
        for subject in decoded.subjects or ():
            name = subject.name
            if subject.kind == "ServiceAccount":
                name = f"{subject.namespace or scope}:{name}"
            self._grants.setdefault((scope, subject.kind, name), []).append(Grant(decoded, subject))


def _decoded(record: Record, shape: "type[_Role | _Binding]") -> "_Role | _Binding | None":
    """None for what cannot be read: it grants nothing, and everybody else keeps what they have."""
    try:
        return codec.decode(record.value, shape)
    except codec.DecodeError as error:
        log.warning("%s grants nothing: %s", record.key, error)
        return None


def _not_found(reference: RoleRef) -> str:
    return f'{reference.kind.lower()}.{GROUP} "{reference.name}" not found'


def _joined(problems: Sequence[str]) -> str:
    unique = list(dict.fromkeys(problems))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"
