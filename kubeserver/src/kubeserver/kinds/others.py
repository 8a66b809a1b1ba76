"""Defaults and rules of the kinds outside of the core group that need some: access, leases and more."""

from collections.abc import Iterator, Mapping
from typing import Any

from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, exact_time, format_micro_time
from kubeapi.status import Problem
from kubeserver.kinds.pod_rules.texts import named, one_of
from kubeserver.names import dns_subdomain
from kubeserver.values import entries, grown, section

RBAC_GROUP = "rbac.authorization.k8s.io"
_ROLE_KINDS = ("Role", "ClusterRole")
_SUBJECT_KINDS = ("ServiceAccount", "User", "Group")


def default_binding(manifest: Manifest) -> None:
    """Subjects and the role are of the RBAC group, but for service accounts."""
    role = section(manifest, "roleRef")
    if role:
        role.setdefault("apiGroup", RBAC_GROUP)
    for subject in entries(manifest, "subjects"):
        if subject.get("kind") in ("User", "Group"):
            subject.setdefault("apiGroup", RBAC_GROUP)


def validate_binding(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    role = section(manifest, "roleRef")
    kinds = _ROLE_KINDS if manifest["kind"] == "RoleBinding" else _ROLE_KINDS[1:]
    problems = list(one_of(role.get("apiGroup") or RBAC_GROUP, (RBAC_GROUP,), "roleRef.apiGroup"))
    if role.get("kind") not in kinds:
        problems.append(Problem.not_supported("roleRef.kind", role.get("kind", ""), kinds))
    if not role.get("name"):
        problems.append(Problem.required("roleRef.name"))
    namespaced = manifest["kind"] == "RoleBinding"
    for index, subject in enumerate(entries(manifest, "subjects")):
        problems += _subject_problems(subject, f"subjects[{index}]", namespaced)
    if old is not None and not is_equal(role, old.get("roleRef")):
        shown = {"APIGroup": role.get("apiGroup", ""), "Kind": role.get("kind", ""), "Name": role.get("name", "")}
        problems.append(Problem.invalid("roleRef", shown, "cannot change roleRef"))
    return problems


def _subject_problems(subject: Mapping[str, Any], path: str, namespaced: bool) -> Iterator[Problem]:
    name, kind, group = subject.get("name", ""), subject.get("kind", ""), subject.get("apiGroup", "")
    if not name:
        yield Problem.required(f"{path}.name")
    match kind:
        case "ServiceAccount":
            yield from named(dns_subdomain, name, f"{path}.name") if name else ()
            yield from one_of(group, ("",), f"{path}.apiGroup")
            if not subject.get("namespace") and not namespaced:
                yield Problem.required(f"{path}.namespace")
        case "User" | "Group":
            yield from one_of(group, (RBAC_GROUP,), f"{path}.apiGroup")
        case _:
            yield Problem.not_supported(f"{path}.kind", kind, _SUBJECT_KINDS)


def validate_role(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    del old
    rules = entries(manifest, "rules")
    namespaced = manifest["kind"] == "Role"
    problems = [
        problem for index, rule in enumerate(rules) for problem in _rule_problems(rule, f"rules[{index}]", namespaced)
    ]
    if "aggregationRule" in manifest and not section(manifest, "aggregationRule").get("clusterRoleSelectors"):
        said = "at least one clusterRoleSelector required if aggregationRule is non-nil"
        problems.append(Problem.required("aggregationRule.clusterRoleSelectors", said))
    return problems


def _rule_problems(rule: Mapping[str, Any], path: str, namespaced: bool) -> Iterator[Problem]:
    if not rule.get("verbs"):
        yield Problem.required(f"{path}.verbs", "verbs must contain at least one value")
    urls = rule.get("nonResourceURLs")
    if urls:
        if namespaced:
            said = "namespaced rules cannot apply to non-resource URLs"
            yield Problem.invalid(f"{path}.nonResourceURLs", urls, said)
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            said = "rules cannot apply to both regular resources and non-resource URLs"
            yield Problem.invalid(f"{path}.nonResourceURLs", urls, said)
        return
    if not rule.get("apiGroups"):
        yield Problem.required(f"{path}.apiGroups", "resource rules must supply at least one api group")
    if not rule.get("resources"):
        yield Problem.required(f"{path}.resources", "resource rules must supply at least one resource")


def default_lease(manifest: Manifest) -> None:
    """Times are kept with microseconds."""
    spec = grown(manifest, "spec")
    for field in ("acquireTime", "renewTime"):
        if spec.get(field):
            spec[field] = _micro(spec[field])


def _micro(text: str) -> str:
    try:
        return format_micro_time(exact_time(text))
    except ValueError:
        return text


def _is_time(text: str) -> bool:
    try:
        exact_time(text)
    except ValueError:
        return False
    return True


def validate_lease(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    del old
    spec = section(manifest, "spec")
    problems: list[Problem] = []
    if spec.get("leaseDurationSeconds", 1) <= 0:
        value = spec["leaseDurationSeconds"]
        problems.append(Problem.invalid("spec.leaseDurationSeconds", value, "must be greater than 0"))
    if spec.get("leaseTransitions", 0) < 0:
        value = spec["leaseTransitions"]
        problems.append(Problem.invalid("spec.leaseTransitions", value, "must be greater than or equal to 0"))
    for field in ("acquireTime", "renewTime"):
        if spec.get(field) and not _is_time(spec[field]):
            problems.append(Problem.invalid(f"spec.{field}", spec[field], "must be an RFC 3339 time with a time zone"))
    return problems


def default_with_status(manifest: Manifest) -> None:
    manifest.setdefault("status", {})


def default_ingress(manifest: Manifest) -> None:
    manifest.setdefault("status", {}).setdefault("loadBalancer", {})


def default_storage_class(manifest: Manifest) -> None:
    manifest.setdefault("reclaimPolicy", "Delete")
    manifest.setdefault("volumeBindingMode", "Immediate")


def default_priority_class(manifest: Manifest) -> None:
    manifest.setdefault("preemptionPolicy", "PreemptLowerPriority")


def default_disruption_budget(manifest: Manifest) -> None:
    manifest.setdefault("spec", {})
    counts = ("currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods")
    manifest.setdefault("status", dict.fromkeys(counts, 0))
