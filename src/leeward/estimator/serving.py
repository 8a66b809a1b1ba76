"""The gRPC server of one member's estimator, as Karmada's scheduler and descheduler, and ours, call it.

A question that cannot be understood is answered with INVALID_ARGUMENT, one about a workload that is not there with
NOT_FOUND, and while the member cannot be followed all are answered with UNAVAILABLE: none of these is a number.
Karmada: pkg/estimator/server, pkg/util/grpcconnection; the same service, and TLS where there is a certificate.
"""

import logging
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import grpc
import grpc.aio

from kubeapi.connections import Connections
from kubeapi.tls import server_context
from kubeclient import WorldError
from leeward.estimator import messages
from leeward.estimator.answering import MemberEstimates, NoSuchWorkload
from leeward.estimator.grpc_port import EstimatorFront

MAX_REQUEST_BYTES = 1 << 20
MAX_CALLS = 64
"""Answered at the same time; more are refused, and whoever asks goes by what the cluster has reported."""
END_SECONDS = 1.0

log = logging.getLogger(__name__)
_Context = grpc.aio.ServicerContext[bytes, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerCertificates:
    """Files as PEM: what the server shows, and by whom its clients' certificates must be issued (None: they need
    none). Each new connection is given what is in the files by then."""

    certificate: Path
    key: Path
    client_authority: Path | None = None

    def contexts(self) -> Callable[[], ssl.SSLContext]:
        """Function that gives the context of the next connection: as before when a file cannot be read.

        Raises: OSError for a file that cannot be read now.
        """
        read, context = self._read(), self._context()

        def latest() -> ssl.SSLContext:
            nonlocal read, context
            try:
                if (now := self._read()) != read:
                    read, context = now, self._context()
            except OSError as error:
                log.warning("certificates of the estimator stay as they were: %s", error)
            return context

        return latest

    def _read(self) -> list[bytes]:
        files = (self.certificate, self.key, self.client_authority)
        return [file.read_bytes() for file in files if file is not None]

    def _context(self) -> ssl.SSLContext:
        context = server_context(self.client_authority, (self.certificate, self.key))
        if self.client_authority is not None:
            context.verify_mode = ssl.CERT_REQUIRED
        context.set_alpn_protocols(["h2"])
        return context


class EstimatorServer:
    """Serves `estimates` at `host` and `port`, where 0 is any; in the clear without certificates."""

    def __init__(
        self,
        estimates: MemberEstimates,
        host: str,
        port: int,
        certificates: ServerCertificates | None = None,
        connections: Connections | None = None,
    ) -> None:
        self._estimates = estimates
        self._host, self._port = host, port
        self._certificates = certificates
        self._connections = connections
        self._server: grpc.aio.Server | None = None
        self._front: EstimatorFront | None = None

    async def start(self) -> int:
        """Returns the port. Raises: OSError when it is taken, or a certificate or a socket cannot be had."""
        tls = None if self._certificates is None else self._certificates.contexts()
        self._front = EstimatorFront(tls, self._connections)
        options = (("grpc.max_receive_message_length", MAX_REQUEST_BYTES),)
        server = grpc.aio.server(options=options, maximum_concurrent_rpcs=MAX_CALLS)
        server.add_generic_rpc_handlers((self._handlers(),))
        try:
            server.add_insecure_port(f"unix:{self._front.inside}")
        except RuntimeError as error:
            said = f"gRPC cannot listen at {self._front.inside}: set TMPDIR to another directory, of letters and digits"
            raise OSError(said) from error
        await server.start()
        self._server = server
        return await self._front.start(self._host, self._port)

    async def close(self) -> None:
        """Lets calls that are under way finish, for a moment."""
        if self._server is not None:
            await self._server.stop(END_SECONDS)
        if self._front is not None:
            await self._front.close()

    def _handlers(self) -> grpc.GenericRpcHandler:
        methods: dict[str, Callable[[bytes], Awaitable[int]]] = {
            messages.AVAILABLE_REPLICAS: lambda data: self._estimates.available(messages.read_replicas_request(data)),
            messages.AVAILABLE_SETS: lambda data: self._estimates.available(messages.read_sets_request(data)),
            messages.UNSCHEDULABLE_REPLICAS: lambda data: self._estimates.unschedulable(
                messages.read_unschedulable_request(data)
            ),
        }
        handlers: dict[str, grpc.RpcMethodHandler[bytes, bytes]] = {
            name: grpc.unary_unary_rpc_method_handler(_answering(ask)) for name, ask in methods.items()
        }
        return grpc.method_handlers_generic_handler(messages.SERVICE, handlers)


def _answering(ask: Callable[[bytes], Awaitable[int]]) -> Callable[[bytes, _Context], Awaitable[bytes]]:
    async def answer(data: bytes, context: _Context) -> bytes:
        try:
            return messages.write_count(await ask(data))
        except NoSuchWorkload as error:
            await context.abort(grpc.StatusCode.NOT_FOUND, str(error))
        except (ValueError, ArithmeticError) as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        except WorldError as error:
            await context.abort(grpc.StatusCode.UNAVAILABLE, str(error))

    return answer
