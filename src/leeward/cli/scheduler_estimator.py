"""`leeward scheduler-estimator`"""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from kubeapi.process import serve
from leeward.app.local import FleetError
from leeward.app.local.layout import problem_of_member_name
from leeward.cli.component import FILE, connection_of, master_option, settings_from
from leeward.cli.flags import KARMADA_SPELLING, component_flags, left_out_flags, start_log

if TYPE_CHECKING:
    from leeward.app.flags.settings import Estimation


@click.command(context_settings=KARMADA_SPELLING)
@click.option("--cluster-name", required=True, help="The member's name in the control plane.")
@click.option("--kubeconfig", type=FILE, help="The member's kubeconfig.  [default: the service account of this Pod]")
@click.option("--context", "kubeconfig_context", default="", help="The context of it.  [default: its current one]")
@master_option
@component_flags("scheduler-estimator")
@left_out_flags("scheduler-estimator")
@click.pass_context
def scheduler_estimator(
    context: click.Context, cluster_name: str, kubeconfig: Path | None, kubeconfig_context: str, master: str
) -> None:
    """Run the estimator of a member: it says how many replicas fit on its nodes.

    Leeward's scheduler asks it, with --enable-scheduler-estimator, and Karmada's.
    """
    from leeward.app.estimating import EstimatorConfig, run_estimator

    if problem := problem_of_member_name(cluster_name):
        raise click.UsageError(f"--cluster-name: {cluster_name!r}: {problem}")
    settings = settings_from(context, "scheduler-estimator")
    connection = connection_of(kubeconfig, kubeconfig_context, master)
    _check_certificate(settings.estimation)
    start_log(context)
    config = EstimatorConfig(cluster=cluster_name, connection=connection, settings=settings)
    serve(run_estimator(config), f"estimator of {cluster_name}")


def _check_certificate(settings: "Estimation") -> None:
    """Raises: FleetError where there is none and nobody asked for that, or for a file that cannot be read."""
    if settings.certificate is None and not settings.insecure:
        raise FleetError(
            "--grpc-auth-cert-file: without a certificate everybody on the way reads and answers in its place: give "
            "--grpc-auth-cert-file and --grpc-auth-key-file, or --insecure for a network that you trust"
        )
    for flag, path in (
        ("grpc-auth-cert-file", settings.certificate),
        ("grpc-auth-key-file", settings.key),
        ("grpc-client-ca-file", settings.client_authority),
    ):
        try:
            if path is not None:
                path.read_bytes()
        except OSError as error:
            raise FleetError(f"--{flag}: {path}: {error.strerror}") from error
