"""The standard `baseline`: nothing that is known to lead out of a container."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from kubeserver.admission.pod_security import confinement
from kubeserver.admission.pod_security.checks import Check, Violation, unless_own_users
from kubeserver.admission.pod_security.pods import Pod, containers, plural, quoted_names
from kubeserver.values import entries, section

_CAPABILITIES = (
    *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE"),
    *("SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
)
_SELINUX_TYPES = ("", "container_t", "container_init_t", "container_kvm_t")
_SYSCTLS = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
    "net.ipv4.ip_unprivileged_port_start",
)
_SYSCTLS_27 = (*_SYSCTLS, "net.ipv4.ip_local_reserved_ports")
_SYSCTLS_29 = (
    *_SYSCTLS_27,
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
)
_SYSCTLS_32 = (*_SYSCTLS_29, "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HOOKS = ("postStart", "preStop")


def _capabilities(pod: Pod) -> Violation | None:
    said = next(confinement.added_capabilities(pod, _CAPABILITIES), "")
    return Violation("non-default capabilities", said) if said else None


def _host_namespaces(pod: Pod) -> Violation | None:
    used = [f"{field}=true" for field in ("hostNetwork", "hostPID", "hostIPC") if pod.spec.get(field)]
    return Violation("host namespaces", ", ".join(used)) if used else None


def _host_paths(pod: Pod) -> Violation | None:
    names = [volume.get("name", "") for volume in entries(pod.spec, "volumes") if "hostPath" in volume]
    return Violation("hostPath volumes", f"{plural('volume', names)} {quoted_names(names)}") if names else None


def _host_ports(pod: Pod) -> Violation | None:
    names, ports = _used_by(pod, _ports_of)
    said = f"{containers(names)} {_use(names)} {plural('hostPort', ports)} {', '.join(ports)}"
    return Violation("hostPort", said) if names else None


def _hosts_of_handlers(pod: Pod) -> Violation | None:
    """A kubelet that probes other hosts can be made to look around in its network."""
    names, hosts = _used_by(pod, _hosts_of)
    what = plural("probe or lifecycle host", hosts)
    said = f"{containers(sorted(names))} {_use(names)} {what} {quoted_names(hosts)}"
    return Violation("probe or lifecycle host", said) if names else None


def _privileged(pod: Pod) -> Violation | None:
    names = pod.containers_with(lambda security: bool(security.get("privileged")))
    said = f"{containers(names)} must not set securityContext.privileged=true"
    return Violation("privileged", said) if names else None


def _host_process(pod: Pod) -> Violation | None:
    who = pod.setters(lambda security: bool(section(security, "windowsOptions").get("hostProcess")))
    said = f"{who} must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", said) if who else None


def _used_by(pod: Pod, read: Callable[[Mapping[str, Any]], Iterable[str]]) -> tuple[list[str], list[str]]:
    """The names of the containers where there is something to read, and all of it, sorted."""
    used = [(each.get("name", ""), set(read(each))) for each in pod.containers]
    return [name for name, own in used if own], sorted(set[str]().union(*(own for _, own in used)))


def _ports_of(container: Mapping[str, Any]) -> Iterator[str]:
    return (str(port["hostPort"]) for port in entries(container, "ports") if port.get("hostPort"))


def _hosts_of(container: Mapping[str, Any]) -> Iterator[str]:
    lifecycle = section(container, "lifecycle")
    handlers = [*(section(container, probe) for probe in _PROBES), *(section(lifecycle, hook) for hook in _HOOKS)]
    actions = (section(handler, action) for handler in handlers for action in ("httpGet", "tcpSocket"))
    return (action["host"] for action in actions if action.get("host"))


def _use(names: Collection[str]) -> str:
    return "uses" if len(names) == 1 else "use"


BASELINE = (
    Check("appArmorProfile", {0: confinement.app_armor}),
    Check("capabilities_baseline", {0: _capabilities}),
    Check("hostNamespaces", {0: _host_namespaces}),
    Check("hostPathVolumes", {0: _host_paths}),
    Check("hostPorts", {0: _host_ports}),
    Check("hostProbesAndHostLifecycle", {34: _hosts_of_handlers}),
    Check("privileged", {0: _privileged}),
    Check("procMount", {0: confinement.proc_mount, 35: unless_own_users(confinement.proc_mount)}),
    Check(
        "seLinuxOptions",
        {0: confinement.selinux(*_SELINUX_TYPES), 31: confinement.selinux(*_SELINUX_TYPES, "container_engine_t")},
    ),
    Check("seccompProfile_baseline", {0: confinement.annotated_seccomp, 19: confinement.seccomp}),
    Check(
        "sysctls",
        {
            0: confinement.sysctls(*_SYSCTLS),
            27: confinement.sysctls(*_SYSCTLS_27),
            29: confinement.sysctls(*_SYSCTLS_29),
            32: confinement.sysctls(*_SYSCTLS_32),
        },
    ),
    Check("windowsHostProcess", {0: _host_process}),
)
"""Checks in the order in which violations are told: that of their names."""
