"""`leeward agent`"""

from pathlib import Path

import click

from kubeapi.process import serve
from kubeapi.urls import endpoint_fault
from leeward.app.config import REPORTS, AgentConfig, ClusterDescription, Report
from leeward.app.local import FleetError
from leeward.app.local.layout import problem_of_member_name
from leeward.cli.component import FILE, settings_from
from leeward.cli.flags import KARMADA_SPELLING, component_flags, left_out_flags, list_option, start_log
from leeward.core.hub_generation import MOST_HUBS


def _member_name(_context: click.Context, _option: click.Parameter, name: str) -> str:
    """Raises: UsageError."""
    if problem := problem_of_member_name(name):
        raise click.UsageError(f"--cluster-name: {name!r}: {problem}")
    return name


@click.command(context_settings=KARMADA_SPELLING)
@click.option("--cluster-name", required=True, callback=_member_name, help="The member's name in the control plane.")
@click.option("--karmada-kubeconfig", type=FILE, required=True, help="The control plane's kubeconfig.")
@click.option(
    "--karmada-kubeconfig-secret",
    default="",
    help="The Secret in karmada-system of the member that is mounted as --karmada-kubeconfig: renewed certificates are "
    "kept there.",
)
@click.option("--karmada-context", default="", help="The context of it.  [default: its current one]")
@list_option(
    "--karmada-servers",
    help="Addresses of the control plane and its copies, with commas between: the agent follows the one that took over "
    "last.  [default: that of --karmada-kubeconfig]",
)
@click.option("--kubeconfig", type=FILE, help="The member's kubeconfig.  [default: the service account of this Pod]")
@click.option("--context", "kubeconfig_context", default="", help="The context of it.  [default: its current one]")
@click.option("--cluster-api-endpoint", default="", help="Where the member's API server is reached, for the proxy.")
@click.option("--proxy-server-address", default="", help="The proxy before the member's API server.")
@click.option("--cluster-provider", default="", help="What the Cluster says of its provider when it joins.")
@click.option("--cluster-region", default="", help="What it says of its region.")
@list_option("--cluster-zones", help="What it says of its zones, with commas between.")
@list_option(
    "--report-secrets",
    help="Secrets of the member that the control plane gets with --cluster-api-endpoint: KubeCredentials, "
    "KubeImpersonator, or None.  [default: KubeCredentials,KubeImpersonator]",
)
@component_flags("agent")
@left_out_flags("agent")
@click.pass_context
def agent(
    context: click.Context,
    cluster_name: str,
    karmada_kubeconfig: Path,
    karmada_kubeconfig_secret: str,
    karmada_context: str,
    karmada_servers: str,
    kubeconfig: Path | None,
    kubeconfig_context: str,
    cluster_api_endpoint: str,
    proxy_server_address: str,
    cluster_provider: str,
    cluster_region: str,
    cluster_zones: str,
    report_secrets: str,
) -> None:
    """Run the agent of a Pull member."""
    from leeward.app.agent import run_agent

    config = AgentConfig(
        cluster=cluster_name,
        control_plane_kubeconfig=karmada_kubeconfig,
        control_plane_context=karmada_context,
        control_plane_servers=_servers(karmada_servers),
        kubeconfig_secret=karmada_kubeconfig_secret,
        member_kubeconfig=kubeconfig,
        member_context=kubeconfig_context,
        settings=settings_from(context, "agent"),
        renews_certificate=True,
        reports=_reports(report_secrets) if cluster_api_endpoint else (),
        described=ClusterDescription(
            api_endpoint=cluster_api_endpoint,
            proxy_url=proxy_server_address,
            provider=cluster_provider,
            region=cluster_region,
            zones=tuple(filter(None, cluster_zones.split(","))),
        ),
    )
    start_log(context)
    serve(run_agent(config), f"agent of {cluster_name}")


def _servers(text: str) -> tuple[str, ...]:
    """Reads `--karmada-servers`. Raises: FleetError for one that is no address."""
    servers = tuple(filter(None, (server.strip() for server in text.split(","))))
    for server in servers:
        if not server.startswith("https://") or endpoint_fault(server):
            raise FleetError(f"--karmada-servers: {server!r} is no address: give https://HOST:PORT")
    if len(servers) > MOST_HUBS:
        raise FleetError(f"--karmada-servers: {len(servers)} addresses: give {MOST_HUBS} at most")
    return servers


def _reports(text: str) -> tuple[Report, ...]:
    """Reads `--report-secrets`. Raises: FleetError for an unknown name."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if names == ["None"]:
        return ()
    if unknown := sorted({*names} - {*REPORTS}):
        raise FleetError(f"--report-secrets: {unknown[0]!r}: give {', '.join(REPORTS)}, or None alone")
    return tuple(report for report in REPORTS if report in names) if names else REPORTS
