"""`leeward apiserver`: the API server alone, in the foreground; its options are those of kube-apiserver."""

from pathlib import Path

import click

from leeward.cli.parameters import Duration
from leeward.cli.serving import log_to_stderr, serve
from leeward.cli.settings import Settings

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.option(
    "--secure-port", type=click.IntRange(1, 65535), default=6443, show_default=True, help="Port to listen on."
)
@click.option("--token-auth-file", type=_FILE, help='Who is who: lines of `token,user,uid,"group1,group2"`.')
@click.option("--tls-cert-file", type=_FILE, help="Certificate to show.  [default: one of its own]")
@click.option("--tls-private-key-file", type=_FILE, help="The key of that certificate.")
@click.option("--client-ca-file", type=_FILE, help="Clients with a certificate of this authority are known by it.")
@click.option("--event-ttl", type=Duration(), default="1h", show_default=True, help="How long events are kept.")
@click.option("--audit-log-path", default="", metavar="FILE", help='Who asked for what, one line each; "-" is stdout.')
@click.option(
    "--audit-log-maxsize", type=click.IntRange(1), default=50, show_default=True, help="MB in one file of it."
)
@click.option("--audit-log-maxbackup", type=click.IntRange(1), default=1, show_default=True, help="Full files kept.")
@click.pass_obj
def apiserver(
    settings: Settings,
    secure_port: int,
    token_auth_file: Path | None,
    tls_cert_file: Path | None,
    tls_private_key_file: Path | None,
    client_ca_file: Path | None,
    event_ttl: float,
    audit_log_path: str,
    audit_log_maxsize: int,
    audit_log_maxbackup: int,
) -> None:
    """Run the API server alone, in the foreground."""
    if not settings.data_dir:
        raise click.UsageError("--data-dir is missing: where the server keeps its objects")
    if (tls_cert_file is None) != (tls_private_key_file is None):
        raise click.UsageError("--tls-cert-file and --tls-private-key-file go together")
    from leeward.app.apiserver import ApiServerConfig, AuditLog, run_apiserver

    log_to_stderr()
    audit_file = None if audit_log_path == "-" else Path(audit_log_path).expanduser().absolute()
    audit_log = AuditLog(audit_file, audit_log_maxsize * 1024 * 1024, audit_log_maxbackup)
    config = ApiServerConfig(
        data_dir=Path(settings.data_dir).expanduser().absolute(),
        port=secure_port,
        token_auth_file=token_auth_file,
        tls_cert_file=tls_cert_file,
        tls_private_key_file=tls_private_key_file,
        client_ca_file=client_ca_file,
        event_ttl_seconds=event_ttl,
        audit_log=audit_log if audit_log_path else None,
    )
    serve(run_apiserver(config), "apiserver")
