"""Resources that containers ask for, and what they may use at most."""

from collections.abc import Iterator, Mapping
from typing import Any

from kubeapi.quantity import parse_quantity
from kubeapi.status import Problem
from kubeserver.kinds.pod_rules.texts import named
from kubeserver.names import qualified_name
from kubeserver.values import section

_OF_CONTAINERS = ("cpu", "memory", "ephemeral-storage")
_OF_PODS = ("cpu", "memory")
_STANDARD = (
    *_OF_CONTAINERS, "storage", "configmaps", "limits.cpu", "limits.ephemeral-storage", "limits.memory",
    "persistentvolumeclaims", "pods", "replicationcontrollers", "requests.cpu", "requests.ephemeral-storage",
    "requests.memory", "requests.storage", "resourcequotas", "secrets", "services", "services.loadbalancers",
    "services.nodeports",
)  # fmt: skip
_HUGE_PAGES = "hugepages-"


def resource_problems(resources: Mapping[str, Any], path: str) -> Iterator[Problem]:
    limits = section(resources, "limits")
    for key in ("limits", "requests"):
        for name, quantity in section(resources, key).items():
            yield from _name_problems(name, f"{path}.{key}[{name}]")
            amount = parse_quantity(quantity)
            if amount < 0:
                said = "must be greater than or equal to 0"
                yield Problem.invalid(f"{path}.{key}[{name}]", quantity, said)
            if key == "requests":
                yield from _limit_problems(name, quantity, limits.get(name), path)


def pod_resource_problems(resources: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """Problems of resources of a whole Pod, which Kubernetes has since 1.34."""
    if resources.get("claims"):
        yield Problem.forbidden(f"{path}.claims", "claims may not be set for Resources at pod-level")
    yield from resource_problems(resources, path)
    for key in ("limits", "requests"):
        for name in section(resources, key):
            if name not in _OF_PODS and not name.startswith(_HUGE_PAGES):
                yield Problem.not_supported(f"{path}.{key}[{name}]", name, ("cpu", _HUGE_PAGES, "memory"))


def _limit_problems(name: str, request: Any, limit: Any, path: str) -> Iterator[Problem]:
    """Problems of limits; what cannot be shared is asked for as it is limited."""
    shared = _is_native(name) and not name.startswith(_HUGE_PAGES)
    if limit is None:
        if not shared:
            yield Problem.required(f"{path}.limits", "Limit must be set for non overcommitable resources")
    elif not shared and parse_quantity(request) != parse_quantity(limit):
        yield Problem.invalid(f"{path}.requests", request, f"must be equal to {name} limit of {limit}")
    elif parse_quantity(request) > parse_quantity(limit):
        yield Problem.invalid(f"{path}.requests", request, f"must be less than or equal to {name} limit of {limit}")


def _name_problems(name: str, path: str) -> Iterator[Problem]:
    faults = list(named(qualified_name, name, path))
    if faults:
        yield from faults
        return
    if "/" not in name:
        if not is_standard(name):
            yield Problem.invalid(path, name, "must be a standard resource type or fully qualified")
        if name not in _OF_CONTAINERS and not name.startswith(_HUGE_PAGES):
            yield Problem.invalid(path, name, "must be a standard resource for containers")


def is_standard(name: str) -> bool:
    """Tells whether it is a resource, or a count, that Kubernetes itself knows."""
    return name in _STANDARD or name.startswith((_HUGE_PAGES, f"requests.{_HUGE_PAGES}"))


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name
