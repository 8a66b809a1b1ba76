"""`metrics.k8s.io` of a local member, for `kubectl top` and for autoscalers of others.

The same figures as the member's own autoscalers scale on (`rules/usage`); nothing is measured. What is missing is told
as metrics-server tells it.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal

from kubeapi.meta import Manifest, format_time
from kubecluster.platform import Platform
from kubecluster.pod_usage import PodUsage
from kubecluster.rules.pods import node_of
from kubecluster.rules.usage import amount_text, container_usage
from kubeserver import errors
from kubeserver.handlers.server import ApiServer
from kubeserver.kinds.kind import Kind

GROUP, VERSION = "metrics.k8s.io", "v1beta1"
POD_METRICS = Kind(GROUP, VERSION, "PodMetrics", "pods", True, derived=True)
NODE_METRICS = Kind(GROUP, VERSION, "NodeMetrics", "nodes", False, derived=True)
WINDOW = "10s"
_KUBELET_USAGE = {"cpu": Decimal("0.05"), "memory": Decimal(256 * 1024 * 1024)}
"""Amounts that a node uses for itself."""


class MetricsApi:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._usage = PodUsage(platform)

    def serve(self, api_server: ApiServer) -> None:
        api_server.derive(POD_METRICS, self.pods, self._missing_pod)
        api_server.derive(NODE_METRICS, self.nodes, self._missing_node)

    def pods(self) -> Iterator[Manifest]:
        """Metrics of the Pods that are ready."""
        for pod, usage in self._usage.of(self._platform.pods.list()):
            containers = [{"name": name, "usage": _shown(part)} for name, part in container_usage(pod, usage)]
            metadata = {key: pod["metadata"][key] for key in ("name", "namespace", "labels") if key in pod["metadata"]}
            yield {**self._head("PodMetrics", metadata), "containers": containers}

    def nodes(self) -> Iterator[Manifest]:
        total: dict[str, dict[str, Decimal]] = {}
        for pod, usage in self._usage.of(self._platform.pods.list()):
            amounts = total.setdefault(node_of(pod), dict(_KUBELET_USAGE))
            for name, amount in usage.items():
                amounts[name] += amount
        for node in self._platform.nodes.list():
            name = node["metadata"]["name"]
            metadata = {"name": name, "labels": node["metadata"].get("labels", {})}
            yield {**self._head("NodeMetrics", metadata), "usage": _shown(total.get(name, _KUBELET_USAGE))}

    def _missing_pod(self, namespace: str, name: str) -> errors.Refused:
        """Refusal in the words of metrics-server: either the Pod is not there, or its metrics are not."""
        if self._platform.pods.get(name, namespace) is None:
            return errors.not_found("", "pods", name)
        return errors.not_found(GROUP, "podmetrics", f"{namespace}/{name}")

    def _missing_node(self, _: str, name: str) -> errors.Refused:
        return errors.not_found("", "nodes", name)

    def _head(self, kind: str, metadata: Mapping[str, object]) -> Manifest:
        now = format_time(self._platform.clock.now())
        return {
            "apiVersion": f"{GROUP}/{VERSION}",
            "kind": kind,
            "metadata": {**metadata, "creationTimestamp": now},
            "timestamp": now,
            "window": WINDOW,
        }


def _shown(usage: Mapping[str, Decimal]) -> dict[str, str]:
    return {name: amount_text(name, amount) for name, amount in usage.items()}
