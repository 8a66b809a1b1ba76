"""Channels to the estimators of clusters, ours or Karmada's: one for each, made when it is first asked.

A Service of type ExternalName in the control plane says where an estimator is. Without one, or with a Service that has
Pods, it is looked for under the name that its Service has in the host cluster, which may be the control plane itself. A
channel that fails is closed. The next question looks again, for the address and into the files of the certificates.
Never decides, never waits longer than it is let.

Karmada: pkg/estimator/client (cache.go, service.go), pkg/util/grpcconnection; the same meanings. It refuses a Service
that has Pods.
"""

import asyncio
import socket
import ssl

import grpc
import grpc.aio
from cryptography import x509

from kubeapi.errors import Unreachable
from kubeapi.resource import Resource
from kubeapi.text import shown
from kubeapi.untrusted import mapping_in, mappings_in, text_in
from kubeclient import Client, NotFound
from leeward.api.work import BindingResource
from leeward.core.scheduling.estimates import Question
from leeward.estimator.access import EstimatorAccess
from leeward.estimator.messages import (
    SERVICE,
    UNSCHEDULABLE_REPLICAS,
    RoomRequest,
    UnschedulableRequest,
    read_count,
    write_room_request,
    write_unschedulable_request,
)

SERVICES = Resource.of_manifests("v1", "services", "Service", True)
MAX_ANSWER_BYTES = 64 * 1024
MAX_DETAIL = 200
_OPTIONS = (("grpc.max_receive_message_length", MAX_ANSWER_BYTES), ("grpc.enable_http_proxy", 0))


class EstimatorChannels:
    """`client` is the control plane's, for Services."""

    def __init__(self, client: Client, access: EstimatorAccess) -> None:
        self._client = client
        self._access = access
        self._channels: dict[str, grpc.aio.Channel] = {}

    async def room(self, cluster: str, question: Question) -> int:
        """Number of replicas or sets that still fit, as answered. Raises: Unreachable, WorldError, ValueError."""
        method, data = write_room_request(RoomRequest(cluster, question))
        return await self._call(cluster, method, data)

    async def unschedulable(self, cluster: str, workload: BindingResource, threshold_seconds: float) -> int:
        """Number of replicas that have no node, as it was answered. Raises: as `room`."""
        request = UnschedulableRequest(cluster, workload, threshold_seconds)
        return await self._call(cluster, UNSCHEDULABLE_REPLICAS, write_unschedulable_request(request))

    async def forget(self, cluster: str) -> None:
        """Closes the channel, if there is one."""
        channel = self._channels.pop(cluster, None)
        if channel is not None:
            await channel.close()

    async def close(self) -> None:
        for cluster in list(self._channels):
            await self.forget(cluster)

    async def _call(self, cluster: str, method: str, data: bytes) -> int:
        channel = self._channels.get(cluster)
        if channel is None:
            opened = await self._open(cluster)
            channel = self._channels.setdefault(cluster, opened)
            if channel is not opened:
                await opened.close()
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(f"/{SERVICE}/{method}")
        try:
            return read_count(await call(data))
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.UNAVAILABLE:
                await self.forget(cluster)
            detail = shown(error.details() or "", MAX_DETAIL)
            raise Unreachable(f"estimator of {cluster}: {error.code().name}: {detail}") from None
        except asyncio.CancelledError:
            if _is_cancelled():
                raise
            raise Unreachable(f"estimator of {cluster}: the channel was closed") from None

    async def _open(self, cluster: str) -> grpc.aio.Channel:
        """Raises: WorldError, ValueError, OSError."""
        host, port = await self._address(cluster)
        target = f"{host}:{port}"
        access = self._access
        if access.skip_verify:
            shown_certificate = await _shown_by(host, port)
            options = (*_OPTIONS, ("grpc.ssl_target_name_override", _name_in(shown_certificate)))
            return grpc.aio.secure_channel(target, self._credentials(shown_certificate), options=options)
        if access.authority is None:
            return grpc.aio.insecure_channel(target, options=_OPTIONS)
        credentials = self._credentials(access.authority.read_bytes())
        return grpc.aio.secure_channel(target, credentials, options=_OPTIONS)

    def _credentials(self, trusted: bytes) -> grpc.ChannelCredentials:
        access = self._access
        if access.certificate is None or access.key is None:
            return grpc.ssl_channel_credentials(trusted)
        return grpc.ssl_channel_credentials(trusted, access.key.read_bytes(), access.certificate.read_bytes())

    async def _address(self, cluster: str) -> tuple[str, int]:
        """Raises: WorldError; ValueError for a Service that leads nowhere."""
        access = self._access
        name = f"{access.service_prefix}-{cluster}"
        try:
            service = await self._client.get(SERVICES, name, access.service_namespace)
        except NotFound:
            service = {}
        spec = mapping_in(service, "spec")
        if text_in(spec, "type") != "ExternalName":
            return await _in_host_cluster(name, access.service_namespace, access.port), access.port
        ports = (each for each in mappings_in(spec, "ports") if each.get("port") == access.port)
        target = next((each.get("targetPort") for each in ports), None)
        if not isinstance(target, int):
            raise ValueError(
                f"Service {access.service_namespace}/{name}: port {access.port} needs a numeric targetPort"
            )
        return text_in(spec, "externalName"), target


def _is_cancelled() -> bool:
    """Tells whether this task is to end; a call whose channel is closed raises the same."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _in_host_cluster(name: str, namespace: str, port: int) -> str:
    """The name that is known there; the shorter one where its domain is not cluster.local."""
    whole = f"{name}.{namespace}.svc.cluster.local"
    try:
        await asyncio.get_running_loop().getaddrinfo(whole, port, type=socket.SOCK_STREAM)
    except OSError:
        return f"{name}.{namespace}.svc"
    return whole


async def _shown_by(host: str, port: int) -> bytes:
    """The certificate that whoever listens there shows, as PEM. It is then the only one that is trusted.

    Raises: OSError.
    """
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["h2"])
    _, writer = await asyncio.open_connection(host, port, ssl=context)
    try:
        found: bytes = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
        return ssl.DER_cert_to_PEM_cert(found).encode()
    finally:
        writer.transport.abort()


def _name_in(certificate: bytes) -> str:
    """A name that the certificate is for. Raises: ValueError where it has none."""
    try:
        names = x509.load_pem_x509_certificate(certificate).extensions.get_extension_for_class(
            x509.SubjectAlternativeName
        )
    except x509.ExtensionNotFound:
        raise ValueError("the certificate of the estimator names no host") from None
    hosts = names.value.get_values_for_type(x509.DNSName)
    addresses = map(str, names.value.get_values_for_type(x509.IPAddress))
    found = next(iter((*hosts, *addresses)), "")
    if not found:
        raise ValueError("the certificate of the estimator names no host")
    return found.replace("*", "any", 1) if found.startswith("*.") else found
