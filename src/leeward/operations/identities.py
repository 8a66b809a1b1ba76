"""Policies without an identity: admission gives each one, which beside a real kube-apiserver is `leeward webhook`."""

from datetime import datetime

from kubeapi.meta import Manifest, labels_of
from kubeapi.resource import Resource
from kubeclient import Client
from leeward.api.names import CLUSTER_POLICY_ID_LABEL, POLICY_ID_LABEL
from leeward.api.resource import CLUSTER_PROPAGATION_POLICIES, PROPAGATION_POLICIES
from leeward.core.wording import first_of
from leeward.operations.findings import NAMED_AT_MOST, needs_somebody
from leeward.operations.sentences import counted
from leeward.operations.status import Found

_KINDS = ((PROPAGATION_POLICIES, POLICY_ID_LABEL), (CLUSTER_PROPAGATION_POLICIES, CLUSTER_POLICY_ID_LABEL))


async def find_nameless(client: Client, _now: datetime) -> Found:
    """Finds policies that nobody gave an identity. Raises: WorldError."""
    names = list[str]()
    for policies, label in _KINDS:
        kind = Resource.of_manifests(policies.api_version, policies.plural, policies.kind, policies.namespaced)
        page = await client.list(kind, label_selector=f"!{label}")
        nameless = (manifest for manifest in page.items if not labels_of(manifest).get(label))
        names += map(_name, nameless)
    if not names:
        return Found()
    told, have = counted(len(names), "policy", "policies"), "has" if len(names) == 1 else "have"
    said = (
        f"{told} {have} no identity: does `leeward webhook` run? It gives each one when that is written again: "
        f"{first_of(names, NAMED_AT_MOST)}"
    )
    return Found([needs_somebody("policies", said, next="kubectl get mutatingwebhookconfigurations")])


def _name(manifest: Manifest) -> str:
    metadata = manifest["metadata"]
    return "/".join(filter(None, (metadata.get("namespace"), metadata["name"])))
