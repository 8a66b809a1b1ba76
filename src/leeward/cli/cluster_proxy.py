"""`leeward cluster-proxy`: the way to members for a control plane on a real kube-apiserver."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import click

from kubeapi.process import serve
from leeward.app.local import FleetError
from leeward.cli.component import connection_of, context_option, kubeconfig_option
from leeward.cli.connections import carry_out, client_of
from leeward.cli.flags import KARMADA_SPELLING, list_option, logging_format, start_log
from leeward.cli.named_files import kubeconfig_in
from leeward.cli.output import say
from leeward.cli.parameters import Number
from leeward.cli.webhook import https_url, parsed

SERVICE_URL = "https://leeward-cluster-proxy.karmada-system.svc"


@click.command("cluster-proxy", context_settings=KARMADA_SPELLING)
@click.option("--bind-address", default="0.0.0.0", show_default=True, help="Address to listen on.")
@click.option("--secure-port", type=Number(1, 65535), default=8444, show_default=True, help="Port to listen on.")
@click.option(
    "--url",
    default=SERVICE_URL,
    show_default=True,
    callback=https_url,
    help="https://HOST:PORT at which clients find it.",
)
@list_option("--allowed-member-addresses", help="Networks that members may be in although refused.")
@click.option("--print-kubeconfig", is_flag=True, help="Print --kubeconfig as it leads here, for karmadactl, and end.")
@logging_format
@kubeconfig_option
@context_option
@click.pass_context
def cluster_proxy(
    context: click.Context,
    bind_address: str,
    secure_port: int,
    url: str,
    allowed_member_addresses: str,
    print_kubeconfig: bool,
    kubeconfig: Path | None,
    kubeconfig_context: str,
) -> None:
    """Serve the API of a kube-apiserver and clusters/NAME/proxy, which it cannot serve itself.

    Run it beside `leeward serve`. Users give karmadactl the kubeconfig that --print-kubeconfig prints: its verbs that
    look into members work through it. It makes and renews its certificate itself.
    """
    if print_kubeconfig:
        _print(kubeconfig, kubeconfig_context)
        return
    connection = connection_of(kubeconfig, kubeconfig_context)
    from kubeapi.loop import SystemClock
    from leeward.api.rules.member_addresses import parse_networks, rules_of_control_plane
    from leeward.app.front_serving import FrontServer, FrontSettings
    from leeward.webhook import Endpoint

    networks = parsed(parse_networks, allowed_member_addresses, "--allowed-member-addresses")
    start_log(context)
    addresses = rules_of_control_plane(connection.server, allowed=networks)
    settings = FrontSettings(Endpoint(url), bind_address, secure_port, addresses)
    client = client_of(connection, greets=False)
    # uvloop may lose the last bytes of a member's answer (`kubeclient.reading_ahead`).
    serve(FrontServer(client, connection, SystemClock(), settings).run(), "cluster-proxy", asyncio.new_event_loop)


def _print(path: Path | None, context: str) -> None:
    """Raises: FleetError."""
    from kubeapi.codec import parse_yaml
    from kubeclient.kubeconfig import KubeconfigError, load
    from leeward.app.front_address import find_front, kubeconfig_through

    if path is None:
        raise click.UsageError("--print-kubeconfig: give --kubeconfig, too: it says who the user is")
    source = kubeconfig_in(path)
    try:
        client = client_of(load(source, context))
    except KubeconfigError as error:
        raise FleetError(str(error)) from error
    address = carry_out(find_front(client), client)
    if address is None:
        raise FleetError("no cluster proxy has run here yet: run `leeward cluster-proxy` beside `leeward serve`")
    kubeconfig = dict(source) if isinstance(source, Mapping) else next(iter(parse_yaml(source.read_bytes())))
    say(kubeconfig_through(address, kubeconfig, context, path.absolute().parent).rstrip("\n"))
