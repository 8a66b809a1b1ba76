"""The classes that a Pod names: its priority comes from one, its overhead and its nodes from the other.

Only at birth: what a Pod has then it keeps, whatever becomes of its classes.

Kubernetes: plugin/pkg/admission/priority, plugin/pkg/admission/runtimeclass; the same refusals. A Pod of a class that
is not there cannot run anywhere, so it is not taken.
"""

from collections.abc import Mapping
from typing import Any

from kubeapi import codec
from kubeapi.diff import is_equal, is_one_of
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeserver.admission import AdmissionReview, Rejected
from kubeserver.store import Store
from kubeserver.values import entries, section

PRIORITY_CLASSES = "/scheduling.k8s.io/priorityclasses/"
RUNTIME_CLASSES = "/node.k8s.io/runtimeclasses/"
_NO_CLASS: Mapping[str, Any] = {"metadata": {"name": ""}, "value": 0, "preemptionPolicy": "PreemptLowerPriority"}
_COMPUTED = "must not be provided in pod spec; priority admission controller computed"


class PodClasses:
    """An `Admission`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def admit(self, review: AdmissionReview) -> Manifest:
        group, plural = review.kind.group, review.kind.plural
        if review.subresource or review.operation not in ("CREATE", "UPDATE"):
            return review.object
        if (group, plural) == ("scheduling.k8s.io", "priorityclasses"):
            self._check_only_default(review.object)
        if (group, plural) != ("", "pods"):
            return review.object
        old = review.old_object
        return self._completed(review.object) if old is None else _kept(review.object, section(old, "spec"))

    def _completed(self, pod: Manifest) -> Manifest:
        spec = dict(section(pod, "spec"))
        spec = _prioritized(spec, self._priority_class(spec.get("priorityClassName", "")))
        return {**pod, "spec": _run_by(spec, self._runtime_class(spec.get("runtimeClassName", "")))}

    def _priority_class(self, name: str) -> Mapping[str, Any]:
        """Raises: Rejected for a name that is not known."""
        if not name:
            return self._default_class() or _NO_CLASS
        record = self._store.head(f"{PRIORITY_CLASSES}/{name}")
        if record is None:
            raise Rejected(f"no PriorityClass with name {name} was found")
        return codec.decode_manifest(record.value)

    def _default_class(self) -> ReadOnlyManifest | None:
        """Default class; of several the one with the lowest value."""
        known = (codec.decode_manifest(record.value) for record in self._store.list(PRIORITY_CLASSES).records)
        defaults = [found for found in known if found.get("globalDefault")]
        return min(defaults, key=lambda found: found.get("value", 0)) if defaults else None

    def _check_only_default(self, wanted: Manifest) -> None:
        there = self._default_class() if wanted.get("globalDefault") else None
        if there is not None and there["metadata"]["name"] != wanted["metadata"].get("name"):
            name = there["metadata"]["name"]
            raise Rejected(f"PriorityClass {name} is already marked as default. Only one default can exist")

    def _runtime_class(self, name: str) -> Mapping[str, Any] | None:
        record = self._store.head(f"{RUNTIME_CLASSES}/{name}") if name else None
        if name and record is None:
            raise Rejected(f'pod rejected: RuntimeClass "{name}" not found')
        return codec.decode_manifest(record.value) if record is not None else None


def _kept(pod: Manifest, before: Mapping[str, Any]) -> Manifest:
    """Pod with the priority that it had: who replaces a Pod and says nothing of its priority does not mean to change
    it."""
    missing = {key: before[key] for key in ("priority", "preemptionPolicy") if key in before and key not in pod["spec"]}
    return {**pod, "spec": {**pod["spec"], **missing}} if missing else pod


def _prioritized(spec: dict[str, Any], named: Mapping[str, Any]) -> dict[str, Any]:
    value, policy = named.get("value", 0), named.get("preemptionPolicy")
    if spec.get("priority", value) != value:
        said = f"the integer value of priority ({spec['priority']}) {_COMPUTED} {value}"
        raise Rejected(f"{said} from the given PriorityClass name")
    if policy and spec.get("preemptionPolicy", policy) != policy:
        said = f"the string value of PreemptionPolicy ({spec['preemptionPolicy']}) {_COMPUTED} {policy}"
        raise Rejected(f"{said} from the given PriorityClass name")
    name = named["metadata"]["name"]
    own = {"priority": value, **({"preemptionPolicy": policy} if policy else {})}
    return {**spec, **own, **({"priorityClassName": name} if name else {})}


def _run_by(spec: dict[str, Any], runtime: Mapping[str, Any] | None) -> dict[str, Any]:
    overhead = section(section(runtime or {}, "overhead"), "podFixed")
    if spec.get("overhead") and not overhead:
        raise Rejected("pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead")
    if not is_equal(spec.get("overhead", overhead), overhead):
        raise Rejected("pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead")
    scheduling = section(runtime or {}, "scheduling")
    selector = _on_nodes_of(section(spec, "nodeSelector"), section(scheduling, "nodeSelector"))
    own = entries(spec, "tolerations")
    tolerations = [*own, *(one for one in entries(scheduling, "tolerations") if not is_one_of(one, own))]
    found = {"overhead": overhead, "nodeSelector": selector, "tolerations": tolerations}
    return {**spec, **{key: value for key, value in found.items() if value}}


def _on_nodes_of(wanted: Mapping[str, str], offered: Mapping[str, str]) -> dict[str, str]:
    for key, value in offered.items():
        if wanted.get(key, value) != value:
            theirs = f"runtimeClass.scheduling.nodeSelector[{key}] = {value}"
            raise Rejected(f"conflict: {theirs}; pod.spec.nodeSelector[{key}] = {wanted[key]}")
    return {**wanted, **offered}
