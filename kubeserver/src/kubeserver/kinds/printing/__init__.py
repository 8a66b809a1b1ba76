"""The columns that kubectl shows for built-in kinds, where they are more than a field: a room for each group."""

from kubeserver.kinds.printing.cluster import (
    BINDINGS,
    EVENTS,
    LEASES,
    NAMESPACES,
    NEW_EVENTS,
    NODES,
    PRIORITY_CLASSES,
    SERVICE_ACCOUNTS,
)
from kubeserver.kinds.printing.network import ENDPOINT_SLICES, ENDPOINTS, INGRESSES, POLICIES, SERVICES
from kubeserver.kinds.printing.storage import CLAIMS, CONFIG_MAPS, SECRETS, STORAGE_CLASSES, VOLUMES
from kubeserver.kinds.printing.workloads import (
    AUTOSCALERS,
    BUDGETS,
    CRON_JOBS,
    DAEMON_SETS,
    DEPLOYMENTS,
    JOBS,
    PODS,
    REPLICA_SETS,
    STATEFUL_SETS,
    pod_conclusion,
)

__all__ = [
    "AUTOSCALERS",
    "BINDINGS",
    "BUDGETS",
    "CLAIMS",
    "CONFIG_MAPS",
    "CRON_JOBS",
    "DAEMON_SETS",
    "DEPLOYMENTS",
    "ENDPOINTS",
    "ENDPOINT_SLICES",
    "EVENTS",
    "INGRESSES",
    "JOBS",
    "LEASES",
    "NAMESPACES",
    "NEW_EVENTS",
    "NODES",
    "PODS",
    "POLICIES",
    "PRIORITY_CLASSES",
    "REPLICA_SETS",
    "SECRETS",
    "SERVICES",
    "SERVICE_ACCOUNTS",
    "STATEFUL_SETS",
    "STORAGE_CLASSES",
    "VOLUMES",
    "pod_conclusion",
]
