"""Users for whom the cluster proxy may speak in a member: everybody, or, where that is to be limited, those whom the
control plane's RBAC names as users of the proxy.

    ClusterRole that names clusters/proxy ──ClusterRoleBinding──▶ subjects ──▶ rules of the impersonator in the member

Rights to impersonate are not given in pairs: who may be jane and may be in the group ops may be both at once. So no
subject counts that has everything (`*`), and `system:masters` is never one: whoever held the impersonator's token would
be everybody.

Karmada: pkg/controllers/unifiedauth; there, roles of `*` count, and with them system:masters and the controllers of
kube-system. The groups of service accounts are ours.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.untrusted import mapping_in, mappings_in, text_in, texts_in
from leeward.api.cluster import LocalSecretReference
from leeward.api.names import ADMIN_GROUP, CLUSTER_NAMESPACE, EXECUTION_SPACE_PREFIX, SYSTEM_LABEL

IMPERSONATOR = "karmada-impersonator"
"""Name, in a member, of the account that may do nothing but impersonate, its role, and what binds the two."""
GROUP, RESOURCES = "cluster.karmada.io", ("clusters/proxy", "*/proxy")
EVERYBODY: list[Manifest] = [
    {"apiGroups": [""], "resources": ["users", "groups", "serviceaccounts"], "verbs": ["impersonate"]}
]
"""The rules of an impersonator that is not limited."""
MOST_NAMES = 5_000
"""Most names of one kind, in the rules of one member: some 300 KiB of names."""
EVERY_CLUSTER = "*"
"""The name of all clusters together: who may go there reaches each."""
_NEVER = frozenset((ADMIN_GROUP, "system:authenticated", "system:unauthenticated"))
"""Groups that may do everything in a member, and those that a member gives by itself."""
_SERVICE_ACCOUNTS = "system:serviceaccounts"


class Impersonated(NamedTuple):
    """Users, groups and service accounts (without their namespaces) that may be impersonated, sorted."""

    users: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    service_accounts: tuple[str, ...] = ()


def users_of_proxy(
    roles: Iterable[ReadOnlyManifest], bindings: Iterable[ReadOnlyManifest], cluster: str
) -> Impersonated:
    """Users and groups that may use the proxy of `cluster`, by ClusterRoles and bindings of the control plane."""
    wanted = {cluster, EVERY_CLUSTER}
    granting = {text_in(mapping_in(role, "metadata"), "name") for role in roles if wanted & proxies_named(role)}
    users, groups, accounts = set[str](), set[str](), set[str]()
    for binding in bindings:
        reference = mapping_in(binding, "roleRef")
        if reference.get("kind") != "ClusterRole" or text_in(reference, "name") not in granting:
            continue
        for subject in mappings_in(binding, "subjects"):
            name = text_in(subject, "name")
            match subject.get("kind"):
                case "User":
                    users.add(name)
                case "Group":
                    groups.add(name)
                case "ServiceAccount":
                    accounts.add(name)
                    groups |= {_SERVICE_ACCOUNTS, f"{_SERVICE_ACCOUNTS}:{text_in(subject, 'namespace')}"}
                case _:
                    pass
    return Impersonated(_sorted(users), _sorted(groups - _NEVER), _sorted(accounts))


def impersonation_rules(subjects: Impersonated) -> list[Manifest]:
    """The rules of the impersonator's ClusterRole. Raises: ValueError for more than a role can name."""
    kinds = (("users", subjects.users), ("groups", subjects.groups), ("serviceaccounts", subjects.service_accounts))
    for plural, names in kinds:
        if len(names) > MOST_NAMES:
            raise ValueError(
                f"{len(names)} {plural} may use its proxy, more than {MOST_NAMES}: give that right to fewer"
            )
    return [
        {"apiGroups": [""], "resources": [plural], "resourceNames": list(names), "verbs": ["impersonate"]}
        for plural, names in kinds
        if names
    ]


def account_namespace(reference: LocalSecretReference | None) -> str:
    """Namespace, in the member, of the impersonator's account: that of its Secret in the control plane, as in Karmada
    (`--cluster-namespace`). An execution space is in no member."""
    if reference is None or reference.namespace.startswith(EXECUTION_SPACE_PREFIX):
        return CLUSTER_NAMESPACE
    return reference.namespace or CLUSTER_NAMESPACE


def impersonator_objects(rules: list[Manifest], namespace: str = CLUSTER_NAMESPACE) -> tuple[Manifest, Manifest]:
    """The ClusterRole with these rules, and what gives it to the impersonator's account, as joining makes them."""
    metadata = {"name": IMPERSONATOR, "labels": {SYSTEM_LABEL: "true"}}
    head = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": metadata}
    binding: Manifest = {
        **head,
        "kind": "ClusterRoleBinding",
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": IMPERSONATOR},
        "subjects": [{"kind": "ServiceAccount", "name": IMPERSONATOR, "namespace": namespace}],
    }
    return {**head, "kind": "ClusterRole", "rules": rules}, binding


def proxies_named(role: ReadOnlyManifest) -> frozenset[str]:
    """Names of the clusters whose proxy a ClusterRole names; `*` for all of them."""
    return frozenset(name for rule in mappings_in(role, "rules") for name in _proxies_in(rule))


def _proxies_in(rule: Mapping[str, Any]) -> Iterable[str]:
    """Names of the clusters whose proxy a rule is about; none where it is about everything there is."""
    groups, resources = set(texts_in(rule, "apiGroups")), set(texts_in(rule, "resources"))
    named = not resources.isdisjoint(RESOURCES) and not groups.isdisjoint((GROUP, "*"))
    whole = "*" in resources and GROUP in groups
    if not (named or whole) or not rule.get("verbs"):
        return ()
    return texts_in(rule, "resourceNames") or (EVERY_CLUSTER,)


def _sorted(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(name for name in names if name))
