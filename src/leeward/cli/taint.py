"""`leeward taint`"""

from pathlib import Path

import click

from leeward.app.local import FleetError
from leeward.cli.connections import ask, operator_options, target_of
from leeward.cli.output import say, say_next
from leeward.cli.settings import Settings


@click.command()
@click.argument("cluster")
@click.argument("edits", nargs=-1, required=True, metavar="TAINT...")
@click.option("--overwrite", is_flag=True, help="Give a taint that is there already another value.")
@operator_options
@click.pass_obj
def taint(
    settings: Settings, cluster: str, edits: tuple[str, ...], overwrite: bool, kubeconfig: Path | None, context: str
) -> None:
    """Add and remove taints of a cluster.

    KEY=VALUE:EFFECT and KEY:EFFECT add one, KEY:EFFECT- removes it, KEY- removes all with the key. Effects are
    NoSchedule and NoExecute.
    """
    from leeward.core.cluster_health.taint_edits import TaintProblem, describe_edits, edit_taints, parse_taint_edits
    from leeward.operations.taints import change_taints

    try:
        parsed = parse_taint_edits(edits)
    except TaintProblem as error:
        raise click.UsageError(str(error)) from error
    try:
        ask(
            target_of(settings, kubeconfig, context),
            lambda client: change_taints(
                client, cluster, lambda taints: edit_taints(taints, parsed, overwrite=overwrite)
            ),
        )
    except TaintProblem as error:
        raise FleetError(f"cluster {cluster}: {error}") from error
    say(f"cluster/{cluster} {describe_edits(parsed)}")
    say_next("leeward status", f"leeward explain cluster/{cluster}")
