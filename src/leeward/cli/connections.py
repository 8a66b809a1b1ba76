"""Connections of verbs to the control plane that they are told: `--kubeconfig` and `--context`, as with kubectl.

Verbs that work on real clusters only (`init`, `join`, ...) take what kubectl would take. Operators' verbs (`status`,
`drain`, ...) take the fleet in the data directory, if there is one, and what kubectl would take if not: a verb that
moves applications does not change its target because a variable is set somewhere.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from leeward.app.local.errors import FleetError, no_fleet, no_trust
from leeward.cli.named_files import InputFile, kubeconfig_in
from leeward.cli.output import moving
from leeward.cli.settings import Settings

if TYPE_CHECKING:
    from kubeclient import Client
    from kubeclient.connection import Connection
    from kubeclient.kubeconfig import KubeconfigSource
    from leeward.app.local import Layout

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


def control_plane_options(command: F) -> F:
    """Adds `--kubeconfig` and `--karmada-context` as `kubeconfig` and `context`."""
    return _options(command, "$KUBECONFIG, or ~/.kube/config")


def operator_options(command: F) -> F:
    """Options for the control plane, of verbs that also know the fleet in the data directory."""
    return _options(command, "the fleet in the data directory; without one $KUBECONFIG, or ~/.kube/config")


def _options(command: F, default: str) -> F:
    command = click.option(
        "--kubeconfig", type=InputFile(), help=f"Kubeconfig of the control plane.  [default: {default}]"
    )(command)
    return click.option(
        "--context",
        "--karmada-context",
        "context",
        default="",
        help="Context of the control plane.  [default: the current one]",
    )(command)


@dataclass(frozen=True, slots=True)
class Target:
    """One control plane. `layout` is where its fleet is kept, when it is one of this machine."""

    name: str
    connection: "Connection"
    layout: "Layout | None" = None


def target_of(settings: Settings, kubeconfig: Path | None, context: str) -> Target:
    """The control plane that an operator's verb is for. Raises: FleetError."""
    from kubeclient.kubeconfig import default_paths

    if kubeconfig is not None:
        return _named_target(kubeconfig_in(kubeconfig), context)
    layout = settings.layout
    if settings.is_kubectl_plugin and not settings.names_data_dir:
        return _named_target(default_paths(os.environ), context)
    if context:
        return _named_target((layout.kubeconfig,) if settings.names_data_dir else default_paths(os.environ), context)
    if layout.fleet_file.exists() or settings.names_data_dir:
        return _local_target(layout)
    paths = default_paths(os.environ)
    if not any(path.exists() for path in paths):
        raise FleetError(f"{no_fleet(layout.root)}; or name a control plane with --kubeconfig")
    return _named_target(paths, "")


def _named_target(source: "KubeconfigSource", context: str) -> Target:
    from kubeclient.kubeconfig import KubeconfigError, current_context, load

    try:
        connection = load(source, context)
        return Target(context or current_context(source), connection)
    except KubeconfigError as error:
        raise FleetError(str(error)) from error


def _local_target(layout: "Layout") -> Target:
    from leeward.app.local.control_plane import administrators_connection

    return Target(f"fleet in {layout.root}", administrators_connection(layout), layout)


def ask(target: Target, work: Callable[["Client"], Awaitable[T]], *, briefly: bool = False) -> T:
    """Result of `work`, over a client of the target. Raises: FleetError for what the world answered, and at once where
    nobody answers.

    `briefly`: it sends a few requests one after the other, and watches nothing, so that it starts quickly.
    """
    from kubeclient import WorldError
    from leeward.operations import OperationFailed

    refuse_silent(target)
    client = _brief_client_of(target.connection) if briefly else client_of(target.connection, greets=False)

    async def run() -> T:
        try:
            with moving(f"asks {target.name}"):
                await client.raw("GET", "/version", timeout_seconds=_patience(target))
                return await work(client)
        finally:
            await client.close()

    try:
        return asyncio.run(run())
    except WorldError as error:
        raise FleetError(_no_answer(target, error)) from error
    except OperationFailed as error:
        raise FleetError(str(error)) from error


def refuse_silent(target: Target) -> None:
    """Raises: FleetError for a fleet of this machine whose control plane is frozen or does not run: whoever answers at
    its address is another, which may have the same keys."""
    if target.layout is not None:
        from leeward.app.local.control_plane import is_running

        if not is_running(target.layout):
            raise FleetError(_silence(target, target.layout))


def _patience(target: Target) -> float:
    from kubeclient.preflight import ANSWER_SECONDS, REMOTE_ANSWER_SECONDS

    return REMOTE_ANSWER_SECONDS if target.layout is None else ANSWER_SECONDS


def _no_answer(target: Target, error: Exception) -> str:
    """Words for an error of the world; of a control plane of this machine, the fate of its process."""
    from kubeapi.errors import Untrusted
    from kubeclient import Unreachable

    if target.layout is not None and isinstance(error, Untrusted):
        return no_trust(target.connection.server, error)
    if target.layout is not None and isinstance(error, Unreachable):
        return _silence(target, target.layout)
    return str(error)


def _silence(target: Target, layout: "Layout") -> str:
    from leeward.app.local.control_plane import why_silent

    return f"{target.connection.server} does not answer: {why_silent(layout)}"


def connection_from(kubeconfig: Path | None, context: str = "") -> "Connection":
    """Raises: FleetError that names the file and the field."""
    from kubeclient.kubeconfig import KubeconfigError, default_paths, load

    try:
        return load(kubeconfig_in(kubeconfig) if kubeconfig else default_paths(os.environ), context)
    except KubeconfigError as error:
        raise FleetError(str(error)) from error


def client_of(connection: "Connection", *, greets: bool = True) -> "Client":
    """A client that names a server which does not answer soon, unless it `greets` nobody.

    Raises: FleetError when its certificates cannot be used.
    """
    from kubeclient import Client
    from kubeclient.connection import transport_of
    from kubeclient.preflight import preflight_transport_of

    try:
        return Client(preflight_transport_of(connection) if greets else transport_of(connection), "leeward")
    except ValueError as error:
        raise FleetError(str(error)) from error


def switch_alone(connection: "Connection", switch: Callable[["Client"], Awaitable[None]]) -> None:
    """Carries out an adoption or its opposite while nobody else does. Raises: FleetError."""
    from kubeapi.loop import Randomness, SystemClock
    from kubeclient import Client
    from kubeclient.preflight import preflight_transport_of
    from leeward.app.migration.one_at_a_time import alone
    from leeward.cli.output import say

    transport = preflight_transport_of(connection)
    carry_out(alone(transport, SystemClock(), Randomness(), switch, say), Client(transport))


def _brief_client_of(connection: "Connection") -> "Client":
    """Raises: FleetError when its certificates cannot be used."""
    from kubeclient import Client
    from kubeclient.connection import asking_transport_of

    try:
        return Client(asking_transport_of(connection), "leeward")
    except ValueError as error:
        raise FleetError(str(error)) from error


def carry_out(work: Coroutine[Any, Any, T], *clients: "Client") -> T:
    """Runs `work` to its end, closes the clients, and returns its result.

    Raises: FleetError for the world's answer."""
    from kubeclient import WorldError

    async def run() -> T:
        try:
            return await work
        finally:
            for client in clients:
                await client.close()

    try:
        return asyncio.run(run())
    except WorldError as error:
        raise FleetError(str(error)) from error
