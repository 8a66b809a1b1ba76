"""`kubeserver`: the API server alone, in the foreground; its options are those of kube-apiserver."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from kubeapi.process import log_to_stderr, serve

if TYPE_CHECKING:
    from kubeserver.standalone import ApiServerConfig

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_MEGABYTE = 1024 * 1024

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class LongerThanZero(click.ParamType[float]):
    """Go's form, `1h30m`, in seconds."""

    name = "duration"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        from kubeserver.serialization.durations import parse_duration

        try:
            seconds = value if isinstance(value, float) else parse_duration(str(value))
        except ValueError as error:
            self.fail(f"{error}: write 30m or 1h", param, ctx)
        if seconds <= 0:
            self.fail("it must be longer than 0s", param, ctx)
        return seconds


_OPTIONS = (
    click.option("--bind-address", default="127.0.0.1", show_default=True, help="Address to listen on."),
    click.option(
        "--secure-port", type=click.IntRange(1, 65535), default=6443, show_default=True, help="Port to listen on."
    ),
    click.option("--token-auth-file", type=_FILE, help='Who is who: lines of `token,user,uid,"group1,group2"`.'),
    click.option("--tls-cert-file", type=_FILE, help="Certificate to show.  [default: one of its own]"),
    click.option("--tls-private-key-file", type=_FILE, help="The key of that certificate."),
    click.option("--client-ca-file", type=_FILE, help="Clients with a certificate of this authority are known by it."),
    click.option(
        "--event-ttl", type=LongerThanZero(), default="1h", show_default=True, help="How long events are kept."
    ),
    click.option(
        "--initializing-storage",
        type=LongerThanZero(),
        help="For tests of clients: put off the objects of a new definition for so long (429), as Kubernetes 1.34 does."
        "  [default: never]",
    ),
    click.option(
        "--audit-log-path", default="", metavar="FILE", help='Who asked for what, one line each; "-" is stdout.'
    ),
    click.option(
        "--audit-log-maxsize", type=click.IntRange(1), default=50, show_default=True, help="MB in one file of it."
    ),
    click.option(
        "--audit-log-maxbackup", type=click.IntRange(1), default=1, show_default=True, help="Full files kept."
    ),
)


def serving_options(command: Decorated) -> Decorated:
    """The options that `config_of` reads."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def config_of(
    data_dir: Path,
    *,
    bind_address: str,
    secure_port: int,
    token_auth_file: Path | None,
    tls_cert_file: Path | None,
    tls_private_key_file: Path | None,
    client_ca_file: Path | None,
    event_ttl: float,
    initializing_storage: float | None,
    audit_log_path: str,
    audit_log_maxsize: int,
    audit_log_maxbackup: int,
    controllers: bool = False,
) -> "ApiServerConfig":
    """Raises: UsageError for options that do not go together."""
    if (tls_cert_file is None) != (tls_private_key_file is None):
        raise click.UsageError("--tls-cert-file and --tls-private-key-file go together")
    from kubeserver.standalone import ApiServerConfig, AuditLog

    audit_file = None if audit_log_path == "-" else Path(audit_log_path).expanduser().absolute()
    audit_log = AuditLog(audit_file, audit_log_maxsize * _MEGABYTE, audit_log_maxbackup)
    return ApiServerConfig(
        data_dir=data_dir.expanduser().absolute(),
        address=bind_address,
        port=secure_port,
        token_auth_file=token_auth_file,
        tls_cert_file=tls_cert_file,
        tls_private_key_file=tls_private_key_file,
        client_ca_file=client_ca_file,
        event_ttl_seconds=event_ttl,
        initializing_seconds=initializing_storage or 0.0,
        audit_log=audit_log if audit_log_path else None,
        controllers=controllers,
    )


def run(config: "ApiServerConfig") -> None:
    """Serves until a signal ends it."""
    from kubeserver.standalone import run_apiserver

    log_to_stderr()
    serve(run_apiserver(config), "apiserver")


@click.command()
@click.option(
    "--data-dir",
    type=click.Path(file_okay=False, path_type=Path),
    required=True,
    help="Where objects, keys and the server's own certificate are kept.",
)
@click.option(
    "--controllers", is_flag=True, help="Empty namespaces, collect garbage and aggregate roles, as a cluster does."
)
@serving_options
def main(data_dir: Path, **options: Any) -> None:
    """A Kubernetes API server in one process: no cluster, no etcd, no containers.

    It serves HTTPS until it is ended. Without a certificate it makes its own, of the authority in
    DATA-DIR/pki/ca.crt.
    """
    run(config_of(data_dir, **options))
