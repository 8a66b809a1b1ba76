"""Objects that are stored and cannot be read as our types: which, why, what that costs, and the way out.

A definition of an older or a newer Karmada lets pass what our types refuse, and an API server of others may keep
anything. Such an object is not absent (S5): what was known of it stays, and nothing new is decided about it. So each is
named, by an event, by a metric, by `leeward status` and by the plan of a switch.
"""

from typing import Any

import msgspec

from kubeapi.meta import ReadOnlyManifest
from kubeapi.resource import Resource
from kubeapi.untrusted import mapping_in
from leeward.api.validation import problem_of_reading

_COSTS = {
    "ResourceBinding": "nothing is placed, moved or failed over for it",
    "ClusterResourceBinding": "nothing is placed, moved or failed over for it",
    "PropagationPolicy": "what it has placed stays as it was placed last",
    "ClusterPropagationPolicy": "what it has placed stays as it was placed last",
    "OverridePolicy": "what it may select is not made anew",
    "ClusterOverridePolicy": "what it may select is not made anew",
    "Work": "its cluster keeps what it has",
    "Cluster": "nothing new is placed there, and nothing is known of its health",
    "FederatedResourceQuota": "it is not counted",
    "WorkloadRebalancer": "it is not carried out",
    "ClusterTaintPolicy": "it sets no taint and takes none away",
}


class UnreadableObject(msgspec.Struct, frozen=True, rename="camel"):
    """`field` is where it cannot be read, `why` says what is wrong there, `next` is a command."""

    kind: str
    namespace: str
    name: str
    field: str
    why: str
    next: str

    @property
    def about(self) -> str:
        return "/".join(filter(None, (self.kind.lower(), self.namespace, self.name)))

    @property
    def reason(self) -> str:
        """`spec.x: Unsupported value: "y": ...: nothing is placed, moved or failed over for it`."""
        said = ": ".join(filter(None, (self.field, self.why)))
        return f"{said}; until it is mended {_COSTS.get(self.kind, 'it is left out')}"

    @property
    def sentence(self) -> str:
        name = "/".join(filter(None, (self.namespace, self.name)))
        return f"{self.kind} {name} cannot be read: {self.reason}"


def unreadable_object(manifest: ReadOnlyManifest, resource: Resource[Any]) -> UnreadableObject | None:
    """Description of the object where it cannot be read as the kind's type; None where it can."""
    problem = problem_of_reading(manifest, resource.object_type)
    if problem is None:
        return None
    given = mapping_in(manifest, "metadata")
    namespace, name = str(given.get("namespace") or ""), str(given.get("name") or "")
    where = f" -n {namespace}" if namespace else ""
    next = f"kubectl edit {resource.plural}.{resource.group} {name}{where}"
    return UnreadableObject(resource.kind, namespace, name, problem.field, problem.message, next)
