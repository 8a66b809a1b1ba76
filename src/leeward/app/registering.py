"""Identity of a Pull cluster's agent, how it gets and keeps it: a certificate for its own name, renewed before it ends.

    bootstrap token ──▶ CertificateSigningRequest ──▶ approved, signed ──▶ kubeconfig
          (or the certificate that it has)

Karmada: pkg/karmadactl/register; the certificate goes into a kubeconfig file for `leeward agent`.
"""

import asyncio
import base64
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from cryptography import x509

from kubeapi import codec
from kubeapi.certificate_requests import Subject, make_request
from kubeapi.meta import Manifest
from kubeapi.named_files import write_named
from kubeclient import Client
from kubeclient.connection import Connection
from leeward.api.names import AGENT_GROUP, AGENT_USER_PREFIX
from leeward.app.local import FleetError
from leeward.core.registration import SIGNER, USAGES
from leeward.runtime.certificate_requests import REQUESTS

SIGNED_SECONDS, POLL_SECONDS = 120.0, 0.5
CERTIFICATE_SECONDS = 90 * 24 * 3600
RENEW_AT = 0.7
"""Part of its life after which a certificate is renewed."""


def subject_of_agent(cluster: str) -> Subject:
    return Subject(AGENT_USER_PREFIX + cluster, (AGENT_GROUP,))


async def obtain_certificate(client: Client, connection: Connection, cluster: str) -> Connection:
    """`connection` with an identity of the agent of `cluster`, asked for with the identity of `client`.

    Raises: WorldError; FleetError when it is refused, or nobody signs it.
    """
    keyed = make_request(subject_of_agent(cluster))
    asked: Manifest = {
        "metadata": {"generateName": f"agent-{cluster}-"},
        "spec": {
            "signerName": SIGNER,
            "request": base64.b64encode(keyed.request).decode(),
            "usages": list(USAGES),
            "expirationSeconds": CERTIFICATE_SECONDS,
        },
    }
    name = (await client.create(REQUESTS, asked))["metadata"]["name"]
    certificate = await _signed(client, name)
    return replace(connection, token="", client_certificate=certificate, client_key=keyed.key)


async def _signed(client: Client, name: str) -> bytes:
    try:
        async with asyncio.timeout(SIGNED_SECONDS):
            while True:
                status: Manifest = (await client.get(REQUESTS, name)).get("status") or {}
                if status.get("certificate"):
                    return base64.b64decode(status["certificate"])
                _refuse_refused(name, status.get("conditions") or [])
                await asyncio.sleep(POLL_SECONDS)
    except TimeoutError:
        raise FleetError(
            f"nobody has signed the certificate request {name} within {SIGNED_SECONDS:g} s: do the controller manager "
            "of Leeward, which approves it, and the kube-controller-manager, which signs it, run in the control plane? "
            f"Does it wait for a person (`kubectl describe csr {name}` says why)?"
        ) from None


def _refuse_refused(name: str, conditions: list[Manifest]) -> None:
    for condition in conditions:
        if condition["type"] in ("Denied", "Failed"):
            raise FleetError(f"the certificate request {name} is {condition['type'].lower()}: {condition['message']}")


def renew_at(certificate: bytes) -> datetime:
    """Instant at which the certificate (PEM) has lived so long that it is to be renewed. Raises: ValueError."""
    loaded = x509.load_pem_x509_certificate(certificate)
    begins, ends = loaded.not_valid_before_utc, loaded.not_valid_after_utc
    return begins + (ends - begins) * RENEW_AT


def write_kubeconfig(path: Path, connection: Connection, cluster: str) -> None:
    """Writes the file that `path` names; nobody but its owner may read it. Raises: OSError."""
    write_named(path, kubeconfig_of(connection, cluster), private=True)


def kubeconfig_of(connection: Connection, cluster: str) -> bytes:
    """Kubeconfig of the agent of the cluster."""

    def text(data: bytes) -> str:
        return base64.b64encode(data).decode()

    where = {"server": connection.server, "certificate-authority-data": text(connection.certificate_authority)}
    who = {
        "client-certificate-data": text(connection.client_certificate),
        "client-key-data": text(connection.client_key),
    }
    user = AGENT_USER_PREFIX + cluster
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "karmada-apiserver",
        "contexts": [{"name": "karmada-apiserver", "context": {"cluster": "karmada-apiserver", "user": user}}],
        "clusters": [{"name": "karmada-apiserver", "cluster": where}],
        "users": [{"name": user, "user": who}],
    }
    return codec.render_yaml(document).encode()
