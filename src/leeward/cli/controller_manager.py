"""`leeward controller-manager`"""

from pathlib import Path

import click

from leeward.cli.component import context_option, kubeconfig_option, run_as
from leeward.cli.flags import KARMADA_SPELLING, component_flags, left_out_flags


@click.command(context_settings=KARMADA_SPELLING)
@kubeconfig_option
@context_option
@component_flags("controller-manager")
@left_out_flags("controller-manager")
@click.pass_context
def controller_manager(context: click.Context, kubeconfig: Path | None, kubeconfig_context: str) -> None:
    """Run the controllers beside an API server, but for the scheduler.

    It also runs the halves of the scheduler's decision by themselves, where --controllers names them: `taint-manager`,
    `gracefulEviction` and `applicationFailover`.
    """
    run_as(context, "controller-manager", kubeconfig, kubeconfig_context, "karmada-controller-manager")
