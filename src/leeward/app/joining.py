"""Joins a real cluster in Push mode, and lets it leave again.

    member          Namespace karmada-cluster, two accounts (`member_accounts.py`)
    control plane   no role of an agent that was approved under the name, as it could read what follows:
                    Secrets NAME (token, caBundle) and NAME-impersonator (token) in karmada-cluster, Cluster NAME

Everything can be repeated. What is made in the member goes when the cluster leaves; a member that is dead keeps it.

Karmada: pkg/karmadactl/join, unjoin; the same objects, keys and names.
"""

import base64
from dataclasses import dataclass

from kubeapi.core import NAMESPACES
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Client, WorldError
from kubeclient.connection import Connection
from leeward.api.names import ALLOW_HTTP_ANNOTATION, CLUSTER_NAMESPACE, impersonator_of
from leeward.api.resource import CLUSTERS
from leeward.api.rules.member_addresses import plain_http_fault
from leeward.app.connect import CA_KEY, TOKEN_KEY
from leeward.app.local import FleetError
from leeward.app.member_accounts import FIELD_MANAGER, accounts_of, beside, close_account, free_account, open_account
from leeward.controllers.agents.agent_roles import end_approved_agent
from leeward.core.registration import IDENTIFYING_NAMESPACE, Joined, problem_of_identity
from leeward.runtime.hub_fence import HubFence
from leeward.runtime.member_identity import AnotherCluster, obeying
from leeward.runtime.server_identity import ServerIdentity, cluster_id_of, identity_of

_UNTYPED_NAMESPACES = Resource.of_manifests("v1", "namespaces", "Namespace", False)
_UNTYPED_SECRETS = Resource.of_manifests("v1", "secrets", "Secret", True)
_UNTYPED_CLUSTERS = Resource.of_manifests(CLUSTERS.api_version, CLUSTERS.plural, CLUSTERS.kind, CLUSTERS.namespaced)

_NO_HTTP = (
    "{server}: over http:// everybody on the way can read the credential: "
    "give a kubeconfig with an https:// server, or --allow-http"
)


@dataclass(frozen=True, slots=True)
class Joining:
    """Description of a cluster that joins: its name, its connection, and its place."""

    name: str
    connection: Connection
    provider: str = ""
    region: str = ""
    zones: tuple[str, ...] = ()
    allow_http: bool = False


async def join_cluster(control_plane: Client, member: Client, joining: Joining) -> None:
    """Raises: WorldError; FleetError when the cluster has joined already under another name, is the control plane
    itself, gives no token, or is spoken to in the clear and nobody allows that."""
    if plain_http_fault(joining.connection.server, joining.allow_http):
        raise FleetError(_NO_HTTP.format(server=joining.connection.server))
    cluster_id = (await member.get(NAMESPACES, IDENTIFYING_NAMESPACE)).metadata.uid
    await _refuse_joined(control_plane, joining.name, cluster_id)
    member = obeying(member, HubFence(ServerIdentity(control_plane)))
    steward, speaker = accounts_of(joining.name)
    hub = await own_identity(control_plane)
    steward = await free_account(member, steward, hub)
    token, spoken = await open_account(member, steward, hub), await open_account(member, speaker, hub)
    namespace: Manifest = {"metadata": {"name": CLUSTER_NAMESPACE}}
    await control_plane.apply(_UNTYPED_NAMESPACES, namespace, field_manager=FIELD_MANAGER)
    await end_approved_agent(control_plane, joining.name)
    for secret in (
        _secret(joining.name, {TOKEN_KEY: token, CA_KEY: joining.connection.certificate_authority}),
        _secret(impersonator_of(joining.name), {TOKEN_KEY: spoken}),
    ):
        await control_plane.apply(_UNTYPED_SECRETS, secret, CLUSTER_NAMESPACE, field_manager=FIELD_MANAGER)
    await control_plane.apply(_UNTYPED_CLUSTERS, _cluster(joining, cluster_id), field_manager=FIELD_MANAGER)


async def hub_that_leaves(control_plane: Client, member: Client, name: str) -> str:
    """Identity of the control plane that is to leave the member called `name`, before anything is done. A member that
    does not answer is not refused. Raises: AnotherCluster when it obeys another hub; WorldError; FleetError when it is
    another one than has joined."""
    present = await control_plane.find(CLUSTERS, name)
    joined = present.spec.id if present is not None else ""
    try:
        found = await cluster_id_of(member)
        if joined and found and joined != found:
            raise FleetError(f"--cluster-kubeconfig leads to another cluster than {name}: nothing was done")
        await cluster_id_of(obeying(member, HubFence(ServerIdentity(control_plane))))
    except AnotherCluster:
        raise
    except WorldError:
        pass
    return await own_identity(control_plane)


async def forget_cluster(member: Client, name: str, hub: str = "", control_plane: Client | None = None) -> list[str]:
    """Takes out of the member what `join_cluster` has put there for the control plane with the identity `hub`. Returns
    what stays, because it is another's, by kind and name. Raises: WorldError, also where the member obeys another hub
    than `control_plane`."""
    if control_plane is not None:
        member = obeying(member, HubFence(ServerIdentity(control_plane)))
    steward, speaker = accounts_of(name)
    accounts = (steward, beside(steward, hub), speaker) if hub else (steward, speaker)
    return [kept for account in accounts for kept in await close_account(member, account, hub)]


async def own_identity(control_plane: Client) -> str:
    """Identity by which the control plane's things in members are told apart; empty for an API server that has no
    kube-system.

    Raises: WorldError."""
    found = await control_plane.find(NAMESPACES, IDENTIFYING_NAMESPACE)
    return identity_of(found) if found is not None else ""


async def _refuse_joined(control_plane: Client, name: str, cluster_id: str) -> None:
    """Refuses a cluster that has joined, before anything is written. Raises: FleetError."""
    clusters = (await control_plane.list(CLUSTERS)).items
    joined = [Joined(cluster.name, cluster.spec.id, cluster.spec.sync_mode) for cluster in clusters]
    if problem := problem_of_identity(name, cluster_id, joined, await cluster_id_of(control_plane)):
        raise FleetError(problem)
    for other in joined:
        if other.name == name and other.id not in ("", cluster_id):
            raise FleetError(f"another cluster has joined as {name}: give another name, or `{other.way_out}` first")
        if other.name == name and other.sync_mode != "Push":
            raise FleetError(f"this cluster has joined as {name} in Pull mode: `{other.way_out}` first")


def _secret(name: str, data: dict[str, bytes]) -> Manifest:
    return {
        "metadata": {"name": name, "namespace": CLUSTER_NAMESPACE},
        "type": "Opaque",
        "data": {key: base64.b64encode(value).decode() for key, value in data.items()},
    }


def _cluster(joining: Joining, cluster_id: str) -> Manifest:
    spec: Manifest = {
        "id": cluster_id,
        "syncMode": "Push",
        "apiEndpoint": joining.connection.server,
        "secretRef": {"namespace": CLUSTER_NAMESPACE, "name": joining.name},
        "impersonatorSecretRef": {"namespace": CLUSTER_NAMESPACE, "name": impersonator_of(joining.name)},
    }
    if joining.connection.insecure_skip_tls_verify:
        spec["insecureSkipTLSVerification"] = True
    if joining.connection.proxy_url:
        spec["proxyURL"] = joining.connection.proxy_url
    for field, value in (("provider", joining.provider), ("region", joining.region), ("zones", list(joining.zones))):
        if value:
            spec[field] = value
    annotations = {"annotations": {ALLOW_HTTP_ANNOTATION: "true"}} if joining.allow_http else {}
    return {"metadata": {"name": joining.name, **annotations}, "spec": spec}
