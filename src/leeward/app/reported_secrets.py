"""The Secrets by which a control plane reaches a Pull member, reported by the agent of that.

    KubeCredentials     NAME: the token of an account that may do everything
    KubeImpersonator    NAME-impersonator: the token of an account that speaks for the users of the cluster proxy

NAME holds the CA of the member in either case. The Cluster says where they are since its agent has joined it; one that
says something else keeps that, and nothing is reported of it.

Karmada: cmd/agent (`--report-secrets`); the same names and keys, but only of a member that says where it is reached.
"""

import base64
import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial

import msgspec

from controller_runtime import Backoff, Trouble, attempt
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import AlreadyExists, Client, WorldError
from leeward.api.cluster import Cluster, ClusterSpec, LocalSecretReference
from leeward.api.names import CLUSTER_NAMESPACE, impersonator_of
from leeward.api.resource import CLUSTERS
from leeward.app.config import Report
from leeward.app.connect import CA_KEY, TOKEN_KEY
from leeward.app.joining import own_identity
from leeward.app.local import FleetError
from leeward.app.member_accounts import accounts_of, free_account, open_account

log = logging.getLogger(__name__)

FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS = 1.0, 60.0
_SECRETS = Resource.of_manifests("v1", "secrets", "Secret", True)


def with_secrets(spec: ClusterSpec, cluster: str, reports: Collection[Report]) -> ClusterSpec:
    """The spec of a Cluster that its agent joins, with the names of the Secrets that will be reported."""
    if not reports:
        return spec
    ca, speaker = (LocalSecretReference(CLUSTER_NAMESPACE, name) for name in (cluster, impersonator_of(cluster)))
    speaks = "KubeImpersonator" in reports
    return msgspec.structs.replace(spec, secret_ref=ca, impersonator_secret_ref=speaker if speaks else None)


@dataclass(frozen=True, slots=True)
class SecretReporter:
    """`member` is a client of it, which `authority` (PEM) has signed the server of."""

    cluster: str
    control_plane: Client
    member: Client
    authority: bytes
    reports: Collection[Report]

    async def run(self) -> None:
        """Returns when the Secrets are reported; tries again as long as that fails."""
        trouble = Trouble(log, f"the Secrets of cluster {self.cluster} cannot be reported yet")
        await attempt(partial(self._try), Backoff(FIRST_RETRY_SECONDS, LAST_RETRY_SECONDS), trouble)

    async def _try(self) -> None:
        """Raises: WorldError."""
        try:
            await self._report()
        except FleetError as error:
            raise WorldError(str(error)) from error

    async def _report(self) -> None:
        cluster = await self.control_plane.get(CLUSTERS, self.cluster)
        hub = await own_identity(self.control_plane)
        steward, speaker = accounts_of(self.cluster)
        if _names(cluster.spec.secret_ref, self.cluster):
            data = {CA_KEY: self.authority}
            if "KubeCredentials" in self.reports:
                data[TOKEN_KEY] = await open_account(self.member, await free_account(self.member, steward, hub), hub)
            await self._write(cluster, self.cluster, data)
        if _names(cluster.spec.impersonator_secret_ref, impersonator_of(self.cluster)):
            data = {TOKEN_KEY: await open_account(self.member, speaker, hub)}
            await self._write(cluster, impersonator_of(self.cluster), data)

    async def _write(self, cluster: Cluster, name: str, data: Mapping[str, bytes]) -> None:
        """Makes a Secret that goes with its Cluster, or brings it up to date. Raises: WorldError."""
        owner = {"apiVersion": CLUSTERS.api_version, "kind": CLUSTERS.kind, "name": self.cluster}
        secret: Manifest = {
            "metadata": {"name": name, "ownerReferences": [{**owner, "uid": cluster.metadata.uid}]},
            "data": {key: base64.b64encode(value).decode() for key, value in data.items()},
        }
        try:
            await self.control_plane.create(_SECRETS, {**secret, "type": "Opaque"}, CLUSTER_NAMESPACE)
        except AlreadyExists:
            await self.control_plane.patch(_SECRETS, name, secret, CLUSTER_NAMESPACE)


def _names(reference: LocalSecretReference | None, name: str) -> bool:
    return reference == LocalSecretReference(CLUSTER_NAMESPACE, name)
