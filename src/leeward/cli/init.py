"""`leeward init`: installs Leeward into a control plane that is a real kube-apiserver."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from leeward.app.local import FleetError
from leeward.cli.connections import carry_out, client_of, connection_from, control_plane_options
from leeward.cli.output import complain, say
from leeward.cli.questions import COULD_NOT_LOOK, FINDINGS
from leeward.cli.remarks import say_remarks

if TYPE_CHECKING:
    from kubeclient import Client
    from leeward.app.migration.review import Remark


@click.command()
@click.option("--check", is_flag=True, help="Say what is there and what would happen, and write nothing.")
@control_plane_options
def init(check: bool, kubeconfig: Path | None, context: str) -> None:
    """Install Leeward's kinds and rights into a control plane. Can be repeated, and brings an older one up to date.

    A control plane that a Karmada runs is refused: `leeward adopt` takes it over. With --check the exit code is 0 when
    nothing is in the way, 1 when something is, and 2 when it could not look.
    """
    from leeward.app.cluster_info import publish
    from leeward.app.install.installing import install

    if check:
        raise click.exceptions.Exit(_check(kubeconfig, context))

    async def install_and_publish() -> None:
        in_the_way = await _harm_to_karmada(client)
        if in_the_way:
            raise FleetError(in_the_way)
        await install(client)
        await publish(client, connection)

    connection = connection_from(kubeconfig, context)
    client = client_of(connection)
    carry_out(install_and_publish(), client)
    say(f"installed into {connection.server}: now run `leeward serve` and `leeward webhook` beside it")


def _check(kubeconfig: Path | None, context: str) -> int:
    try:
        client = client_of(connection_from(kubeconfig, context))
        remarks = carry_out(_remarks(client), client)
    except FleetError as error:
        complain(str(error))
        return COULD_NOT_LOOK
    from leeward.app.migration.review import refusals

    say_remarks(remarks)
    if not remarks:
        say("nothing of Karmada is here: `leeward init` installs")
    return FINDINGS if refusals(remarks) else 0


async def _remarks(client: "Client") -> "tuple[Remark, ...]":
    from kubeapi.loop import SystemClock
    from leeward.app.migration.adopting import plan

    return (await plan(client, SystemClock())).remarks


async def _harm_to_karmada(client: "Client") -> str:
    """Sentence on the parts of a Karmada that an installation would harm; empty where nothing is there."""
    from leeward.app.migration.survey import clusters_service, karmada_webhooks

    if await clusters_service(client) is not None:
        said = "the Clusters are kept by Karmada's aggregated API server, and would vanish"
    elif await karmada_webhooks(client):
        said = "Karmada's webhooks are here, and would refuse what Leeward writes"
    else:
        return ""
    return f"{said}: `leeward adopt` takes over from Karmada (`leeward init --check` says what it would do)"
