"""`leeward register`: a cluster becomes a Pull member; options as with karmadactl."""

from pathlib import Path

import click

from kubeapi.named_files import is_standard_output
from leeward.app.local import FleetError
from leeward.app.local.layout import problem_of_member_name
from leeward.cli.connections import carry_out, client_of
from leeward.cli.named_files import OutputFile
from leeward.cli.output import say


@click.command()
@click.argument("endpoint")
@click.option("--token", required=True, help="A bootstrap token: `leeward token create` prints one.")
@click.option(
    "--discovery-token-ca-cert-hash",
    "ca_hash",
    required=True,
    metavar="sha256:HEX",
    help="What the control plane's CA is known by; `leeward token create` prints it.",
)
@click.option("--cluster-name", required=True, help="What the cluster is to be called.")
@click.option(
    "--karmada-kubeconfig",
    type=OutputFile(),
    default=Path("karmada-agent.kubeconfig"),
    show_default=True,
    help="The file that the agent's identity is written into; `-` is standard output.",
)
def register(endpoint: str, token: str, ca_hash: str, cluster_name: str, karmada_kubeconfig: Path) -> None:
    """Get an identity for the agent of a cluster, which joins in Pull mode when it starts."""
    from dataclasses import replace

    from leeward.app.cluster_info import discover
    from leeward.app.registering import obtain_certificate, write_kubeconfig

    if problem := problem_of_member_name(cluster_name):
        raise click.UsageError(f"--cluster-name: {cluster_name!r}: {problem}")
    server = endpoint if "://" in endpoint else f"https://{endpoint}"

    async def get_identity() -> None:
        anonymous = await discover(server, ca_hash)
        client = client_of(replace(anonymous, token=token))
        try:
            known = await obtain_certificate(client, anonymous, cluster_name)
        finally:
            await client.close()
        try:
            write_kubeconfig(karmada_kubeconfig, known, cluster_name)
        except OSError as error:
            problem = f"--karmada-kubeconfig: {karmada_kubeconfig} cannot be written: {error.strerror or error}"
            raise FleetError(problem) from error

    carry_out(get_identity())
    say(
        f"{karmada_kubeconfig} is the identity of the agent of {cluster_name}: now run\n"
        f"leeward agent --cluster-name {cluster_name} --karmada-kubeconfig {karmada_kubeconfig} "
        "--kubeconfig KUBECONFIG_OF_THE_CLUSTER",
        err=is_standard_output(karmada_kubeconfig),
    )
