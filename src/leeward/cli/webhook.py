"""`leeward webhook`: admission for a control plane on a real kube-apiserver."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from kubeapi.process import serve
from leeward.cli.component import connection_of, context_option, kubeconfig_option
from leeward.cli.connections import client_of
from leeward.cli.flags import KARMADA_SPELLING, left_out_flags, list_option, start_log
from leeward.cli.parameters import Number

T = TypeVar("T")


def parsed(parse: Callable[[str], T], text: str, flag: str) -> T:
    """Raises: BadParameter."""
    try:
        return parse(text)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=flag) from error


def https_url(_context: click.Context, _option: click.Parameter, url: str) -> str:
    """URL of a server of ours. Raises: BadParameter."""
    if url and not url.startswith("https://"):
        raise click.BadParameter("must begin with https://", param_hint="--url")
    return url


@click.command(context_settings=KARMADA_SPELLING)
@click.option("--bind-address", default="0.0.0.0", show_default=True, help="Address to listen on.")
@click.option("--secure-port", type=Number(1, 65535), default=8443, show_default=True, help="Port to listen on.")
@click.option(
    "--url",
    default="",
    callback=https_url,
    help="https://HOST:PORT at which the kube-apiserver finds us.  [default: the Service]",
)
@click.option("--default-not-ready-toleration-seconds", type=int, default=300, show_default=True)
@click.option("--default-unreachable-toleration-seconds", type=int, default=300, show_default=True)
@click.option("--skipped-propagating-apis", default="", help="As given to the controller manager.")
@list_option(
    "--skipped-propagating-namespaces",
    default=("kube-.*",),
    show_default=True,
    help="As given to the controller manager.",
)
@list_option("--allowed-member-addresses", help="Networks that members and webhooks may be in although refused.")
@list_option("--feature-gates", help="As given to the controller manager, for quotas and warnings.")
@kubeconfig_option
@context_option
@left_out_flags("webhook")
@click.pass_context
def webhook(
    context: click.Context,
    bind_address: str,
    secure_port: int,
    url: str,
    default_not_ready_toleration_seconds: int,
    default_unreachable_toleration_seconds: int,
    skipped_propagating_apis: str,
    skipped_propagating_namespaces: str,
    allowed_member_addresses: str,
    feature_gates: str,
    kubeconfig: Path | None,
    kubeconfig_context: str,
) -> None:
    """Run the admission webhook in the foreground. It makes and renews its certificates itself."""
    from kubeapi.loop import Randomness, SystemClock
    from leeward.api.rules.member_addresses import parse_networks, rules_of_control_plane
    from leeward.app.flags.parsing import parse_feature_gates, parse_patterns, parse_skipped_apis
    from leeward.core.propagation.reach import Reach
    from leeward.webhook import Endpoint, Webhook, WebhookSettings

    networks = parsed(parse_networks, allowed_member_addresses, "--allowed-member-addresses")
    namespaces = parsed(parse_patterns, skipped_propagating_namespaces, "--skipped-propagating-namespaces")
    gates = parsed(parse_feature_gates, feature_gates, "--feature-gates")
    start_log(context)
    connection = connection_of(kubeconfig, kubeconfig_context)
    settings = WebhookSettings(
        endpoint=Endpoint(url),
        host=bind_address,
        port=secure_port,
        not_ready_toleration_seconds=default_not_ready_toleration_seconds,
        unreachable_toleration_seconds=default_unreachable_toleration_seconds,
        reach=Reach(parsed(parse_skipped_apis, skipped_propagating_apis, "--skipped-propagating-apis"), namespaces),
        addresses=rules_of_control_plane(connection.server, allowed=networks),
        quota_enforcement=gates.enabled("FederatedQuotaEnforcement"),
        multiple_pod_templates=gates.enabled("MultiplePodTemplatesScheduling"),
        gates=gates.warned_of,
    )
    serve(Webhook(client_of(connection, greets=False), SystemClock(), Randomness(), settings).run(), "webhook")
