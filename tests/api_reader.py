"""Reads single objects of an API server, as `kubectl get KIND NAME -o json` does, without a process for each look.

What a user types goes through the real kubectl. Whether something has come about is asked again and again, and a
process for each time cost more than the servers that are asked.
"""

import http.client
import ssl
from pathlib import Path
from urllib.parse import urlsplit

from kubeclient import kubeconfig
from kubeclient.connection import Connection, ssl_context_of

DEADLINE_SECONDS = 60.0
"""Deadline of one request: ends what would hang."""
_PATHS = {
    "cluster": "/apis/cluster.karmada.io/v1alpha1/clusters",
    "configmap": "/api/v1/namespaces/{namespace}/configmaps",
    "deployment": "/apis/apps/v1/namespaces/{namespace}/deployments",
    "job": "/apis/batch/v1/namespaces/{namespace}/jobs",
    "lease": "/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases",
    "namespace": "/api/v1/namespaces",
    "resourcebinding": "/apis/work.karmada.io/v1alpha2/namespaces/{namespace}/resourcebindings",
    "service": "/api/v1/namespaces/{namespace}/services",
    "work": "/apis/work.karmada.io/v1alpha1/namespaces/{namespace}/works",
}


class ApiReader:
    """Reader with the identities of one kubeconfig, which may be written anew at any time."""

    def __init__(self, kubeconfig: Path) -> None:
        self._kubeconfig = kubeconfig
        self._known: dict[str, tuple[int, Connection, ssl.SSLContext]] = {}

    def read(self, context: str, arguments: tuple[str, ...]) -> tuple[int, bytes] | None:
        """The code and the body of the answer; None for what only kubectl can ask. Raises: OSError, HTTPException."""
        if len(arguments) not in (2, 4) or arguments[0] not in _PATHS or arguments[1].startswith("-"):
            return None
        if len(arguments) == 4 and arguments[2] != "-n":
            return None
        connection, tls = self._connection(context)
        namespace = arguments[3] if len(arguments) == 4 else connection.namespace or "default"
        address = urlsplit(connection.server)
        assert address.hostname is not None
        headers = {"Authorization": f"Bearer {connection.token}"} if connection.token else {}
        server = http.client.HTTPSConnection(address.hostname, address.port, timeout=DEADLINE_SECONDS, context=tls)
        try:
            path = f"{address.path}{_PATHS[arguments[0]].format(namespace=namespace)}/{arguments[1]}"
            server.request("GET", path, headers=headers)
            answer = server.getresponse()
            return answer.status, answer.read()
        finally:
            server.close()

    def _connection(self, context: str) -> tuple[Connection, ssl.SSLContext]:
        written = self._kubeconfig.stat().st_mtime_ns
        known = self._known.get(context)
        if known is None or known[0] != written:
            connection = kubeconfig.load(self._kubeconfig, context)
            known = self._known[context] = (written, connection, ssl_context_of(connection))
        return known[1:]
