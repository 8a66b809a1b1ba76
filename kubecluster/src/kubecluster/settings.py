"""Settings of a simulated cluster: how big it is, and how fast its Pods start."""

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field

from kubeapi.quantity import parse_quantity
from kubecluster.rules.node import MAX_NODES


@dataclass(frozen=True)
class WorkloadSettings:
    """All nodes are alike. Raises: ValueError that names the setting."""

    nodes: int = 2
    node_cpu: str = "16"
    node_memory: str = "64Gi"
    node_ephemeral_storage: str = "100Gi"
    node_pods: str = "110"
    node_others: Mapping[str, str] = field(default_factory=dict[str, str])
    """Amounts of other resources, by name."""
    pod_startup_seconds: float = 2.0
    load_balancers: bool = True
    load_balancer_cidr: str = "172.24.0.0/24"
    root_certificates: str = "# This API server has no certificate.\n"
    """Certificates, in PEM, of who has signed the API server's own. Where it is empty, none are published."""

    def __post_init__(self) -> None:
        if not 0 <= self.nodes <= MAX_NODES:
            raise ValueError(f"nodes: is {self.nodes}; give a number from 0 to {MAX_NODES}")
        if self.pod_startup_seconds < 0:
            raise ValueError(f"pod_startup_seconds: is {self.pod_startup_seconds}; give 0 or more")
        try:
            ipaddress.ip_network(self.load_balancer_cidr)
        except ValueError as error:
            raise ValueError(f"load_balancer_cidr: {error}; give a network such as 172.24.0.0/24") from error
        for name in ("node_cpu", "node_memory", "node_ephemeral_storage", "node_pods"):
            _check_quantity(name, getattr(self, name))

    @property
    def node_capacity(self) -> Mapping[str, str]:
        return {
            "cpu": self.node_cpu,
            "memory": self.node_memory,
            "ephemeral-storage": self.node_ephemeral_storage,
            "pods": self.node_pods,
            **self.node_others,
        }


def _check_quantity(name: str, quantity: str) -> None:
    try:
        amount = parse_quantity(quantity)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    if amount < 0:
        raise ValueError(f"{name}: is {quantity}; give 0 or more")
