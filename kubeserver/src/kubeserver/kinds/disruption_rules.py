"""The rules of PodDisruptionBudgets. Kubernetes: pkg/apis/policy/validation; the same findings in the same order."""

from kubeapi.meta import Manifest
from kubeapi.status import Problem
from kubeserver.kinds.label_selectors import selector_problems
from kubeserver.kinds.strategies import at_most_all, share_problems
from kubeserver.values import section

_POLICIES = ("AlwaysAllow", "IfHealthyBudget")
_SHARES = ("minAvailable", "maxUnavailable")


def validate_disruption_budget(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    del old
    spec = section(manifest, "spec")
    problems: list[Problem] = []
    if all(spec.get(name) is not None for name in _SHARES):
        shown = {
            "MinAvailable": spec["minAvailable"],
            "Selector": spec.get("selector"),
            "MaxUnavailable": spec["maxUnavailable"],
            "UnhealthyPodEvictionPolicy": spec.get("unhealthyPodEvictionPolicy"),
        }
        problems.append(Problem.invalid("spec", shown, "minAvailable and maxUnavailable cannot be both set"))
    for name in _SHARES:
        if spec.get(name) is not None:
            problems += [*share_problems(spec[name], f"spec.{name}"), *at_most_all(spec[name], f"spec.{name}")]
    problems += selector_problems(spec.get("selector") or {}, "spec.selector")
    policy = spec.get("unhealthyPodEvictionPolicy")
    if policy is not None and policy not in _POLICIES:
        problems.append(Problem.not_supported("spec.unhealthyPodEvictionPolicy", policy, _POLICIES))
    return problems
