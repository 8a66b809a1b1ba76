"""The rules of what belongs to a whole cluster: Namespaces, Nodes, volumes and classes."""

from collections.abc import Iterator
from typing import Any

from kubeapi.diff import is_equal
from kubeapi.meta import Manifest
from kubeapi.status import Problem
from kubeserver.kinds.pod_rules.texts import named, network, one_of
from kubeserver.names import label_value, qualified_name
from kubeserver.values import entries, section, texts

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_VOLUME_FIELDS = (
    "accessModes", "capacity", "claimRef", "mountOptions", "nodeAffinity", "persistentVolumeReclaimPolicy",
    "storageClassName", "volumeAttributesClassName", "volumeMode",
)  # fmt: skip
_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_MAX_USER_PRIORITY = 1_000_000_000
_SYSTEM_CLASSES = ("system-cluster-critical", "system-node-critical")


def validate_namespace(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    del old
    said = "name is neither a standard finalizer name nor is it fully qualified"
    problems: list[Problem] = []
    for finalizer in texts(section(manifest, "spec"), "finalizers"):
        problems += named(qualified_name, finalizer, "spec.finalizers")
        if "/" not in finalizer and finalizer != "kubernetes":
            problems.append(Problem.invalid("spec.finalizers", finalizer, said))
    return problems


def validate_namespace_status(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    del old
    phase = section(manifest, "status").get("phase")
    leaving = "deletionTimestamp" in manifest["metadata"]
    if leaving and phase != "Terminating":
        return [Problem.invalid("status.Phase", phase, "may only be 'Terminating' if `deletionTimestamp` is not empty")]
    if not leaving and phase != "Active":
        return [Problem.invalid("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty")]
    return []


def validate_node(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    del old
    spec = section(manifest, "spec")
    return [*_taint_problems(entries(spec, "taints")), *_range_problems(spec)]


def _taint_problems(taints: list[dict[str, Any]]) -> Iterator[Problem]:
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(taints):
        where, key, effect = f"metadata.taints[{index}]", taint.get("key", ""), taint.get("effect", "")
        yield from named(qualified_name, key, f"{where}.key")
        yield from named(label_value, taint.get("value", ""), f"{where}.value")
        yield from one_of(effect, _EFFECTS, f"{where}.effect")
        if (key, effect) in seen:
            shown = f'{{"Key":"{key}","Value":"{taint.get("value", "")}","Effect":"{effect}","TimeAdded":null}}'
            said = f"Duplicate value: {shown}: taints must be unique by key and effect pair"
            yield Problem(where, "FieldValueDuplicate", said)
        seen.add((key, effect))


def _range_problems(spec: dict[str, Any]) -> Iterator[Problem]:
    ranges = texts(spec, "podCIDRs") or ([spec["podCIDR"]] if spec.get("podCIDR") else [])
    for index, text in enumerate(ranges):
        yield from network(text, f"spec.podCIDRs[{index}]")


def validate_volume(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    spec = section(manifest, "spec")
    problems: list[Problem] = []
    if not spec.get("accessModes"):
        problems.append(Problem.required("spec.accessModes"))
    for mode in texts(spec, "accessModes"):
        problems += one_of(mode, _ACCESS_MODES, "spec.accessModes")
    if not spec.get("capacity"):
        problems.append(Problem.required("spec.capacity"))
    if "storage" not in section(spec, "capacity"):
        problems.append(Problem.not_supported("spec.capacity", spec.get("capacity"), ("storage",)))
    sources = sorted(name for name in spec if name not in _VOLUME_FIELDS)
    if not sources:
        problems.append(Problem.required("spec", "must specify a volume type"))
    said = "may not specify more than 1 volume type"
    problems += [Problem.forbidden(f"spec.{name}", said) for name in sources[1:]]
    policies, where = ("Delete", "Recycle", "Retain"), "spec.persistentVolumeReclaimPolicy"
    problems += one_of(spec.get("persistentVolumeReclaimPolicy"), policies, where)
    before = section(old or {}, "spec")
    if old is not None and any(not is_equal(spec.get(name), before.get(name)) for name in sources):
        said = "spec.persistentvolumesource is immutable after creation"
        problems.append(Problem.forbidden("spec.persistentvolumesource", said))
    return problems


def validate_storage_class(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    problems = [] if manifest.get("provisioner") else [Problem.required("provisioner")]
    problems += one_of(manifest.get("reclaimPolicy"), ("Delete", "Retain"), "reclaimPolicy")
    modes = ("Immediate", "WaitForFirstConsumer")
    problems += one_of(manifest.get("volumeBindingMode"), modes, "volumeBindingMode")
    for field in ("parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"):
        if old is not None and not is_equal(manifest.get(field), old.get(field)):
            problems.append(Problem.forbidden(field, f"updates to {field} are forbidden."))
    return problems


def validate_priority_class(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    name, value = manifest["metadata"].get("name", ""), manifest.get("value", 0)
    problems: list[Problem] = []
    if name.startswith("system-") and name not in _SYSTEM_CLASSES:
        said = (
            "priority class names with 'system-' prefix are reserved for system use only. error: "
            f"{name} is not a known system priority class"
        )
        problems.append(Problem.forbidden("metadata.name", said))
    elif value > _MAX_USER_PRIORITY and name not in _SYSTEM_CLASSES:
        said = f"maximum allowed value of a user defined priority is {_MAX_USER_PRIORITY}"
        problems.append(Problem.forbidden("value", said))
    policies = ("PreemptLowerPriority", "Never")
    problems += one_of(manifest.get("preemptionPolicy"), policies, "preemptionPolicy")
    if old is not None and value != old.get("value", 0):
        problems.append(Problem.forbidden("value", "may not be changed in an update."))
    if old is not None and manifest.get("preemptionPolicy") != old.get("preemptionPolicy"):
        said = "field is immutable"
        problems.append(Problem.invalid("preemptionPolicy", manifest.get("preemptionPolicy"), said))
    return problems
