"""The installation as manifests: namespaces, CustomResourceDefinitions, and the rights of each component.

A component may do what it does and no more; a test lets each do its work with these rights alone, and finds what it
never asks for. The controllers read every kind, because every kind can be a template, and patch labels, annotations and
status of templates; they create and delete only Karmada's kinds and their own. RBAC has no way to leave a kind out of
all, so whoever reads templates of any kind reads Secrets, too.
"""

from typing import Any

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.names import AGENT_GROUP, AGENT_USER_PREFIX, CLUSTER_NAMESPACE, RBAC_GENERATOR, SYSTEM_NAMESPACE
from leeward.api.schema import custom_resource_definitions
from leeward.app.bootstrap_tokens import AGENTS_GROUP
from leeward.controllers.agents.agent_roles import rules_of_agent
from leeward.core.registration import AGENT_RULES, ASKING_RULE, LEASES_RULE
from leeward.webhook.configurations import CERTIFICATE_SECRET, NAME_LABEL

_RBAC = "rbac.authorization.k8s.io"
CONTROLLER_MANAGER, SCHEDULER, WEBHOOK = "leeward-controller-manager", "leeward-scheduler", "leeward-webhook"
DESCHEDULER = "leeward-descheduler"
CLUSTER_PROXY, PROXY_CERTIFICATE_SECRET = "leeward-cluster-proxy", "leeward-cluster-proxy-cert"
PROXY_ADDRESS = "leeward-cluster-proxy-address"
BOOTSTRAPPERS, GENERATOR = "leeward-bootstrappers", "leeward-agent-rbac-generator"
FIELD_MANAGER = "leeward-init"

DEFINITIONS: Resource[Manifest] = Resource.of_manifests(
    "apiextensions.k8s.io/v1", "customresourcedefinitions", "CustomResourceDefinition", False
)
SERVICE_ACCOUNTS: Resource[Manifest] = Resource.of_manifests("v1", "serviceaccounts", "ServiceAccount", True)
CLUSTER_ROLES: Resource[Manifest] = Resource.of_manifests(f"{_RBAC}/v1", "clusterroles", "ClusterRole", False)
CLUSTER_ROLE_BINDINGS: Resource[Manifest] = Resource.of_manifests(
    f"{_RBAC}/v1", "clusterrolebindings", "ClusterRoleBinding", False
)
ROLES: Resource[Manifest] = Resource.of_manifests(f"{_RBAC}/v1", "roles", "Role", True)
ROLE_BINDINGS: Resource[Manifest] = Resource.of_manifests(f"{_RBAC}/v1", "rolebindings", "RoleBinding", True)

_READ = ["get", "list", "watch"]
_WITH_EVERY_KIND = [*_READ, "patch"]


def namespaces() -> list[Manifest]:
    """Namespaces with the label that newer servers give by themselves: the webhook selects by it."""
    names = (SYSTEM_NAMESPACE, CLUSTER_NAMESPACE)
    return [{"metadata": {"name": name, "labels": {NAME_LABEL: name}}} for name in names]


def rights() -> list[tuple[Resource[Manifest], str, Manifest]]:
    """Resource, namespace ("" for none) and manifest of every account, role and binding."""
    objects: list[tuple[Resource[Manifest], str, Manifest]] = []
    for name, rules in _RULES.items():
        subject = {"kind": "ServiceAccount", "name": name, "namespace": SYSTEM_NAMESPACE}
        account: Manifest = {"metadata": {"name": name, "namespace": SYSTEM_NAMESPACE}}
        objects += [(SERVICE_ACCOUNTS, SYSTEM_NAMESPACE, account), *_role_everywhere(name, rules, subject)]
    for (name, namespace), rules in _RULES_WITHIN.items():
        objects += _role_within(namespace, name, rules, {"kind": "ServiceAccount", "namespace": SYSTEM_NAMESPACE})
    return [*objects, *_rights_to_the_address(), *_rights_of_agents()]


def _rights_to_the_address() -> list[tuple[Resource[Manifest], str, Manifest]]:
    """Objects that let each user read where the cluster proxy is, and its CA: nothing of that is secret."""
    metadata = {"name": PROXY_ADDRESS, "namespace": SYSTEM_NAMESPACE}
    subject = {"apiGroup": _RBAC, "kind": "Group", "name": "system:authenticated"}
    role = {"apiGroup": _RBAC, "kind": "Role", "name": PROXY_ADDRESS}
    rules = [_rule([""], ["configmaps"], ["get"], [CLUSTER_PROXY])]
    return [
        (ROLES, SYSTEM_NAMESPACE, {"metadata": metadata, "rules": rules}),
        (ROLE_BINDINGS, SYSTEM_NAMESPACE, {"metadata": metadata, "subjects": [subject], "roleRef": role}),
    ]


def _role_everywhere(
    name: str, rules: list[dict[str, Any]], subject: Manifest
) -> list[tuple[Resource[Manifest], str, Manifest]]:
    role = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name}
    return [
        (CLUSTER_ROLES, "", {"metadata": {"name": name}, "rules": rules}),
        (CLUSTER_ROLE_BINDINGS, "", {"metadata": {"name": name}, "roleRef": role, "subjects": [subject]}),
    ]


def _role_within(
    namespace: str, name: str, rules: list[dict[str, Any]], subject: Manifest
) -> list[tuple[Resource[Manifest], str, Manifest]]:
    """A role of one namespace, bound to who has its name."""
    metadata, role = {"name": name, "namespace": namespace}, {"apiGroup": _RBAC, "kind": "Role", "name": name}
    return [
        (ROLES, namespace, {"metadata": metadata, "rules": rules}),
        (ROLE_BINDINGS, namespace, {"metadata": metadata, "roleRef": role, "subjects": [{**subject, "name": name}]}),
    ]


def _rights_of_agents() -> list[tuple[Resource[Manifest], str, Manifest]]:
    """Objects that give agents their rights: who has a bootstrap token may ask for a certificate; who has that is an
    agent, and makes Leases and Secrets where agents have some; the webhook is asked for their names."""
    objects: list[tuple[Resource[Manifest], str, Manifest]] = []
    for name, group, rules in (
        (AGENT_GROUP, AGENT_GROUP, list(AGENT_RULES)),
        (BOOTSTRAPPERS, AGENTS_GROUP, [ASKING_RULE]),
    ):
        objects += _role_everywhere(name, rules, {"apiGroup": _RBAC, "kind": "Group", "name": group})
    agents = {"apiGroup": _RBAC, "kind": "Group"}
    making = _rule([""], ["secrets"], ["create"])
    objects += _role_within(CLUSTER_NAMESPACE, AGENT_GROUP, [making, LEASES_RULE], agents)
    objects += _role_within(SYSTEM_NAMESPACE, AGENT_GROUP, [LEASES_RULE], agents)
    return [*objects, *_rights_of_generator()]


def _rights_of_generator() -> list[tuple[Resource[Manifest], str, Manifest]]:
    """Objects that give rights to the user as whom `karmadactl register` writes an agent's roles: it has what it
    grants, and waits for a person.

    Karmada: operator/pkg/karmadaresource/rbac (AgentRBACGeneratorClusterRole); same, with Secrets of one namespace.
    """
    subject = {"apiGroup": _RBAC, "kind": "User", "name": f"{AGENT_USER_PREFIX}{RBAC_GENERATOR}"}
    role, whole = {"apiGroup": _RBAC, "kind": "Role"}, {"apiGroup": _RBAC, "kind": "ClusterRole"}
    metadata = {"name": GENERATOR, "namespace": CLUSTER_NAMESPACE}
    secrets = _rule([""], ["secrets"], ["get", "create", "patch"])
    bound = {"roleRef": {**role, "name": GENERATOR}, "subjects": [subject]}
    bound_whole = {"roleRef": {**whole, "name": GENERATOR}, "subjects": [subject]}
    return [
        (CLUSTER_ROLES, "", {"metadata": {"name": GENERATOR}, "rules": _GENERATED}),
        (CLUSTER_ROLE_BINDINGS, "", {"metadata": {"name": GENERATOR}, **bound_whole}),
        (ROLES, CLUSTER_NAMESPACE, {"metadata": metadata, "rules": [secrets]}),
        (ROLE_BINDINGS, CLUSTER_NAMESPACE, {"metadata": metadata, **bound}),
    ]


def definitions() -> list[Manifest]:
    return custom_resource_definitions()


def _rule(groups: list[str], resources: list[str], verbs: list[str], names: list[str] | None = None) -> dict[str, Any]:
    return {"apiGroups": groups, "resources": resources, "verbs": verbs, **({"resourceNames": names} if names else {})}


_EVENTS = _rule([""], ["events"], ["create", "patch"])
_LEASES = _rule(["coordination.k8s.io"], ["leases"], [*_READ, "create", "patch"])
_HEALTH = {"nonResourceURLs": ["/healthz", "/readyz", "/livez", "/version", "/api", "/api/*", "/apis", "/apis/*"]}


def granted_to_agents() -> list[dict[str, Any]]:
    """Rules that an agent gets when its cluster joins: whoever grants a right must have it, here of every cluster.

    Verbs that the controllers have on every kind are left out.
    """
    rules = [rule for rules in rules_of_agent("").values() for rule in rules]
    verbs = [[verb for verb in rule["verbs"] if verb not in _WITH_EVERY_KIND] for rule in rules]
    granted = [_rule(rule["apiGroups"], rule["resources"], own) for rule, own in zip(rules, verbs, strict=True) if own]
    return [rule for at, rule in enumerate(granted) if rule not in granted[:at]]


_GENERATED: list[dict[str, Any]] = [
    _rule(["cluster.karmada.io"], ["clusters"], [*_READ, "create", "delete"]),
    _rule(["cluster.karmada.io"], ["clusters/status"], ["update"]),
    _rule(["config.karmada.io"], ["*"], _READ),
    _rule([""], ["namespaces"], ["get", "create"]),
    _rule([""], ["services"], ["list", "watch"]),
    _rule([""], ["events"], ["create", "patch", "update"]),
    _rule(["coordination.k8s.io"], ["leases"], ["get", "create", "update"]),
    _rule(["certificates.k8s.io"], ["certificatesigningrequests"], ["get", "create", "delete"]),
    _rule(["work.karmada.io"], ["works"], [*_READ, "create", "update", "delete"]),
    _rule(["work.karmada.io"], ["works/status"], ["patch", "update"]),
    _rule([_RBAC], ["roles", "rolebindings", "clusterroles", "clusterrolebindings"], ["create", "delete"]),
]
_RULES: dict[str, list[dict[str, Any]]] = {
    CONTROLLER_MANAGER: [
        _rule(["*"], ["*"], _WITH_EVERY_KIND),
        _rule(["work.karmada.io"], ["works"], ["create", "update", "delete"]),
        _rule(["work.karmada.io"], ["resourcebindings", "clusterresourcebindings"], ["create"]),
        _rule(["work.karmada.io"], ["resourcebindings"], ["delete"]),
        _rule(["apps.karmada.io"], ["workloadrebalancers"], ["delete"]),
        _rule(["leeward.dev"], ["outages"], ["create", "delete"]),
        _rule([""], ["namespaces"], ["create", "delete"]),
        _rule([""], ["configmaps"], ["create"]),
        _rule([_RBAC], ["roles", "rolebindings", "clusterroles", "clusterrolebindings"], ["create"]),
        _rule(["certificates.k8s.io"], ["signers"], ["approve"], ["kubernetes.io/kube-apiserver-client"]),
        _LEASES,
        _EVENTS,
        *granted_to_agents(),
        {**_HEALTH, "verbs": ["get"]},
    ],
    SCHEDULER: [
        _rule(["cluster.karmada.io"], ["clusters"], _READ),
        _rule(["work.karmada.io"], ["resourcebindings", "clusterresourcebindings"], [*_READ, "patch"]),
        _rule(["work.karmada.io"], ["resourcebindings/status", "clusterresourcebindings/status"], ["patch"]),
        _rule(["work.karmada.io"], ["works"], ["list", "watch"]),
        _rule(["policy.karmada.io"], ["federatedresourcequotas"], ["list", "watch"]),
        _rule([""], ["configmaps"], ["list", "watch"]),
        _rule([""], ["namespaces"], _READ),
        _LEASES,
        _EVENTS,
        {**_HEALTH, "verbs": ["get"]},
    ],
    DESCHEDULER: [
        _rule(["cluster.karmada.io"], ["clusters"], _READ),
        _rule(["work.karmada.io"], ["resourcebindings"], [*_READ, "patch"]),
        _rule(["work.karmada.io"], ["clusterresourcebindings", "works"], ["list", "watch"]),
        _rule([""], ["configmaps"], ["list", "watch"]),
        _rule([""], ["namespaces"], ["get"], [SYSTEM_NAMESPACE, CLUSTER_NAMESPACE]),
        _LEASES,
        _EVENTS,
        {**_HEALTH, "verbs": ["get"]},
    ],
    WEBHOOK: [
        _rule([""], ["secrets"], ["create"]),
        _rule([""], ["secrets"], ["get", "patch", "update"], [CERTIFICATE_SECRET]),
        _rule(["cluster.karmada.io"], ["clusters"], ["list"]),
        _rule(["policy.karmada.io"], ["propagationpolicies", "overridepolicies", "federatedresourcequotas"], ["list"]),
        _rule(["work.karmada.io"], ["resourcebindings"], ["list"]),
        _rule(["config.karmada.io"], ["resourceinterpretercustomizations"], ["list"]),
        _rule([""], ["namespaces"], ["get"], ["kube-system"]),
        _rule(["authorization.k8s.io"], ["subjectaccessreviews"], ["create"]),
        _rule(
            ["admissionregistration.k8s.io"],
            ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
            ["create"],
        ),
        _rule(
            ["admissionregistration.k8s.io"],
            ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
            ["get", "patch", "update"],
            ["leeward-webhook"],
        ),
    ],
    CLUSTER_PROXY: [
        _rule([""], ["users", "groups", "serviceaccounts"], ["impersonate"]),
        _rule(["authentication.k8s.io"], ["tokenreviews"], ["create"]),
        _rule(["authorization.k8s.io"], ["subjectaccessreviews"], ["create"]),
        _rule(["cluster.karmada.io"], ["clusters"], ["get", "list"]),
    ],
}
_RULES_WITHIN: dict[tuple[str, str], list[dict[str, Any]]] = {
    (CONTROLLER_MANAGER, CLUSTER_NAMESPACE): [_rule([_RBAC], ["roles", "rolebindings"], ["delete"])],
    (SCHEDULER, SYSTEM_NAMESPACE): [_rule([""], ["services"], ["get"])],
    (DESCHEDULER, SYSTEM_NAMESPACE): [_rule([""], ["services"], ["get"])],
    (WEBHOOK, CLUSTER_NAMESPACE): [_rule([""], ["secrets"], ["get"])],
    (CLUSTER_PROXY, CLUSTER_NAMESPACE): [_rule([""], ["secrets"], ["get"])],
    (CLUSTER_PROXY, SYSTEM_NAMESPACE): [
        _rule([""], ["secrets", "configmaps"], ["create"]),
        _rule([""], ["secrets"], ["get", "patch"], [PROXY_CERTIFICATE_SECRET]),
        _rule([""], ["configmaps"], ["get", "patch"], [CLUSTER_PROXY]),
    ],
    (CLUSTER_PROXY, "kube-system"): [_rule([""], ["configmaps"], ["get"], ["extension-apiserver-authentication"])],
}
"""Rules by component and namespace: what it may do there and nowhere else."""
