"""Objects that `karmadactl` makes in a control plane, and its questions.

Read from Karmada's sources: pkg/karmadactl/register/register.go (retrieveValidatedConfigInfo,
EnsureNecessaryResourcesExistInControlPlane, constructKubeConfig, GenerateRBACResources),
pkg/karmadactl/util/bootstraptoken (what a token's Secret is), pkg/karmadactl/unregister/unregister.go and
pkg/karmadactl/util (EnsureWorksDeleted, DeleteClusterObject). What is compared there is asserted here.
"""

import asyncio
import base64
import hashlib
import hmac
from collections.abc import Awaitable, Callable
from dataclasses import replace

import yaml
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from kubeapi.certificate_requests import Subject, make_request
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import AlreadyExists, Client, NotFound
from kubeclient.connection import Connection, transport_of

RBAC = "rbac.authorization.k8s.io"
_READ = ["get", "list", "watch"]
_AGENTS = "system:karmada:agents"
_POLLS, _POLL_SECONDS = 30, 1.0
CONFIG_MAPS = Resource.of_manifests("v1", "configmaps", "ConfigMap", True)
SECRETS = Resource.of_manifests("v1", "secrets", "Secret", True)
NAMESPACES = Resource.of_manifests("v1", "namespaces", "Namespace", False)
CLUSTERS = Resource.of_manifests("cluster.karmada.io/v1alpha1", "clusters", "Cluster", False)
WORKS = Resource.of_manifests("work.karmada.io/v1alpha1", "works", "Work", True)
REQUESTS = Resource.of_manifests(
    "certificates.k8s.io/v1", "certificatesigningrequests", "CertificateSigningRequest", False
)
RBAC_KINDS = {
    kind: Resource.of_manifests(f"{RBAC}/v1", kind.lower() + "s", kind, not kind.startswith("Cluster"))
    for kind in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
}


async def create_token(client: Client, token: str) -> None:
    """`karmadactl token create`: looks whether there is one, and makes it. Raises: WorldError."""
    token_id, _, secret = token.partition(".")
    name = f"bootstrap-token-{token_id}"
    assert not await _is_there(client, SECRETS, name, "kube-system")
    data = {
        "token-id": token_id,
        "token-secret": secret,
        "expiration": "2099-01-01T00:00:00Z",
        "usage-bootstrap-authentication": "true",
        "usage-bootstrap-signing": "true",
        "auth-extra-groups": "system:bootstrappers:karmada:default-cluster-token",
    }
    encoded = {key: base64.b64encode(value.encode()).decode() for key, value in data.items()}
    made = {"metadata": {"name": name}, "type": "bootstrap.kubernetes.io/token", "data": encoded}
    await client.create(SECRETS, made, "kube-system")


async def list_tokens(client: Client) -> list[str]:
    """`karmadactl token list`: the ids. Raises: WorldError."""
    only = "type=bootstrap.kubernetes.io/token"
    found = (await client.list(SECRETS, "kube-system", field_selector=only)).items
    return [base64.b64decode(each["data"]["token-id"]).decode() for each in found]


async def delete_token(client: Client, token_id: str) -> None:
    """`karmadactl token delete`. Raises: WorldError."""
    await client.delete(SECRETS, f"bootstrap-token-{token_id}", "kube-system")


async def discover(endpoint: str, token: str, ca_hash: str) -> Connection:
    """Connection that `karmadactl register` trusts. Raises: WorldError; AssertionError where it gives up."""
    token_id = token.partition(".")[0]
    first = await _cluster_info(Connection(server=endpoint, insecure_skip_tls_verify=True), token_id)
    kubeconfig = first["data"]["kubeconfig"]
    assert first["data"][f"jws-kubeconfig-{token_id}"] == _signature(kubeconfig, token)
    (cluster,) = yaml.safe_load(kubeconfig)["clusters"]
    authority = base64.b64decode(cluster["cluster"]["certificate-authority-data"])
    key = x509.load_pem_x509_certificate(authority).public_key()
    der = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    assert ca_hash == "sha256:" + hashlib.sha256(der).hexdigest()
    secure = Connection(server=endpoint, certificate_authority=authority)
    assert (await _cluster_info(secure, token_id))["data"]["kubeconfig"] == kubeconfig
    return secure


def _signature(content: str, token: str) -> str:
    def encoded(data: bytes) -> str:
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    token_id, _, secret = token.partition(".")
    header = encoded(f'{{"alg":"HS256","kid":"{token_id}"}}'.encode())
    mac = hmac.new(secret.encode(), f"{header}.{encoded(content.encode())}".encode(), hashlib.sha256)
    return f"{header}..{encoded(mac.digest())}"


async def _cluster_info(connection: Connection, token_id: str) -> Manifest:
    """Asked for until it is signed by the token."""
    client = Client(transport_of(connection), "karmadactl")
    try:
        for _ in range(_POLLS):
            info = await client.get(CONFIG_MAPS, "cluster-info", "kube-public")
            if f"jws-kubeconfig-{token_id}" in info["data"]:
                return info
            await asyncio.sleep(_POLL_SECONDS)
    finally:
        await client.close()
    raise AssertionError(f"could not find a JWS signature in the cluster-info ConfigMap for token ID {token_id}")


async def register(
    endpoint: str, token: str, ca_hash: str, cluster: str, approve: Callable[[str], Awaitable[None]]
) -> Connection:
    """`karmadactl register`, as far as it concerns the control plane: the identity of the agent.

    `approve`: does what a person is told to do, `kubectl certificate approve`.
    """
    known = await discover(endpoint, token, ca_hash)
    bootstrap = Client(transport_of(replace(known, token=token)), "karmadactl")
    try:
        name = f"agent-rbac-generator-{cluster}abcde"
        key = await _ask(bootstrap, name, "system:karmada:agent:rbac-generator")
        await approve(name)
        generator = Client(transport_of(await _signed(bootstrap, known, name, key)), "karmadactl")
        try:
            await write_roles(generator, cluster)
            await generator.delete(REQUESTS, name)
        finally:
            await generator.close()
        return await ask_for_identity(bootstrap, known, cluster)
    finally:
        await bootstrap.close()


async def ask_for_identity(bootstrap: Client, known: Connection, cluster: str) -> Connection:
    """Asks as the agent of `cluster`. Raises: WorldError; AssertionError when nobody signs."""
    name = f"{cluster}-abcde"
    key = await _ask(bootstrap, name, f"system:karmada:agent:{cluster}")
    return await _signed(bootstrap, known, name, key)


async def _ask(client: Client, name: str, user: str) -> bytes:
    """Returns the private key of the request."""
    keyed = make_request(Subject(user, (_AGENTS,)))
    spec = {
        "signerName": "kubernetes.io/kube-apiserver-client",
        "request": base64.b64encode(keyed.request).decode(),
        "expirationSeconds": 86_400 * 365,
        "usages": ["digital signature", "key encipherment", "client auth"],
    }
    metadata = {"name": name, "labels": {"karmada.io/system": "true"}}
    await client.create(REQUESTS, {"metadata": metadata, "spec": spec})
    return keyed.key


async def _signed(client: Client, known: Connection, name: str, key: bytes) -> Connection:
    for _ in range(_POLLS):
        status = (await client.get(REQUESTS, name)).get("status", {})
        if certificate := status.get("certificate"):
            return replace(known, client_certificate=base64.b64decode(certificate), client_key=key)
        denied = [each["message"] for each in status.get("conditions", ()) if each["type"] == "Denied"]
        assert not denied, denied
        await asyncio.sleep(_POLL_SECONDS)
    raise AssertionError(f"{name} was never signed")


async def write_all_roles(client: Client, cluster: str) -> None:
    """Writes the roles of an agent that has joined already, as an administrator. Raises: WorldError."""
    for manifest in roles_of_registered(cluster):
        await _ensure(client, RBAC_KINDS[manifest["kind"]], manifest, manifest["metadata"].get("namespace", ""))


async def write_roles(generator: Client, cluster: str) -> None:
    """Writes what the generator of roles writes. Raises: WorldError."""
    assert not await _is_there(generator, CLUSTERS, cluster)
    for manifest in roles_of_registered(cluster):
        namespace = manifest["metadata"].get("namespace", "")
        if manifest["kind"] == "Role":
            labels = {"karmada.io/system": "true"}
            await _ensure(generator, NAMESPACES, {"metadata": {"name": namespace, "labels": labels}}, "")
        await _ensure(generator, RBAC_KINDS[manifest["kind"]], manifest, namespace)


async def unregister(client: Client, cluster: str, seconds: int = 60, *, as_agent: bool = False) -> None:
    """`karmadactl unregister`, as far as it concerns the control plane.

    `as_agent`: without --karmada-config, so that it asks with what the agent's Deployment has, and leaves the roles.

    Raises: WorldError; TimeoutError where it gives up.
    """
    async with asyncio.timeout(seconds):
        await asyncio.sleep(_POLL_SECONDS)
        while works := (await client.list(WORKS, f"karmada-es-{cluster}")).items:
            for work in works:
                await _delete(client, WORKS, work["metadata"]["name"], f"karmada-es-{cluster}")
            await asyncio.sleep(_POLL_SECONDS)
        await client.delete(CLUSTERS, cluster)
        for _ in range(seconds):
            if not await _is_there(client, CLUSTERS, cluster):
                break
            await asyncio.sleep(_POLL_SECONDS)
    for manifest in () if as_agent else roles_of_registered(cluster):
        resource, metadata = RBAC_KINDS[manifest["kind"]], manifest["metadata"]
        await _delete(client, resource, metadata["name"], metadata.get("namespace", ""))


async def _ensure(client: Client, resource: Resource[Manifest], manifest: Manifest, namespace: str) -> None:
    try:
        await client.create(resource, manifest, namespace)
    except AlreadyExists:
        return


async def _is_there(client: Client, resource: Resource[Manifest], name: str, namespace: str = "") -> bool:
    try:
        return bool(await client.get(resource, name, namespace))
    except NotFound:
        return False


async def _delete(client: Client, resource: Resource[Manifest], name: str, namespace: str) -> None:
    try:
        await client.delete(resource, name, namespace)
    except NotFound:
        return


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
