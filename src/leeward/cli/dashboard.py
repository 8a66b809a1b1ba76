"""`leeward dashboard`"""

import atexit
import html
import os
import shutil
import ssl
import tempfile
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import click

from leeward.app.local import FleetError
from leeward.cli.component import connection_of
from leeward.cli.connections import Target, operator_options, refuse_silent, target_of
from leeward.cli.flags import logging_format, start_log
from leeward.cli.output import complain, say
from leeward.cli.settings import Settings

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
USUAL_PORT = 8733
IN_A_POD = "KUBERNETES_SERVICE_HOST"


@click.command()
@click.option(
    "--listen",
    metavar="HOST:PORT",
    help=f"Where to listen.  [default: 127.0.0.1:{USUAL_PORT}, or another port where that one is taken]",
)
@click.option("--open", "opens", is_flag=True, help="Open the page in a browser.")
@click.option("--allow-actions", is_flag=True, help="Let who has the right cordon, drain, undo, release and rebalance.")
@click.option("--tls-cert", type=FILE, help="Certificate (PEM) to serve HTTPS with.")
@click.option("--tls-key", type=FILE, help="Its private key (PEM).")
@click.option("--allowed-host", "hosts", multiple=True, metavar="NAME", help="A name by which browsers find it.")
@logging_format
@operator_options
@click.pass_obj
def dashboard(
    settings: Settings,
    listen: str | None,
    opens: bool,
    allow_actions: bool,
    tls_cert: Path | None,
    tls_key: Path | None,
    hosts: tuple[str, ...],
    kubeconfig: Path | None,
    context: str,
) -> None:
    """Show the fleet on a page, as it changes.

    On an address of this machine alone, a link is printed that signs in once, with the identity of the kubeconfig.
    When it was used, the next one is printed. Elsewhere users sign in with a token of the control plane.
    """
    from kubeapi.process import serve
    from leeward.app.dashboard import NOT_BUILT, DashboardRequest, run_dashboard
    from leeward.app.local.dashboard_process import is_built

    target = _target(settings, kubeconfig, context)
    refuse_silent(target)
    host, port = _address(listen)
    request = DashboardRequest(
        name=target.name,
        connection=target.connection,
        host=host,
        port=port,
        tls=_tls(tls_cert, tls_key),
        allowed_hosts=hosts,
        allow_actions=allow_actions,
    )
    if not request.is_private and request.tls is None:
        complain(f"{listen} is not of this machine alone: without --tls-cert, tokens travel unencrypted to it")
    if not is_built():
        complain(NOT_BUILT)
    start_log(click.get_current_context())
    served = replace(request, renewed=partial(_tell_next, request.link))
    serve(run_dashboard(served, lambda link: announce(target.name, link, opens)), "dashboard")


def _target(settings: Settings, kubeconfig: Path | None, context: str) -> Target:
    """The control plane; of a Pod that nobody has told one, that of its own service account. Raises: FleetError."""
    is_told = kubeconfig is not None or context or "KUBECONFIG" in os.environ or settings.names_data_dir
    if IN_A_POD in os.environ and not is_told:
        return Target("this control plane", connection_of(None, ""))
    return target_of(settings, kubeconfig, context)


def _tell_next(link: Callable[[str], str], key: str) -> None:
    say(f"that link is used; the next one: {link(key)}")


def announce(name: str, link: str, opens: bool) -> None:
    say(f"dashboard of {name}: {link}")
    say("Ctrl-C ends it")
    if opens:
        _open(link)


def _open(link: str) -> None:
    """Has the browser go to the link from a file that is its user's alone: arguments of processes are everybody's.

    A confined browser has a /tmp of its own, and reads no hidden file. It reads the user's downloads or home.
    """
    from kubeapi.files import write_file

    home = Path(os.path.expanduser("~"))
    place = next((each for each in (home / "Downloads", home) if os.access(each, os.W_OK | os.X_OK)), None)
    directory = tempfile.mkdtemp(prefix="leeward-", dir=place)
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    file = Path(directory) / "dashboard.html"
    write_file(file, f'<!doctype html><meta http-equiv="refresh" content="0; url={html.escape(link)}">')
    click.launch(file.as_uri())


def _address(listen: str | None) -> tuple[str, int]:
    """Raises: FleetError, BadParameter."""
    from kubeapi.loop import Randomness
    from leeward.app.flags.parsing import parse_address
    from leeward.app.local.ports import is_free, pick_port

    if listen is None:
        return "127.0.0.1", USUAL_PORT if is_free(USUAL_PORT) else pick_port(Randomness())
    try:
        address = parse_address(listen)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--listen") from error
    if address is None:
        raise click.BadParameter("0 is nowhere: write 127.0.0.1:8733", param_hint="--listen")
    return address.host, address.port or pick_port(Randomness())


def _tls(certificate: Path | None, key: Path | None) -> ssl.SSLContext | None:
    """Raises: FleetError."""
    if (certificate is None) != (key is None):
        raise click.UsageError("--tls-cert and --tls-key go together: give both, or none")
    if certificate is None or key is None:
        return None
    from kubeapi.tls import server_context

    try:
        return server_context(pair=(certificate, key))
    except (OSError, ssl.SSLError) as error:
        raise FleetError(f"--tls-cert {certificate}, --tls-key {key}: they cannot be used: {error}") from error
