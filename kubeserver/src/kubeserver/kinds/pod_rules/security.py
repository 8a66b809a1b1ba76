"""Security contexts: as whom containers run, and what they may do."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kubeapi.status import Problem
from kubeserver.kinds.pod_rules.texts import MAX_INT32, one_of, within
from kubeserver.values import entries, section

_SYSCTL = re.compile(r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?")
_USERS = ("runAsUser", "runAsGroup")
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")


def pod_security_problems(spec: Mapping[str, Any], path: str) -> Iterator[Problem]:
    context = section(spec, "securityContext")
    for field in (*_USERS, "fsGroup"):
        yield from _identity(context, field, path)
    for index, group in enumerate(context.get("supplementalGroups") or ()):
        yield from within(group, 0, MAX_INT32, f"{path}.supplementalGroups[{index}]")
    names: set[str] = set()
    for index, setting in enumerate(entries(context, "sysctls")):
        yield from _setting_problems(setting, names, f"{path}.sysctls[{index}]")
    policy = context.get("fsGroupChangePolicy")
    if policy is not None:
        yield from one_of(policy, ("Always", "OnRootMismatch"), f"{path}.fsGroupChangePolicy")
    yield from _profile_problems(context, path)


def container_security_problems(context: Mapping[str, Any], path: str) -> Iterator[Problem]:
    for field in _USERS:
        yield from _identity(context, field, path)
    yield from _profile_problems(context, path)
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            said = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            yield Problem.invalid(path, dict(context), said)
        if "CAP_SYS_ADMIN" in (section(context, "capabilities").get("add") or ()):
            said = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            yield Problem.invalid(path, dict(context), said)


def _identity(context: Mapping[str, Any], field: str, path: str) -> Iterator[Problem]:
    if context.get(field) is not None:
        yield from within(context[field], 0, MAX_INT32, f"{path}.{field}")


def _setting_problems(setting: Mapping[str, Any], names: set[str], path: str) -> Iterator[Problem]:
    """A kernel parameter; dots and slashes both part its name."""
    name = setting.get("name", "")
    if not name:
        yield Problem.required(f"{path}.name")
    elif len(name) > 253 or not _SYSCTL.fullmatch(name):
        said = f"must have at most 253 characters and match regex ^{_SYSCTL.pattern}$"
        yield Problem.invalid(f"{path}.name", name, said)
    elif name.replace("/", ".") in names:
        yield Problem(f"{path}.name", "FieldValueDuplicate", f'Duplicate value: "{name}"')
    names.add(name.replace("/", "."))


def _profile_problems(context: Mapping[str, Any], path: str) -> Iterator[Problem]:
    profile = section(context, "seccompProfile")
    if not profile:
        return
    where, kind = f"{path}.seccompProfile", profile.get("type", "")
    if not kind:
        yield Problem.required(f"{where}.type", "type is required when seccompProfile is set")
    elif kind not in _PROFILES:
        yield Problem.not_supported(f"{where}.type", kind, _PROFILES)
    elif kind == "Localhost" and not profile.get("localhostProfile"):
        yield Problem.required(f"{where}.localhostProfile", "must be set when seccomp type is Localhost")
    elif kind != "Localhost" and profile.get("localhostProfile"):
        said = "can only be set when seccomp type is Localhost"
        yield Problem.invalid(f"{where}.localhostProfile", profile["localhostProfile"], said)
