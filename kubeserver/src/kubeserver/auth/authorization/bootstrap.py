"""The roles and bindings that a new server begins with.

Made where they are missing; one that is there is left as it is, changed or not.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from kubeapi.meta import Manifest
from kubeserver.auth.authorization.gate import AUTHENTICATED, UNAUTHENTICATED
from kubeserver.auth.authorization.rbac import GROUP
from kubeserver.auth.tokens.discovery import CONFIGURATION, KEYS
from kubeserver.handler import ADMIN_GROUP
from kubeserver.values import section

API_VERSION = f"{GROUP}/v1"
_BOOTSTRAP_LABELS = {"kubernetes.io/bootstrapping": "rbac-defaults"}
_AUTOUPDATE = {"rbac.authorization.kubernetes.io/autoupdate": "true"}
_AGGREGATE = "rbac.authorization.k8s.io/aggregate-to-"

_READ = ("get", "list", "watch")
_WRITE = ("create", "delete", "deletecollection", "patch", "update")
_EVERY = ("*",)

_VIEWED: dict[str, tuple[str, ...]] = {
    "": (
        "configmaps", "endpoints", "persistentvolumeclaims", "persistentvolumeclaims/status", "pods", "pods/log",
        "pods/status", "replicationcontrollers", "replicationcontrollers/scale", "replicationcontrollers/status",
        "serviceaccounts", "services", "services/status", "bindings", "events", "limitranges", "namespaces",
        "namespaces/status", "resourcequotas", "resourcequotas/status",
    ),
    "apps": (
        "controllerrevisions", "daemonsets", "daemonsets/status", "deployments", "deployments/scale",
        "deployments/status", "replicasets", "replicasets/scale", "replicasets/status", "statefulsets",
        "statefulsets/scale", "statefulsets/status",
    ),
    "autoscaling": ("horizontalpodautoscalers", "horizontalpodautoscalers/status"),
    "batch": ("cronjobs", "cronjobs/status", "jobs", "jobs/status"),
    "discovery.k8s.io": ("endpointslices",),
    "networking.k8s.io": ("ingresses", "ingresses/status", "networkpolicies"),
    "policy": ("poddisruptionbudgets", "poddisruptionbudgets/status"),
}  # fmt: skip
_EDITED: dict[str, tuple[str, ...]] = {
    "": (
        "configmaps", "events", "persistentvolumeclaims", "pods", "pods/attach", "pods/exec", "pods/portforward",
        "pods/proxy", "replicationcontrollers", "replicationcontrollers/scale", "secrets", "serviceaccounts",
        "services", "services/proxy",
    ),
    "apps": (
        "daemonsets", "deployments", "deployments/rollback", "deployments/scale", "replicasets", "replicasets/scale",
        "statefulsets", "statefulsets/scale",
    ),
    "autoscaling": ("horizontalpodautoscalers",),
    "batch": ("cronjobs", "jobs"),
    "coordination.k8s.io": ("leases",),
    "networking.k8s.io": ("ingresses", "networkpolicies"),
    "policy": ("poddisruptionbudgets",),
}  # fmt: skip
_PUBLIC = ("/healthz", "/livez", "/readyz", "/version", "/version/")
_DISCOVERED = ("/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz",
               "/version", "/version/")  # fmt: skip
_ISSUER_DISCOVERY = "system:service-account-issuer-discovery"
_ABOUT_ISSUER = tuple(f"{path}{end}" for path in (CONFIGURATION, KEYS) for end in ("", "/"))
_SIGNING, _REQUESTS = "certificates.k8s.io", ("certificatesigningrequests",)
_REVIEWED = ("selfsubjectaccessreviews", "selfsubjectrulesreviews")


def rule(verbs: Iterable[str], group: str, resources: Iterable[str], names: Sequence[str] = ()) -> Manifest:
    named = {"resourceNames": list(names)} if names else {}
    return {"apiGroups": [group], "resources": list(resources), **named, "verbs": list(verbs)}


def path_rule(verbs: Iterable[str], paths: Iterable[str]) -> Manifest:
    return {"nonResourceURLs": list(paths), "verbs": list(verbs)}


def cluster_role(name: str, rules: Sequence[Manifest], **fields: Any) -> Manifest:
    return {
        "apiVersion": API_VERSION,
        "kind": "ClusterRole",
        "metadata": {"name": name},
        **fields,
        "rules": list(rules),
    }


def cluster_binding(name: str, role: str, subjects: Iterable[tuple[str, str]]) -> Manifest:
    """`subjects`: pairs of kind (User, Group) and name."""
    return {
        "apiVersion": API_VERSION,
        "kind": "ClusterRoleBinding",
        "metadata": {"name": name},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": GROUP, "kind": kind, "name": subject} for kind, subject in subjects],
    }


def bootstrap_roles() -> list[Manifest]:
    return [_labelled(role) for role in _roles()]


def bootstrap_bindings() -> list[Manifest]:
    everybody = (("Group", AUTHENTICATED), ("Group", UNAUTHENTICATED))
    bound = (
        ("cluster-admin", (("Group", ADMIN_GROUP),)),
        ("system:discovery", everybody[:1]),
        ("system:basic-user", everybody[:1]),
        ("system:public-info-viewer", everybody),
        ("system:node-bootstrapper", (("Group", "system:bootstrappers"),)),
        (_ISSUER_DISCOVERY, (("Group", "system:serviceaccounts"),)),
    )
    return [_labelled(cluster_binding(name, name, subjects)) for name, subjects in bound]


def _roles() -> Iterator[Manifest]:
    view = [rule(_READ, group, resources) for group, resources in _VIEWED.items()]
    edit = [
        rule(("impersonate",), "", ("serviceaccounts",)),
        rule(_READ, "", ("pods/attach", "pods/exec", "pods/portforward", "pods/proxy", "secrets", "services/proxy")),
        *(rule(_WRITE, group, resources) for group, resources in _EDITED.items()),
        rule(_READ, "coordination.k8s.io", ("leases",)),
    ]
    admin = [
        rule(("create",), "authorization.k8s.io", ("localsubjectaccessreviews",)),
        rule((*_READ, *_WRITE), GROUP, ("rolebindings", "roles")),
        rule(("create",), "", ("serviceaccounts/token",)),
    ]
    yield cluster_role("cluster-admin", [rule(_EVERY, "*", _EVERY), path_rule(_EVERY, _EVERY)])
    yield _aggregated("admin", [*admin, *edit, *view])
    yield _aggregated("edit", [*edit, *view], "admin")
    yield _aggregated("view", view, "edit")
    yield _part("admin", admin)
    yield _part("edit", edit, "admin")
    yield _part("view", view, "edit", "admin")
    yield cluster_role("system:discovery", [path_rule(("get",), _DISCOVERED)])
    yield cluster_role("system:public-info-viewer", [path_rule(("get",), _PUBLIC)])
    yield cluster_role("system:monitoring", [path_rule(("get",), ("/metrics", "/metrics/slis", *_PUBLIC[:3]))])
    yield cluster_role(
        "system:basic-user",
        [
            rule(("create",), "authorization.k8s.io", _REVIEWED),
            rule(("create",), "authentication.k8s.io", ("selfsubjectreviews",)),
        ],
    )
    yield cluster_role(
        "system:auth-delegator",
        [
            rule(("create",), "authentication.k8s.io", ("tokenreviews",)),
            rule(("create",), "authorization.k8s.io", ("subjectaccessreviews",)),
        ],
    )
    yield cluster_role(_ISSUER_DISCOVERY, [path_rule(("get",), _ABOUT_ISSUER)])
    yield cluster_role("system:node-bootstrapper", [rule(("create", *_READ), _SIGNING, _REQUESTS)])


def _aggregated(name: str, rules: Sequence[Manifest], *wider: str) -> Manifest:
    """`wider` are the roles that it is a part of. It begins with the `rules` that it will be made of."""
    selector = {"clusterRoleSelectors": [{"matchLabels": {f"{_AGGREGATE}{name}": "true"}}]}
    return _part_of(cluster_role(name, rules, aggregationRule=selector), *wider)


def _part(name: str, rules: Sequence[Manifest], *wider: str) -> Manifest:
    """Role of what an aggregated role has of its own."""
    return _part_of(cluster_role(f"system:aggregate-to-{name}", rules), name, *wider)


def _part_of(role: Manifest, *wider: str) -> Manifest:
    labels = {f"{_AGGREGATE}{name}": "true" for name in wider}
    return {**role, "metadata": {**role["metadata"], "labels": labels}}


def _labelled(manifest: Manifest) -> Manifest:
    labels = {**_BOOTSTRAP_LABELS, **section(manifest["metadata"], "labels")}
    metadata = {**manifest["metadata"], "labels": labels, "annotations": _AUTOUPDATE}
    return {**manifest, "metadata": metadata}
