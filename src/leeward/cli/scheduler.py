"""`leeward scheduler`"""

from pathlib import Path

import click

from leeward.cli.component import context_option, kubeconfig_option, master_option, run_as
from leeward.cli.flags import KARMADA_SPELLING, component_flags, left_out_flags


@click.command(context_settings=KARMADA_SPELLING)
@kubeconfig_option
@context_option
@master_option
@component_flags("scheduler")
@left_out_flags("scheduler")
@click.pass_context
def scheduler(context: click.Context, kubeconfig: Path | None, kubeconfig_context: str, master: str) -> None:
    """Run the scheduler beside an API server.

    It evicts, places and ends evictions in one decision; with --enable-taint-manager=false it only places.
    """
    run_as(context, "scheduler", kubeconfig, kubeconfig_context, "karmada-scheduler", master=master)
