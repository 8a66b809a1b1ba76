"""Resources that others live in: taints never evict them, unless their policy says so.

Deleting a CustomResourceDefinition deletes every custom resource of it, deleting a Namespace everything in it, and
deleting a volume or its claim the data; a cluster that was away for a while has lost none of that.

Holds: S12. Karmada evicts them like anything else.
"""

from leeward.api.names import EVICT_SHARED_ANNOTATION
from leeward.api.work import Binding

SHARED_KINDS = frozenset(
    {
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("", "Namespace"),
        ("", "PersistentVolume"),
        ("", "PersistentVolumeClaim"),
    }
)
"""API group and kind."""


def stays_under_taints(binding: Binding) -> bool:
    """Tells whether no taint evicts what this binding is for."""
    resource = binding.spec.resource
    group = resource.api_version.rpartition("/")[0]
    is_released = binding.metadata.annotations.get(EVICT_SHARED_ANNOTATION) == "true"
    return (group, resource.kind) in SHARED_KINDS and not is_released
