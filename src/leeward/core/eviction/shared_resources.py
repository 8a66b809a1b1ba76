"""Resources that others live in. Taints never evict them, unless their policy says so. They stay in a cluster that
leaves, and orphans of these kinds go only where that is asked for.

Deleting a CustomResourceDefinition deletes every custom resource of it. Deleting a Namespace deletes everything in it,
and deleting a volume or its claim the data. A cluster that was away for a while has lost none of that.

Holds: S12. Karmada evicts them like anything else.
"""

from leeward.api.names import EVICT_SHARED_ANNOTATION
from leeward.api.work import Binding, Work

SHARED_KINDS = frozenset(
    {
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
        ("", "Namespace"),
        ("", "PersistentVolume"),
        ("", "PersistentVolumeClaim"),
    }
)
"""API group and kind."""


def is_shared(api_version: str, kind: str) -> bool:
    """Tells whether others may live in an object of this kind."""
    return (api_version.rpartition("/")[0], kind) in SHARED_KINDS


def has_shared(work: Work) -> bool:
    """Tells whether others may live in something that the Work has made."""
    return any(is_shared(each.get("apiVersion", ""), each.get("kind", "")) for each in work.spec.workload.manifests)


def stays_under_taints(binding: Binding) -> bool:
    """Tells whether no taint evicts this binding's object."""
    resource = binding.spec.resource
    return is_shared(resource.api_version, resource.kind) and not lets_shared_go(binding)


def lets_shared_go(binding: Binding) -> bool:
    """Tells whether its policy asks that shared resources go like anything else."""
    return binding.metadata.annotations.get(EVICT_SHARED_ANNOTATION) == "true"
