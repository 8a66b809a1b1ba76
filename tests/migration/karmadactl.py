"""What `karmadactl` makes in a control plane and asks of it.

Read from Karmada's sources: pkg/karmadactl/register/register.go (GenerateRBACResources).
"""

from kubeapi.meta import Manifest

RBAC = "rbac.authorization.k8s.io"
_READ = ["get", "list", "watch"]


def _rule(group: str, resources: list[str], verbs: list[str], *names: str) -> Manifest:
    named = {"resourceNames": list(names)} if names else {}
    return {"apiGroups": [group], "resources": resources, "verbs": verbs, **named}


def roles_of_registered(cluster: str) -> list[Manifest]:
    """The roles of an agent with their bindings, in the order in which they are made."""
    whole = [
        _rule("cluster.karmada.io", ["clusters"], ["get", "delete"], cluster),
        _rule("cluster.karmada.io", ["clusters"], ["create", "list", "watch"]),
        _rule("cluster.karmada.io", ["clusters/status"], ["update"], cluster),
        _rule(
            "config.karmada.io",
            ["resourceinterpreterwebhookconfigurations", "resourceinterpretercustomizations"],
            _READ,
        ),
        _rule("", ["namespaces"], ["get"]),
        _rule("coordination.k8s.io", ["leases"], ["get", "create", "update"]),
        _rule("certificates.k8s.io", ["certificatesigningrequests"], ["get", "create"]),
        _rule("", ["services"], ["list", "watch"]),
        _rule("", ["events"], ["patch", "create", "update"]),
    ]
    secrets = [
        _rule("", ["secrets"], ["get", "patch"], cluster, f"{cluster}-impersonator"),
        _rule("", ["secrets"], ["create"]),
    ]
    works = [
        _rule("work.karmada.io", ["works"], ["get", "create", "list", "watch", "update", "delete"]),
        _rule("work.karmada.io", ["works/status"], ["patch", "update"]),
    ]
    granted = [
        ("", f"system:karmada:{cluster}:agent", whole),
        ("karmada-cluster", f"system:karmada:{cluster}:agent-secret", secrets),
        (f"karmada-es-{cluster}", f"system:karmada:{cluster}:agent-work", works),
    ]
    roles = [_role(namespace, name, rules) for namespace, name, rules in granted]
    bindings = [_binding(namespace, name, cluster) for namespace, name, _ in granted]
    return [roles[0], bindings[0], *roles[1:], *bindings[1:]]


def _role(namespace: str, name: str, rules: list[Manifest]) -> Manifest:
    return {**_head("Role", namespace, name), "rules": rules}


def _binding(namespace: str, name: str, cluster: str) -> Manifest:
    kind = "Role" if namespace else "ClusterRole"
    subject = {"apiGroup": RBAC, "kind": "User", "name": f"system:karmada:agent:{cluster}"}
    role = {"apiGroup": RBAC, "kind": kind, "name": name}
    return {**_head("RoleBinding", namespace, name), "subjects": [subject], "roleRef": role}


def _head(kind: str, namespace: str, name: str) -> Manifest:
    placed = {"namespace": namespace} if namespace else {}
    prefix = "" if namespace else "Cluster"
    return {"apiVersion": f"{RBAC}/v1", "kind": f"{prefix}{kind}", "metadata": {"name": name, **placed}}
