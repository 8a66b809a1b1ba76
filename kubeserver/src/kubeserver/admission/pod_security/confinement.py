"""The rules about what confines a container: AppArmor, SELinux, seccomp, capabilities, the masks over /proc, sysctls.

Functions that take what is allowed give the rule for one standard, or one version of it.
"""

from collections.abc import Collection, Iterator

from kubeapi.status import quoted
from kubeserver.admission.pod_security.checks import Rule, Violation
from kubeserver.admission.pod_security.pods import Pod, Security, plural, quoted_names
from kubeserver.values import entries, section, texts

PROFILES = ("RuntimeDefault", "Localhost")
SECCOMP_OF_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_SECCOMP_OF_POD = "seccomp.security.alpha.kubernetes.io/pod"
_APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"


def app_armor(pod: Pod) -> Violation | None:
    """Judges AppArmor in fields, and in the annotations that were before them."""
    who, types = pod.beyond(lambda security: _profile(security, "appArmorProfile"), PROFILES)
    annotated = sorted(
        f"{key}={quoted(value)}"
        for key, value in pod.annotations.items()
        if key.startswith(_APP_ARMOR) and value and not _is_confined(value)
    )
    setters = [*([who] if who else []), *([plural("annotation", annotated)] if annotated else [])]
    values = [*types, *annotated]
    said = f"{' and '.join(setters)} must not set AppArmor profile type to {quoted_names(values)}"
    return Violation(plural("forbidden AppArmor profile", values), said) if setters else None


def seccomp(pod: Pod) -> Violation | None:
    who, types = pod.beyond(lambda security: _profile(security, "seccompProfile"), PROFILES)
    said = f"{who} must not set securityContext.seccompProfile.type to {quoted_names(types)}"
    return Violation("seccompProfile", said) if who else None


def annotated_seccomp(pod: Pod) -> Violation | None:
    """Judges seccomp as it was said before there were fields."""
    keys = {_SECCOMP_OF_POD, *(SECCOMP_OF_CONTAINER + each.get("name", "") for each in pod.containers)}
    set_to = {key: pod.annotations[key] for key in sorted(keys & pod.annotations.keys())}
    bad = [
        f"{key}={quoted(value)}"
        for key, value in set_to.items()
        if value != "docker/default" and not _is_confined(value)
    ]
    return Violation("seccompProfile", f"forbidden {plural('annotation', bad)} {', '.join(bad)}") if bad else None


def added_capabilities(pod: Pod, allowed: Collection[str]) -> Iterator[str]:
    """Words for who adds others."""
    who, added = pod.beyond(lambda security: texts(section(security, "capabilities"), "add"), allowed)
    if who:
        yield f"{who} must not include {quoted_names(added)} in securityContext.capabilities.add"


def selinux(*types: str) -> Rule:
    """Rule for SELinux options of these types, and of no special user or role."""

    def rule(pod: Pod) -> Violation | None:
        who = pod.setters(lambda security: bool(_selinux_faults(security, types)))
        faults = set[str]().union(*(_selinux_faults(security, types) for security in pod.contexts))
        fields = [f"{field} may not be set" for field in ("user", "role") if field in faults]
        _, strange = pod.beyond(lambda security: [_selinux(security, "type")], types)
        said = [*([f"{plural('type', strange)} {quoted_names(strange)}"] if strange else []), *fields]
        detail = f"{who} set forbidden securityContext.seLinuxOptions: {'; '.join(said)}"
        return Violation("seLinuxOptions", detail) if who else None

    return rule


def proc_mount(pod: Pod) -> Violation | None:
    who, mounts = pod.beyond(lambda security: [security.get("procMount") or "Default"], ("Default",))
    said = f"{who} must not set securityContext.procMount to {quoted_names(mounts)}"
    return Violation("procMount", said) if who else None


def sysctls(*allowed: str) -> Rule:
    def rule(pod: Pod) -> Violation | None:
        names = [sysctl.get("name", "") for sysctl in entries(pod.security, "sysctls")]
        forbidden = [name for name in names if name not in allowed]
        return Violation("forbidden sysctls", ", ".join(forbidden)) if forbidden else None

    return rule


def _profile(security: Security, field: str) -> list[str]:
    profile = section(security, field)
    return [profile.get("type", "")] if profile else []


def _is_confined(annotation: str) -> bool:
    return annotation == "runtime/default" or annotation.startswith("localhost/")


def _selinux(security: Security, field: str) -> str:
    return section(security, "seLinuxOptions").get(field, "")


def _selinux_faults(security: Security, types: Collection[str]) -> set[str]:
    """The fields that are not as they may be."""
    named = {field for field in ("user", "role") if _selinux(security, field)}
    return named if _selinux(security, "type") in types else {"type", *named}
