"""`leeward serve`"""

from pathlib import Path

import click

from leeward.cli.component import context_option, kubeconfig_option, run_as
from leeward.cli.flags import KARMADA_SPELLING, component_flags, left_out_flags


@click.command(context_settings=KARMADA_SPELLING)
@kubeconfig_option
@context_option
@component_flags("serve")
@left_out_flags("serve")
@click.pass_context
def serve(context: click.Context, kubeconfig: Path | None, kubeconfig_context: str) -> None:
    """Run controller manager and scheduler in one process.

    Each holds its own lease, so that another process may take over one of the two.
    """
    run_as(context, "serve", kubeconfig, kubeconfig_context, "karmada-controller-manager", "karmada-scheduler")
