"""Warnings to the client about Pods, and about what makes Pods, that are taken and may not be what was meant.

Kubernetes: pkg/api/pod/warnings.go, cut down to what people write.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kubeapi.diff import is_equal
from kubeapi.meta import ReadOnlyManifest
from kubeapi.quantity import parse_quantity
from kubeserver.kinds.columns import at
from kubeserver.kinds.kind import Warnings
from kubeserver.names import dns_label
from kubeserver.values import entries, section

_RENAMED = {
    "beta.kubernetes.io/arch": ("v1.14", "kubernetes.io/arch"),
    "beta.kubernetes.io/os": ("v1.14", "kubernetes.io/os"),
    "failure-domain.beta.kubernetes.io/region": ("v1.17", "topology.kubernetes.io/region"),
    "failure-domain.beta.kubernetes.io/zone": ("v1.17", "topology.kubernetes.io/zone"),
    "beta.kubernetes.io/instance-type": ("v1.17", "node.kubernetes.io/instance-type"),
}
_BYTES = ("memory", "ephemeral-storage")


def template_warnings(path: str) -> Warnings:
    """Warnings of kinds that have a pod template under `path`, and Pods that are called after them."""

    def warnings(manifest: ReadOnlyManifest, old: ReadOnlyManifest | None) -> list[str]:
        template = at(manifest, path, {})
        named = _name_warnings(manifest, "is used in Pod names and hostnames") if old is None else ()
        if old is not None and is_equal(at(old, path, {}), template):
            return []
        return [*named, *_spec_warnings(section(template, "spec"), f"{path}.spec")]

    return warnings


def pod_warnings(manifest: ReadOnlyManifest, old: ReadOnlyManifest | None) -> list[str]:
    if old is not None:
        return []
    named = _name_warnings(manifest, "is used in the Pod's hostname")
    return [*named, *_spec_warnings(section(manifest, "spec"), "spec")]


def _name_warnings(manifest: ReadOnlyManifest, use: str) -> Iterator[str]:
    faults = dns_label(manifest["metadata"].get("name", ""))
    if faults:
        said = "which can result in surprising behavior; a DNS label is recommended"
        yield f"metadata.name: this {use}, {said}: [{' '.join(faults)}]"


def _spec_warnings(spec: Mapping[str, Any], path: str) -> Iterator[str]:
    for label in section(spec, "nodeSelector"):
        if label in _RENAMED:
            since, instead = _RENAMED[label]
            yield f'{path}.nodeSelector[{label}]: deprecated since {since}; use "{instead}" instead'
    for index, secret in enumerate(entries(spec, "imagePullSecrets")):
        if not secret.get("name"):
            yield f'{path}.imagePullSecrets[{index}].name: invalid empty name ""'
    for key in ("initContainers", "containers"):
        for index, container in enumerate(entries(spec, key)):
            yield from _container_warnings(container, f"{path}.{key}[{index}]")
    if spec.get("terminationGracePeriodSeconds", 0) < 0:
        said = "must be >= 0; negative values are invalid and will be treated as 1"
        yield f"{path}.terminationGracePeriodSeconds: {said}"


def _container_warnings(container: Mapping[str, Any], path: str) -> Iterator[str]:
    resources = section(container, "resources")
    for which in ("limits", "requests"):
        for name in _BYTES:
            amount = section(resources, which).get(name)
            if amount is not None and parse_quantity(amount) % 1:
                said = f'fractional byte value "{amount}" is invalid, must be an integer'
                yield f"{path}.resources.{which}[{name}]: {said}"
    seen: set[str] = set()
    for index, variable in enumerate(entries(container, "env")):
        name, value = variable.get("name", ""), variable.get("value", "")
        before = f"$({name})"
        if name in seen and ("valueFrom" in variable or value == before or before not in value):
            said = f'hides previous definition of "{name}", which may be dropped when using apply'
            yield f"{path}.env[{index}]: {said}"
        seen.add(name)
