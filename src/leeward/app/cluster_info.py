"""Address and authority of a control plane, for whoever wants to join: the ConfigMap `kube-public/cluster-info`, which
anybody may read.

Who has the hash of its CA's key, from somebody whom they trust, learns from it all that they need to speak with it.

Kubernetes: kubeadm's `cluster-info` and `--discovery-token-ca-cert-hash`; the same object and the same hash.
"""

import base64
import hashlib
from typing import Any, cast
from urllib.parse import urlsplit

from cryptography import x509
from cryptography.hazmat.primitives import serialization

from controller_runtime import delete_seen
from kubeapi import codec
from kubeapi.errors import Untrusted
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import AlreadyExists, Client, NotFound, WorldError
from kubeclient.connection import Connection
from kubeclient.preflight import ANSWER_SECONDS, preflight_transport_of
from leeward.app.local import FleetError

NAME, NAMESPACE = "cluster-info", "kube-public"
ANONYMOUS = "system:anonymous"
_RBAC = "rbac.authorization.k8s.io"
_CONFIG_MAPS: Resource[Manifest] = Resource.of_manifests("v1", "configmaps", "ConfigMap", True)
_ROLES: Resource[Manifest] = Resource.of_manifests(f"{_RBAC}/v1", "roles", "Role", True)
_ROLE_BINDINGS: Resource[Manifest] = Resource.of_manifests(f"{_RBAC}/v1", "rolebindings", "RoleBinding", True)
_OF_ITS_MACHINE = ("127.0.0.1", "::1", "localhost")
_READER = "leeward:cluster-info"


async def publish_current(client: Client, connection: Connection) -> None:
    """Publishes as `publish`, for a control plane that has its own: one with another CA, or another port of this
    machine, is replaced. Raises: WorldError.
    """
    await publish(client, connection)
    info = await client.get(_CONFIG_MAPS, NAME, NAMESPACE)
    server, authority = _known_by(cast(dict[str, Any], info.get("data") or {}).get("kubeconfig", ""))
    is_of_machine = urlsplit(connection.server).hostname == urlsplit(server).hostname
    if authority == connection.certificate_authority and (server == connection.server or not is_of_machine):
        return
    await client.patch(_CONFIG_MAPS, NAME, {"data": {"kubeconfig": _kubeconfig(connection)}}, NAMESPACE)


def _kubeconfig(connection: Connection) -> str:
    authority = base64.b64encode(connection.certificate_authority).decode()
    cluster = {"server": connection.server, "certificate-authority-data": authority}
    return codec.render_yaml({"apiVersion": "v1", "kind": "Config", "clusters": [{"name": "", "cluster": cluster}]})


async def publish(client: Client, connection: Connection) -> None:
    """Creates the ConfigMap; one that is there already is left as it is. Raises: WorldError."""
    info = {"metadata": {"name": NAME}, "data": {"kubeconfig": _kubeconfig(connection)}}
    rule = {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [NAME], "verbs": ["get"]}
    binding = {
        "metadata": {"name": _READER},
        "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": _READER},
        "subjects": [{"apiGroup": _RBAC, "kind": "User", "name": ANONYMOUS}],
    }
    for resource, manifest in (
        (_CONFIG_MAPS, info),
        (_ROLES, {"metadata": {"name": _READER}, "rules": [rule]}),
        (_ROLE_BINDINGS, binding),
    ):
        try:
            await client.create(resource, manifest, NAMESPACE)
        except AlreadyExists:
            continue


async def withdraw(client: Client) -> None:
    """Takes back the right to read it; its content stays, for it may be kubeadm's. Raises: WorldError."""
    for resource in (_ROLE_BINDINGS, _ROLES):
        await delete_seen(client, resource, _READER, NAMESPACE)


async def refuse_hub_before(client: Client, own: str, before: str = "", *, is_elsewhere: bool = False) -> None:
    """Refuses a take-over while the hub before answers, at `before` or else where it was published. `own`: the address
    of this one. `is_elsewhere`: the copy may be of another machine. Raises: FleetError, WorldError."""
    try:
        info = await client.get(_CONFIG_MAPS, NAME, NAMESPACE)
    except NotFound:
        return
    server, authority = _known_by(cast(dict[str, Any], info.get("data") or {}).get("kubeconfig", ""))
    if is_elsewhere and not before and urlsplit(server).hostname in _OF_ITS_MACHINE:
        raise FleetError(
            f"the hub before is published at {server}, which is asked on its own machine alone: name it with "
            "--hub-before https://HOST:PORT, where nobody answers once it is gone"
        )
    server = before or server
    if not server or server.rstrip("/") == own.rstrip("/"):
        return
    asked = Client(preflight_transport_of(Connection(server=server, certificate_authority=authority)), "leeward")
    try:
        await asked.raw("GET", "/readyz", timeout_seconds=ANSWER_SECONDS)
    except WorldError as error:
        if not before or not isinstance(error, Untrusted):
            return
    finally:
        await asked.close()
    raise FleetError(
        f"the hub at {server} still answers: stop it first. Where that is this one, or cannot be stopped, give --force"
    )


async def discover(endpoint: str, ca_hash: str) -> Connection:
    """A connection without an identity to the control plane whose CA has this hash. Raises: FleetError."""
    unsure = Connection(server=endpoint, insecure_skip_tls_verify=True)
    client = Client(preflight_transport_of(unsure), "leeward-register")
    try:
        info = await client.get(_CONFIG_MAPS, NAME, NAMESPACE)
    except WorldError as error:
        raise FleetError(f"{endpoint} does not tell what it is known by: {error}") from error
    finally:
        await client.close()
    _, authority = _known_by(cast(dict[str, Any], info.get("data") or {}).get("kubeconfig", ""))
    if ca_hash not in hashes_of(authority):
        raise FleetError(
            f"{endpoint} is not known by the CA with the hash {ca_hash}: "
            "take the hash that `leeward token create` prints, or else somebody stands between you and it"
        )
    return Connection(server=endpoint, certificate_authority=authority)


def hashes_of(authority: bytes) -> list[str]:
    """`sha256:...` of the public key of each certificate of a bundle (PEM); none where there is none."""
    try:
        certificates = x509.load_pem_x509_certificates(authority)
    except ValueError:
        return []
    form = serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
    keys = [certificate.public_key().public_bytes(*form) for certificate in certificates]
    return [f"sha256:{hashlib.sha256(key).hexdigest()}" for key in keys]


def _known_by(kubeconfig: str) -> tuple[str, bytes]:
    """URL and CA bundle of the first cluster; empty where there is none."""
    try:
        document = cast(dict[str, Any], codec.parse_first_yaml(kubeconfig))
        cluster = document["clusters"][0]["cluster"]
        return str(cluster["server"]), base64.b64decode(cluster["certificate-authority-data"])
    except (LookupError, TypeError, ValueError):
        return "", b""
