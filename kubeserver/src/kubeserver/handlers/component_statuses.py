"""ComponentStatuses: made when they are asked for, of what this server knows about: its store.

Kubernetes: pkg/registry/core/componentstatus, where they also tell of a scheduler and of a controller manager, which
are not this server's business.
"""

from collections.abc import Iterator

from kubeapi.meta import Manifest
from kubeserver.store import Store

STORE = "etcd-0"
"""Name by which kube-apiserver calls its own store."""


def component_statuses(store: Store) -> Iterator[Manifest]:
    failure = store.failure
    condition = {"type": "Healthy", "status": "False" if failure else "True", "message": failure or "ok"}
    said = {"error": failure} if failure else {}
    yield {
        "kind": "ComponentStatus",
        "apiVersion": "v1",
        "metadata": {"name": STORE, "resourceVersion": ""},
        "conditions": [{**condition, **said}],
    }
