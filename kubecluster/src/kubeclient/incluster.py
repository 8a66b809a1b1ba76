"""The connection that a Pod is given to the API server of its own cluster: its service account."""

from collections.abc import Mapping
from pathlib import Path

from kubeclient.connection import Connection
from kubeclient.kubeconfig import KubeconfigError

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


def load_in_cluster(environment: Mapping[str, str], directory: Path = SERVICE_ACCOUNT) -> Connection:
    """Raises: KubeconfigError when this is no Pod, or it has no service account.

    The token is read again before it expires, as tokens of a `Connection` are.
    """
    host, port = environment.get("KUBERNETES_SERVICE_HOST"), environment.get("KUBERNETES_SERVICE_PORT")
    if not host or not port:
        raise KubeconfigError("--kubeconfig: is not given, and this is no Pod: name the control plane's kubeconfig")
    token, authority = directory / "token", directory / "ca.crt"
    for path in (token, authority):
        if not path.is_file():
            raise KubeconfigError(f"{path}: is missing: mount the service account's token, or give --kubeconfig")
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    return Connection(server=server, certificate_authority=authority.read_bytes(), token_file=token)
