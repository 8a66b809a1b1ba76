"""Kinds that a cluster runs, and where they live; all of them as plain manifests."""

from kubeapi.resource import Resource

NODES = Resource.of_manifests("v1", "nodes", "Node", namespaced=False)
PODS = Resource.of_manifests("v1", "pods", "Pod", namespaced=True)
DEPLOYMENTS = Resource.of_manifests("apps/v1", "deployments", "Deployment", namespaced=True)
REPLICA_SETS = Resource.of_manifests("apps/v1", "replicasets", "ReplicaSet", namespaced=True)
STATEFUL_SETS = Resource.of_manifests("apps/v1", "statefulsets", "StatefulSet", namespaced=True)
DAEMON_SETS = Resource.of_manifests("apps/v1", "daemonsets", "DaemonSet", namespaced=True)
JOBS = Resource.of_manifests("batch/v1", "jobs", "Job", namespaced=True)
BUDGETS = Resource.of_manifests("policy/v1", "poddisruptionbudgets", "PodDisruptionBudget", namespaced=True)
CORE_NAMESPACES = Resource.of_manifests("v1", "namespaces", "Namespace", namespaced=False)
SERVICE_ACCOUNTS = Resource.of_manifests("v1", "serviceaccounts", "ServiceAccount", namespaced=True)
CONFIG_MAPS = Resource.of_manifests("v1", "configmaps", "ConfigMap", namespaced=True)
SECRETS = Resource.of_manifests("v1", "secrets", "Secret", namespaced=True)
CLAIMS = Resource.of_manifests("v1", "persistentvolumeclaims", "PersistentVolumeClaim", namespaced=True)
VOLUMES = Resource.of_manifests("v1", "persistentvolumes", "PersistentVolume", namespaced=False)
STORAGE_CLASSES = Resource.of_manifests("storage.k8s.io/v1", "storageclasses", "StorageClass", namespaced=False)
REPLICATION_CONTROLLERS = Resource.of_manifests(
    "v1", "replicationcontrollers", "ReplicationController", namespaced=True
)
CRON_JOBS = Resource.of_manifests("batch/v1", "cronjobs", "CronJob", namespaced=True)
AUTOSCALERS = Resource.of_manifests(
    "autoscaling/v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", namespaced=True
)
SERVICES = Resource.of_manifests("v1", "services", "Service", namespaced=True)
INGRESSES = Resource.of_manifests("networking.k8s.io/v1", "ingresses", "Ingress", namespaced=True)
RESOURCE_QUOTAS = Resource.of_manifests("v1", "resourcequotas", "ResourceQuota", namespaced=True)
QUIET_KINDS = frozenset(
    (
        *(CORE_NAMESPACES, SERVICE_ACCOUNTS, CONFIG_MAPS, SECRETS, CLAIMS, VOLUMES, STORAGE_CLASSES),
        *(
            REPLICATION_CONTROLLERS,
            CRON_JOBS,
            AUTOSCALERS,
            SERVICES,
            INGRESSES,
            BUDGETS,
            DAEMON_SETS,
            STATEFUL_SETS,
            JOBS,
            RESOURCE_QUOTAS,
        ),
    )
)
"""Most clusters have none of them, or few that hardly change: following them is to cost nothing."""
