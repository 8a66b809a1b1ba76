"""The webhook configurations that point a kube-apiserver to us.

Policies, Clusters and the other kinds of Karmada's are never written past the webhook (`failurePolicy: Fail`); the
deletion of users' objects, which only protection by label asks us about, goes on when we cannot be asked; so does what
our controllers write in an outage (`conditions.py`).

Karmada: artifacts/deploy/webhook-configuration.yaml; one rule for all of a group's kinds instead of one for each.
"""

import base64
from dataclasses import dataclass
from typing import Any

from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from leeward.api.names import CLUSTER_NAMESPACE, SYSTEM_NAMESPACE
from leeward.api.validation import DELETION_PROTECTED_LABEL
from leeward.webhook.conditions import CHANGES_BINDING, CHANGES_CLUSTER, CONDITIONS, IS_AGENT, LACKS_IDENTITY

NAME = "leeward-webhook"
CERTIFICATE_SECRET = "leeward-webhook-cert"
"""Name of the Secret in `karmada-system` with the key that the webhook serves with."""
TIMEOUT_SECONDS = 5
NAME_LABEL = "kubernetes.io/metadata.name"
"""Label of a namespace: its own name. Servers before 1.21 do not set it; `leeward init` does for ours."""
_GROUP_VERSION = "admissionregistration.k8s.io/v1"
MUTATING: Resource[Manifest] = Resource.of_manifests(
    _GROUP_VERSION, "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", False
)
VALIDATING: Resource[Manifest] = Resource.of_manifests(
    _GROUP_VERSION, "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", False
)
_WRITES, _CREATES = ["CREATE", "UPDATE"], ["CREATE"]
_OURS = ["resourcebindings", "clusterresourcebindings"]


def _rule(group: str, resources: list[str], operations: list[str]) -> dict[str, Any]:
    return {"apiGroups": [group], "apiVersions": ["*"], "resources": resources, "operations": operations, "scope": "*"}


_USERS = [
    _rule("cluster.karmada.io", ["clusters"], _WRITES),
    _rule("policy.karmada.io", ["*"], _WRITES),
    _rule("config.karmada.io", ["*"], _WRITES),
]
_DEFAULTED = [*_USERS, _rule("work.karmada.io", [*_OURS, "works"], _CREATES)]
"""Bindings and Works, which our own controllers write in their thousands, are given an identity, once."""
_CHECKED = [*_USERS, _rule("work.karmada.io", _OURS, _WRITES)]
_OF_AGENTS = [_rule("coordination.k8s.io", ["leases"], _CREATES), _rule("", ["secrets"], _CREATES)]
"""RBAC cannot say which name a new object may have: who makes leases or Secrets of clusters is asked for its own."""
_SECRETS = [_rule("", ["secrets"], _WRITES)]
"""Rule for Secrets: those of clusters are marked with the agent that has made them, so that no agent joins over
others'."""
_LEASES_OF_AGENTS = [_rule("coordination.k8s.io", ["leases"], _CREATES)]
_DELETIONS = [_rule("*", ["*"], ["DELETE"])]


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Address at which the kube-apiserver finds us: a URL (`https://host:port`), or else the Service of the
    installation."""

    url: str = ""

    @property
    def hosts(self) -> list[str]:
        """The names that the serving certificate must have."""
        if not self.url:
            return [f"{NAME}.{SYSTEM_NAMESPACE}.svc", f"{NAME}.{SYSTEM_NAMESPACE}.svc.cluster.local"]
        host = self.url.removeprefix("https://").rstrip("/")
        return [host.rpartition(":")[0].strip("[]") if ":" in host else host]

    def client_config(self, path: str, ca_bundle: bytes) -> Manifest:
        bundle = base64.b64encode(ca_bundle).decode()
        if self.url:
            return {"url": self.url.rstrip("/") + path, "caBundle": bundle}
        service = {"namespace": SYSTEM_NAMESPACE, "name": NAME, "path": path, "port": 443}
        return {"service": service, "caBundle": bundle}


def configurations(
    endpoint: Endpoint, ca_bundle: bytes, *, quotas: bool = False
) -> list[tuple[Resource[Manifest], Manifest]]:
    """Both, with their kinds. `quotas`: they are enforced, so that each placement is judged."""
    unjudged = [CHANGES_CLUSTER] if quotas else [CHANGES_CLUSTER, CHANGES_BINDING]
    of_clusters, of_system = (
        {"namespaceSelector": {"matchLabels": {NAME_LABEL: name}}} for name in (CLUSTER_NAMESPACE, SYSTEM_NAMESPACE)
    )
    protected = {"objectSelector": {"matchLabels": {DELETION_PROTECTED_LABEL: "Always"}}}
    mutate, validate = (endpoint.client_config(path, ca_bundle) for path in ("/mutate", "/validate"))
    return [
        (
            MUTATING,
            _configuration(
                [
                    _hook("defaults.leeward.dev", _DEFAULTED, mutate) | {CONDITIONS: [LACKS_IDENTITY, CHANGES_CLUSTER]},
                    _hook("makers.leeward.dev", _SECRETS, mutate) | of_clusters,
                ]
            ),
        ),
        (
            VALIDATING,
            _configuration(
                [
                    _hook("rules.leeward.dev", _CHECKED, validate) | {CONDITIONS: unjudged},
                    _hook("agents.leeward.dev", _OF_AGENTS, validate) | of_clusters,
                    _hook("leaders.leeward.dev", _LEASES_OF_AGENTS, validate) | of_system | {CONDITIONS: [IS_AGENT]},
                    _hook("protection.leeward.dev", _DELETIONS, validate) | protected | {"failurePolicy": "Ignore"},
                ]
            ),
        ),
    ]


def _configuration(hooks: list[Manifest]) -> Manifest:
    return {"metadata": {"name": NAME}, "webhooks": hooks}


def _hook(name: str, rules: list[dict[str, Any]], client_config: Manifest) -> Manifest:
    return {
        "name": name,
        "rules": rules,
        "clientConfig": client_config,
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "failurePolicy": "Fail",
        "matchPolicy": "Equivalent",
        "timeoutSeconds": TIMEOUT_SECONDS,
    }
