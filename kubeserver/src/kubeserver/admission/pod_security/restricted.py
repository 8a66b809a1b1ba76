"""The standard `restricted`: what is left of rights is what a well-behaved program needs.

It has the checks of `baseline`, but for those that it replaces by stricter ones.
"""

from kubeserver.admission.pod_security import confinement
from kubeserver.admission.pod_security.checks import Check, Violation, unless_own_users, unless_windows
from kubeserver.admission.pod_security.pods import Pod, Security, containers, plural, quoted_names
from kubeserver.values import entries, section, texts

_VOLUME_TYPES = {
    *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image"),
    *("persistentVolumeClaim", "projected", "secret"),
}


def _escalation(pod: Pod) -> Violation | None:
    names = pod.containers_with(lambda security: security.get("allowPrivilegeEscalation") is not False)
    said = f"{containers(names)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", said) if names else None


def _capabilities(pod: Pod) -> Violation | None:
    keeping = pod.containers_with(lambda security: "ALL" not in texts(section(security, "capabilities"), "drop"))
    dropped = [f'{containers(keeping)} must set securityContext.capabilities.drop=["ALL"]'] if keeping else []
    said = [*dropped, *confinement.added_capabilities(pod, ("NET_BIND_SERVICE",))]
    return Violation("unrestricted capabilities", "; ".join(said)) if said else None


def _volumes(pod: Pod) -> Violation | None:
    kept = [volume for volume in entries(pod.spec, "volumes") if not _VOLUME_TYPES & volume.keys()]
    names = [volume.get("name", "") for volume in kept]
    types = sorted({next((key for key in volume if key != "name"), "unknown") for volume in kept})
    use = "uses" if len(names) == 1 else "use"
    what = plural("restricted volume type", types)
    said = f"{plural('volume', names)} {quoted_names(names)} {use} {what} {quoted_names(types)}"
    return Violation("restricted volume types", said) if names else None


def _no_root(pod: Pod) -> Violation | None:
    """Violation of who says that root may be, or, if nobody does, who does not say that it may not."""
    said = pod.setters(lambda security: security.get("runAsNonRoot") is False)
    if said:
        return Violation("runAsNonRoot != true", f"{said} must not set securityContext.runAsNonRoot=false")
    names = [] if pod.security.get("runAsNonRoot") else pod.containers_with(_leaves_user_open)
    said = f"pod or {containers(names)} must set securityContext.runAsNonRoot=true"
    return Violation("runAsNonRoot != true", said) if names else None


def _leaves_user_open(security: Security) -> bool:
    return security.get("runAsNonRoot") is None


def _no_root_by_number(pod: Pod) -> Violation | None:
    who = pod.setters(lambda security: security.get("runAsUser") == 0)
    return Violation("runAsUser=0", f"{who} must not set runAsUser=0") if who else None


def _seccomp(pod: Pod) -> Violation | None:
    """Violation of who says something else, or, if nobody does, who says nothing."""
    found = confinement.seccomp(pod)
    if found is not None or section(pod.security, "seccompProfile"):
        return found
    names = pod.containers_with(lambda security: not section(security, "seccompProfile"))
    said = f'must set securityContext.seccompProfile.type to "{confinement.PROFILES[0]}" or "{confinement.PROFILES[1]}"'
    return Violation("seccompProfile", f"pod or {containers(names)} {said}") if names else None


RESTRICTED = (
    Check("allowPrivilegeEscalation", {8: _escalation, 25: unless_windows(_escalation)}),
    Check("capabilities_restricted", {22: _capabilities, 25: unless_windows(_capabilities)}, "capabilities_baseline"),
    Check("procMount_restricted", {35: confinement.proc_mount}, "procMount"),
    Check("restrictedVolumes", {0: _volumes}, "hostPathVolumes"),
    Check("runAsNonRoot", {0: _no_root, 35: unless_own_users(_no_root)}),
    Check("runAsUser", {23: _no_root_by_number, 35: unless_own_users(_no_root_by_number)}),
    Check("seccompProfile_restricted", {19: _seccomp, 25: unless_windows(_seccomp)}, "seccompProfile_baseline"),
)
"""Checks in the order in which violations are told: that of their names."""
