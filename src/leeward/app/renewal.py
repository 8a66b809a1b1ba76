"""Keeps an agent's identity from ending: its certificate is renewed in time, with the certificate itself.

The new one goes into the kubeconfig, where the next process finds it, and into the transport of this one. Only a
kubeconfig that holds nothing else is written: such a one as `leeward register` makes. In a Pod it is a Secret of the
member.
"""

import asyncio
import base64
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from kubeapi.certificate_requests import subject_of_certificate
from kubeapi.core import SECRETS
from kubeapi.loop import Clock
from kubeclient import Client, WorldError
from kubeclient.connection import Connection
from leeward.api.names import SYSTEM_NAMESPACE
from leeward.app.local import FleetError
from leeward.app.registering import kubeconfig_of, obtain_certificate, renew_at, subject_of_agent, write_kubeconfig

log = logging.getLogger(__name__)

LOOK_AGAIN, RETRY = timedelta(hours=1), timedelta(seconds=30)


class KubeconfigSecret(NamedTuple):
    """Secret of the member that is mounted where the kubeconfig is, with the file's name as its key."""

    member: Client
    name: str


class CertificateRenewal:
    """`take` is given each new connection."""

    def __init__(
        self,
        client: Client,
        clock: Clock,
        cluster: str,
        kubeconfig: Path,
        connection: Connection,
        take: Callable[[Connection], Awaitable[None]],
        secret: KubeconfigSecret | None = None,
    ) -> None:
        self._client = client
        self._clock = clock
        self._cluster = cluster
        self._kubeconfig = kubeconfig
        self._connection = connection
        self._take = take
        self._secret = secret

    async def run(self) -> None:
        """Goes on until it is cancelled; ends at once where the connection has no certificate of the agent's."""
        while is_certified(self._connection, self._cluster):
            await asyncio.sleep(self._rest_seconds())
            if self._clock.now() >= renew_at(self._connection.client_certificate):
                await self._renew()

    async def _renew(self) -> None:
        """A failure leaves the present certificate in use, and is tried again."""
        try:
            self._connection = await obtain_certificate(self._client, self._connection, self._cluster)
        except (WorldError, FleetError) as error:
            log.warning("the certificate of the agent cannot be renewed: %s", error)
            await asyncio.sleep(RETRY.total_seconds())
            return
        await self._take(self._connection)
        try:
            await self._keep()
        except (OSError, WorldError) as error:
            where = self._kubeconfig if self._secret is None else f"the Secret {SYSTEM_NAMESPACE}/{self._secret.name}"
            log.warning("the new certificate is in use, but cannot be kept in %s: %s", where, error)
        log.info("the certificate of the agent is renewed")

    async def _keep(self) -> None:
        """Raises: OSError, WorldError."""
        if self._secret is None:
            write_kubeconfig(self._kubeconfig, self._connection, self._cluster)
            return
        text = base64.b64encode(kubeconfig_of(self._connection, self._cluster)).decode()
        await self._secret.member.patch(
            SECRETS, self._secret.name, {"data": {self._kubeconfig.name: text}}, SYSTEM_NAMESPACE
        )

    def _rest_seconds(self) -> float:
        until = renew_at(self._connection.client_certificate) - self._clock.now()
        return min(LOOK_AGAIN, max(until, timedelta())).total_seconds()


def is_certified(connection: Connection, cluster: str) -> bool:
    """Tells whether the connection is known by a certificate for the agent of this cluster."""
    try:
        return subject_of_certificate(connection.client_certificate) == subject_of_agent(cluster)
    except ValueError:
        return False
