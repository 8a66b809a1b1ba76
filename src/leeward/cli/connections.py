"""How verbs that work on real clusters are told which: `--kubeconfig` and `--context`, as with kubectl."""

import asyncio
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import click

from leeward.app.local.errors import FleetError
from leeward.client import Client, WorldError
from leeward.client.connection import Connection, transport_of
from leeward.client.kubeconfig import KubeconfigError, load

F = TypeVar("F", bound=Callable[..., Any])


def control_plane_options(command: F) -> F:
    """Adds `--kubeconfig` and `--karmada-context` as `kubeconfig` and `context`."""
    command = click.option(
        "--kubeconfig",
        envvar="KUBECONFIG",
        type=click.Path(dir_okay=False, path_type=Path),
        help="Kubeconfig of the control plane.  [default: $KUBECONFIG, or ~/.kube/config]",
    )(command)
    return click.option(
        "--karmada-context", "context", default="", help="Context of the control plane.  [default: the current one]"
    )(command)


def connection_from(kubeconfig: Path | None, context: str = "") -> Connection:
    """Raises: FleetError that names the file and the field."""
    path = kubeconfig or Path(os.path.expanduser("~/.kube/config"))
    try:
        return load(path, context)
    except KubeconfigError as error:
        raise FleetError(str(error)) from error


def client_of(connection: Connection) -> Client:
    """Raises: FleetError when its certificates cannot be used."""
    try:
        return Client(transport_of(connection), "leeward")
    except ValueError as error:
        raise FleetError(str(error)) from error


def carry_out(work: Coroutine[Any, Any, None], *clients: Client) -> None:
    """Runs `work` to its end and closes the clients. Raises: FleetError for what the world answered."""

    async def run() -> None:
        try:
            await work
        finally:
            for client in clients:
                await client.close()

    try:
        asyncio.run(run())
    except WorldError as error:
        raise FleetError(str(error)) from error
