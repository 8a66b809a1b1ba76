"""Joins a real cluster in Push mode, and lets it leave again.

    member          Namespace karmada-cluster, ServiceAccount, its token, ClusterRole and binding
    control plane   Secret NAME (token, caBundle) in karmada-cluster, Cluster NAME

Everything can be repeated. What is made in the member goes when the cluster leaves; a member that is dead keeps it.

Karmada: pkg/karmadactl/join, unjoin; the same objects, keys and names.
"""

import asyncio
import base64
from dataclasses import dataclass

from leeward.api.meta import Manifest
from leeward.api.names import CLUSTER_NAMESPACE
from leeward.api.resource import CLUSTERS, NAMESPACES, SECRETS, Resource
from leeward.app.access import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES
from leeward.app.connect import CA_KEY, TOKEN_KEY
from leeward.app.install.manifests import SERVICE_ACCOUNTS
from leeward.app.local.errors import FleetError
from leeward.client import Client, NotFound
from leeward.client.connection import Connection

FIELD_MANAGER = "leeward-join"
TOKEN_SECONDS, POLL_SECONDS = 30.0, 0.2
_TOKEN_TYPE = "kubernetes.io/service-account-token"
_UNTYPED_NAMESPACES = Resource.of_manifests("v1", "namespaces", "Namespace", False)
_UNTYPED_SECRETS = Resource.of_manifests("v1", "secrets", "Secret", True)


@dataclass(frozen=True, slots=True)
class Joining:
    """What a cluster is to be called, where it is, and what is said of it."""

    name: str
    connection: Connection
    provider: str = ""
    region: str = ""
    zones: tuple[str, ...] = ()


async def join_cluster(control_plane: Client, member: Client, joining: Joining) -> None:
    """Raises: WorldError; FleetError when the cluster has joined already under another name, or gives no token."""
    cluster_id = (await member.get(NAMESPACES, "kube-system")).metadata.uid
    await _refuse_second_name(control_plane, joining.name, cluster_id)
    await _grant(member, joining.name)
    token = await _token(member, account_of(joining.name))
    data = {TOKEN_KEY: token, CA_KEY: joining.connection.certificate_authority}
    secret: Manifest = {
        "metadata": {"name": joining.name, "namespace": CLUSTER_NAMESPACE},
        "type": "Opaque",
        "data": {key: base64.b64encode(value).decode() for key, value in data.items()},
    }
    namespace: Manifest = {"metadata": {"name": CLUSTER_NAMESPACE}}
    await control_plane.apply(_UNTYPED_NAMESPACES, namespace, field_manager=FIELD_MANAGER)
    await control_plane.apply(_UNTYPED_SECRETS, secret, CLUSTER_NAMESPACE, field_manager=FIELD_MANAGER)
    await control_plane.apply(_UNTYPED_CLUSTERS, _cluster(joining, cluster_id), field_manager=FIELD_MANAGER)


async def forget_cluster(member: Client, name: str) -> None:
    """Takes out of the member what `join_cluster` has put there. Raises: WorldError."""
    account = account_of(name)
    for resource, object_name, namespace in (
        (CLUSTER_ROLE_BINDINGS, _role_of(name), ""),
        (CLUSTER_ROLES, _role_of(name), ""),
        (SECRETS, account, CLUSTER_NAMESPACE),
        (SERVICE_ACCOUNTS, account, CLUSTER_NAMESPACE),
    ):
        try:
            await member.delete(resource, object_name, namespace)
        except NotFound:
            continue


def account_of(name: str) -> str:
    """The ServiceAccount in the member that the control plane uses."""
    return f"karmada-{name}"


def _role_of(name: str) -> str:
    return f"karmada-controller-manager:{account_of(name)}"


async def _refuse_second_name(control_plane: Client, name: str, cluster_id: str) -> None:
    for cluster in (await control_plane.list(CLUSTERS)).items:
        if cluster.spec.id == cluster_id and cluster.name != name:
            raise FleetError(
                f"this cluster has joined already, as {cluster.name}: `leeward unjoin {cluster.name}` first"
            )
        if cluster.name == name and cluster.spec.id not in ("", cluster_id):
            raise FleetError(
                f"another cluster has joined as {name}: give another name, or `leeward unjoin {name}` first"
            )


async def _grant(member: Client, name: str) -> None:
    account, role = account_of(name), _role_of(name)
    metadata = {"name": account, "namespace": CLUSTER_NAMESPACE}
    await member.apply(_UNTYPED_NAMESPACES, {"metadata": {"name": CLUSTER_NAMESPACE}}, field_manager=FIELD_MANAGER)
    await member.apply(SERVICE_ACCOUNTS, {"metadata": metadata}, CLUSTER_NAMESPACE, field_manager=FIELD_MANAGER)
    token: Manifest = {
        "metadata": {**metadata, "annotations": {"kubernetes.io/service-account.name": account}},
        "type": _TOKEN_TYPE,
    }
    await member.apply(_UNTYPED_SECRETS, token, CLUSTER_NAMESPACE, field_manager=FIELD_MANAGER)
    rules = [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["*"], "verbs": ["get"]},
    ]
    await member.apply(CLUSTER_ROLES, {"metadata": {"name": role}, "rules": rules}, field_manager=FIELD_MANAGER)
    binding: Manifest = {
        "metadata": {"name": role},
        "roleRef": {"apiGroup": CLUSTER_ROLES.group, "kind": "ClusterRole", "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": CLUSTER_NAMESPACE}],
    }
    await member.apply(CLUSTER_ROLE_BINDINGS, binding, field_manager=FIELD_MANAGER)


async def _token(member: Client, account: str) -> bytes:
    """What the member's token controller has put into the Secret of the account."""
    try:
        async with asyncio.timeout(TOKEN_SECONDS):
            while True:
                secret = await member.get(SECRETS, account, CLUSTER_NAMESPACE)
                if token := secret.data.get("token"):
                    return token
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise FleetError(
            f"the member has put no token into the Secret {CLUSTER_NAMESPACE}/{account} within {TOKEN_SECONDS:g} s: "
            "does its kube-controller-manager run?"
        ) from None


_UNTYPED_CLUSTERS = Resource.of_manifests(CLUSTERS.api_version, CLUSTERS.plural, CLUSTERS.kind, CLUSTERS.namespaced)


def _cluster(joining: Joining, cluster_id: str) -> Manifest:
    spec: Manifest = {
        "id": cluster_id,
        "syncMode": "Push",
        "apiEndpoint": joining.connection.server,
        "secretRef": {"namespace": CLUSTER_NAMESPACE, "name": joining.name},
    }
    if joining.connection.insecure_skip_tls_verify:
        spec["insecureSkipTLSVerification"] = True
    if joining.connection.proxy_url:
        spec["proxyURL"] = joining.connection.proxy_url
    for field, value in (("provider", joining.provider), ("region", joining.region), ("zones", list(joining.zones))):
        if value:
            spec[field] = value
    return {"metadata": {"name": joining.name}, "spec": spec}
