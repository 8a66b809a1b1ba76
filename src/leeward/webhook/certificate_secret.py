"""Secret with the certificates that a server of ours shows, renewed in time.

Several replicas share it: who comes second takes what the first has made. Where it is deleted they put back what they
serve with."""

import base64
from collections.abc import Mapping, Sequence

from kubeapi.core import SECRETS
from kubeapi.loop import Clock
from kubeapi.meta import Manifest
from kubeclient import AlreadyExists, Client, Conflict, NotFound, NotServed
from leeward.api.names import SYSTEM_NAMESPACE
from leeward.webhook.certificates import NAME, renewed


class CertificateSecret:
    """`loaded` is the certificate that the server shows now; `subject` names it in its certificates."""

    def __init__(self, client: Client, clock: Clock, name: str, hosts: Sequence[str], subject: str = NAME) -> None:
        self._client = client
        self._clock = clock
        self._name = name
        self._hosts = hosts
        self._subject = subject
        self.loaded: Mapping[str, bytes] = {}

    async def current(self) -> dict[str, bytes]:
        """Contents of the Secret, renewed where that is due. Raises: WorldError."""
        try:
            secret = await self._client.get(SECRETS, self._name, SYSTEM_NAMESPACE)
            data, version = dict(secret.data), secret.metadata.resource_version
        except NotServed:
            raise
        except NotFound:
            data, version = dict(self.loaded), ""
        fresh = renewed(data, self._hosts, self._clock.now(), self._subject)
        if fresh is None:
            if version:
                return data
            fresh = data
        encoded = {key: base64.b64encode(value).decode() for key, value in fresh.items()}
        body: Manifest = {"metadata": {"name": self._name}, "type": "kubernetes.io/tls", "data": encoded}
        try:
            if version:
                change: Manifest = {"data": encoded}
                await self._client.patch(SECRETS, self._name, change, SYSTEM_NAMESPACE, resource_version=version)
            else:
                await self._client.create(SECRETS, body, SYSTEM_NAMESPACE)
        except (AlreadyExists, Conflict):
            return dict((await self._client.get(SECRETS, self._name, SYSTEM_NAMESPACE)).data)
        return fresh
