"""The scopes of ResourceQuotas: which Pods count, and so what can be counted.

Kubernetes: pkg/apis/core/validation (validateResourceQuotaScopes), pkg/apis/core/helper; the same.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kubeapi.status import Problem
from kubeserver.values import section, texts

_COMPUTE = ("cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory")
_STANDARD = frozenset(
    (
        *_COMPUTE, "pods", "ephemeral-storage", "limits.ephemeral-storage", "requests.ephemeral-storage",
        "requests.storage", "persistentvolumeclaims", "services", "services.nodeports", "services.loadbalancers",
        "replicationcontrollers", "resourcequotas", "secrets", "configmaps",
    )
)  # fmt: skip
_OF_PODS = frozenset((*_COMPUTE, "pods"))
_COUNTED: Mapping[str, frozenset[str]] = {
    "BestEffort": frozenset(("pods",)),
    "VolumeAttributesClass": frozenset(("persistentvolumeclaims", "requests.storage")),
    **dict.fromkeys(
        ("CrossNamespacePodAffinity", "NotBestEffort", "NotTerminating", "PriorityClass", "Terminating"), _OF_PODS
    ),
}
_CONFLICTING = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))


def scope_problems(spec: Mapping[str, Any]) -> Iterator[Problem]:
    scopes = texts(spec, "scopes")
    limited = section(spec, "hard").keys() & _STANDARD
    for scope in scopes:
        if scope not in _COUNTED:
            yield Problem.invalid("spec.scopes", scopes, "unsupported scope")
        elif limited - _COUNTED[scope]:
            yield Problem.invalid("spec.scopes", scopes, "unsupported scope applied to resource")
    if any(set(pair) <= set(scopes) for pair in _CONFLICTING):
        yield Problem.invalid("spec.scopes", scopes, "conflicting scopes")
