"""Reading Cluster objects as the control plane serves them, without decoding all of them."""

from kubeapi.meta import Manifest


def name_of(manifest: Manifest) -> str:
    return manifest["metadata"]["name"]


def is_ready(cluster: Manifest) -> bool:
    return (ready_condition(cluster) or {}).get("status") == "True"


def ready_condition(cluster: Manifest) -> Manifest | None:
    conditions = cluster.get("status", {}).get("conditions", [])
    return next((condition for condition in conditions if condition["type"] == "Ready"), None)
