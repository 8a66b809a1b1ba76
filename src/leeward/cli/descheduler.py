"""`leeward descheduler`"""

from pathlib import Path

import click

from leeward.cli.component import context_option, kubeconfig_option, master_option, run_as
from leeward.cli.flags import KARMADA_SPELLING, component_flags, left_out_flags


@click.command(context_settings=KARMADA_SPELLING)
@kubeconfig_option
@context_option
@master_option
@component_flags("descheduler")
@left_out_flags("descheduler")
@click.pass_context
def descheduler(context: click.Context, kubeconfig: Path | None, kubeconfig_context: str, master: str) -> None:
    """Give replicas that find no node back to the scheduler, for another cluster.

    The estimators of the clusters tell it which these are: run `leeward scheduler-estimator` for each, and the
    scheduler with --enable-scheduler-estimator, so that it does not put them back.
    """
    run_as(context, "descheduler", kubeconfig, kubeconfig_context, "karmada-descheduler", master=master)
