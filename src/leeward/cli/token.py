"""`leeward token`: bootstrap tokens for clusters that register; options as with karmadactl."""

from datetime import timedelta
from pathlib import Path

import click

from leeward.cli.connections import carry_out, client_of, operator_options, target_of
from leeward.cli.output import say
from leeward.cli.parameters import Duration
from leeward.cli.settings import Settings
from leeward.cli.tables import render_table
from leeward.cli.verbs import VerbGroup


@click.group(cls=VerbGroup)
def token() -> None:
    """Make, list and delete the tokens with which clusters register."""


@token.command()
@click.option("--ttl", type=Duration(), default="24h", show_default=True, metavar="DURATION", help="0s: it never ends.")
@click.option("--description", default="", help="What it is for.")
@click.option(
    "--cluster",
    default="",
    metavar="NAME",
    help="The cluster that it is for, which has not joined yet.  [default: the first that it is used for]",
)
@click.option("--single-use", is_flag=True, help="Good for one certificate.")
@click.option(
    "--print-register-command",
    is_flag=True,
    expose_value=False,
    help="As with karmadactl; here the command is printed in any case.",
)
@operator_options
@click.pass_obj
def create(
    settings: Settings,
    ttl: float,
    description: str,
    cluster: str,
    single_use: bool,
    kubeconfig: Path | None,
    context: str,
) -> None:
    """Make a token, and print the command that a cluster registers with. It is good for the agent of one cluster."""
    from kubeapi.loop import SystemClock
    from leeward.app.bootstrap_tokens import create_token
    from leeward.app.cluster_info import hashes_of

    connection = target_of(settings, kubeconfig, context).connection
    client = client_of(connection)
    expires_at = SystemClock().now() + timedelta(seconds=ttl) if ttl else None

    async def create_and_tell() -> None:
        made = await create_token(client, expires_at, description, cluster, single_use=single_use)
        known_by = [f" --discovery-token-ca-cert-hash {ca}" for ca in hashes_of(connection.certificate_authority)[:1]]
        name = f"--cluster-name {cluster or 'NAME'}"
        say(f"leeward register {connection.server} --token {made}{''.join(known_by)} {name}")
        if not made.expires_at:
            say(f"warning: this token never ends: `leeward token delete {made.id}` when it has been used", err=True)

    carry_out(create_and_tell(), client)


@token.command(name="list")
@operator_options
@click.pass_obj
def list_all(settings: Settings, kubeconfig: Path | None, context: str) -> None:
    """List the tokens, without their secret halves."""
    from leeward.app.bootstrap_tokens import list_tokens

    client = client_of(target_of(settings, kubeconfig, context).connection)

    async def tell() -> None:
        found = await list_tokens(client)
        rows = [(token.id, token.expires_at or "never", token.cluster or "any", token.description) for token in found]
        say(render_table(("TOKEN", "EXPIRES", "CLUSTER", "DESCRIPTION"), rows))

    carry_out(tell(), client)


@token.command()
@click.argument("token")
@operator_options
@click.pass_obj
def delete(settings: Settings, token: str, kubeconfig: Path | None, context: str) -> None:
    """Delete a token; its first half is enough to name it."""
    from leeward.app.bootstrap_tokens import delete_token

    client = client_of(target_of(settings, kubeconfig, context).connection)
    carry_out(delete_token(client, token), client)
    say(f"token {token.partition('.')[0]} deleted")
