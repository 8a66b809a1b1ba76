"""Parts that the verbs which run a component have in common: the control plane that they talk to, and their flags."""

import gc
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubeapi.process import serve
from leeward.app.flags.table import Component, FlagProblem
from leeward.app.local import FleetError
from leeward.cli.flags import start_log, written_flags
from leeward.cli.named_files import InputFile, kubeconfig_in

if TYPE_CHECKING:
    from kubeclient.connection import Connection
    from leeward.app.component import Part
    from leeward.app.flags.settings import ComponentSettings

YOUNG_OBJECTS = 5_000
"""Number of objects that can be in cycles, made and not given back, beyond which they are looked through."""
FILE = click.Path(dir_okay=False, path_type=Path)

kubeconfig_option = click.option(
    "--kubeconfig", type=InputFile(), help="The control plane's kubeconfig.  [default: the service account of this Pod]"
)
context_option = click.option(
    "--context", "kubeconfig_context", default="", help="The context of it.  [default: its current one]"
)
master_option = click.option(
    "--master", default="", help="The server to talk to.  [default: the one that the kubeconfig names]"
)


def settings_from(context: click.Context, component: Component) -> "ComponentSettings":
    """Raises: UsageError for flags that contradict each other."""
    from leeward.app.flags.settings import settings_of

    try:
        return settings_of(component, written_flags(context))
    except FlagProblem as error:
        raise click.UsageError(str(error), context) from error


def connection_of(kubeconfig: Path | None, kubeconfig_context: str, master: str = "") -> "Connection":
    """`master` is asked instead of the server that the kubeconfig names. Raises: FleetError, UsageError."""
    from kubeclient.incluster import load_in_cluster
    from kubeclient.kubeconfig import KubeconfigError, load

    if master and not kubeconfig:
        raise click.UsageError("--master: give --kubeconfig, too: it says who we are there")
    try:
        connection = load(kubeconfig_in(kubeconfig), kubeconfig_context) if kubeconfig else load_in_cluster(os.environ)
        return replace(connection, server=master if "://" in master else f"https://{master}") if master else connection
    except KubeconfigError as error:
        raise FleetError(str(error)) from error


def calm_collector() -> None:
    """Has the garbage collector look at young objects less often, and at imported ones not at all.

    Hardly anything here is in cycles, and most objects of a reconciliation are gone before the next begins.
    """
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS, *gc.get_threshold()[1:])


def run_as(
    context: click.Context,
    component: Component,
    kubeconfig: Path | None,
    kubeconfig_context: str,
    *parts: "Part",
    master: str = "",
) -> None:
    """Runs the parts of a component in the foreground. Raises: FleetError."""
    from leeward.app.component import ComponentConfig, run_component

    settings = settings_from(context, component)
    connection = connection_of(kubeconfig, kubeconfig_context, master)
    start_log(context)
    calm_collector()
    serve(run_component(ComponentConfig(connection=connection, parts=parts, settings=settings)), component)
