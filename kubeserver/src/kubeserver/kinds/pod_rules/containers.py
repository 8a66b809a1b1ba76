"""Containers of a Pod: what all have in common, and what only some may have."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kubeapi.status import Problem
from kubeserver.kinds.pod_rules.environment import Volumes, variable_problems
from kubeserver.kinds.pod_rules.probes import PROBES, probe_problems
from kubeserver.kinds.pod_rules.resources import resource_problems
from kubeserver.kinds.pod_rules.security import container_security_problems
from kubeserver.kinds.pod_rules.texts import duplicate, named, one_of, port_name, port_number
from kubeserver.kinds.pod_rules.volumes import mount_problems
from kubeserver.names import dns_label
from kubeserver.values import entries, section

PROTOCOLS = ("SCTP", "TCP", "UDP")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_RESTARTS = ("Restart", "RestartAllContainers")
_MAX_RULES = 20
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")


def container_problems(spec: Mapping[str, Any], path: str) -> Iterator[Problem]:
    containers = entries(spec, "containers")
    volumes = {str(volume.get("name")): volume for volume in entries(spec, "volumes")}
    grace_seconds: int = spec.get("terminationGracePeriodSeconds", 30)
    if not containers:
        yield Problem.required(f"{path}.containers")
    names: set[str] = set()
    for index, container in enumerate(containers):
        where = f"{path}.containers[{index}]"
        yield from _common_problems(container, volumes, where)
        yield from _name_taken(container, names, where)
        yield from probe_problems(container, grace_seconds, where)
        yield from _restart_problems(container, where)
    yield from _host_port_problems(containers, f"{path}.containers")
    for index, container in enumerate(entries(spec, "initContainers")):
        where = f"{path}.initContainers[{index}]"
        yield from _common_problems(container, volumes, where)
        yield from _init_problems(container, names, grace_seconds, where)


def _init_problems(container: Mapping[str, Any], names: set[str], grace_seconds: int, path: str) -> Iterator[Problem]:
    """Problems of an init container, which may go on running, and be probed, only as a sidecar."""
    yield from _restart_problems(container, path)
    yield from _name_taken(container, names, path)
    if container.get("restartPolicy") == "Always":
        yield from probe_problems(container, grace_seconds, path)
        return
    said = "may not be set for init containers without restartPolicy=Always"
    yield from (Problem.forbidden(f"{path}.{f}", said) for f in ("lifecycle", *PROBES) if container.get(f) is not None)


def _restart_problems(container: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """Problems of a container that says itself when it starts again, as Kubernetes 1.35 lets every container."""
    policy, rules = container.get("restartPolicy"), entries(container, "restartPolicyRules")
    if policy is not None:
        yield from one_of(policy, _RESTART_POLICIES, f"{path}.restartPolicy")
    elif rules:
        said = "must specify restartPolicy when restart rules are used"
        yield Problem.required(f"{path}.restartPolicy", said)
    if len(rules) > _MAX_RULES:
        said = f"Too many: {len(rules)}: must have at most {_MAX_RULES} items"
        yield Problem(f"{path}.restartPolicyRules", "FieldValueTooMany", said)
    for index, rule in enumerate(rules):
        where = f"{path}.restartPolicyRules[{index}]"
        yield from one_of(rule.get("action", ""), _RESTARTS, f"{where}.action")
        if "exitCodes" not in rule:
            yield Problem.required(f"{where}.exitCodes", "must be specified")
        else:
            operator = section(rule, "exitCodes").get("operator", "")
            yield from one_of(operator, ("In", "NotIn"), f"{where}.exitCodes.operator")


def _common_problems(container: Mapping[str, Any], volumes: Volumes, path: str) -> Iterator[Problem]:
    name = container.get("name", "")
    if not name:
        yield Problem.required(f"{path}.name")
    yield from named(dns_label, name, f"{path}.name") if name else ()
    if not container.get("image"):
        yield Problem.required(f"{path}.image")
    policy = container.get("terminationMessagePolicy")
    yield from one_of(policy, _MESSAGE_POLICIES, f"{path}.terminationMessagePolicy")
    yield from _port_problems(entries(container, "ports"), f"{path}.ports")
    yield from variable_problems(container, volumes, path)
    yield from mount_problems(container, volumes, path)
    yield from one_of(container.get("imagePullPolicy"), _PULL_POLICIES, f"{path}.imagePullPolicy")
    yield from resource_problems(section(container, "resources"), f"{path}.resources")
    yield from container_security_problems(section(container, "securityContext"), f"{path}.securityContext")


def _name_taken(container: Mapping[str, Any], names: set[str], path: str) -> Iterator[Problem]:
    name = container.get("name", "")
    if name in names:
        yield duplicate(f"{path}.name", name)
    if name:
        names.add(name)


def _port_problems(ports: Sequence[Mapping[str, Any]], path: str) -> Iterator[Problem]:
    names: set[str] = set()
    for index, port in enumerate(ports):
        where, name = f"{path}[{index}]", port.get("name", "")
        faults = list(named(port_name, name, f"{where}.name")) if name else []
        yield from faults
        if name in names:
            yield duplicate(f"{where}.name", name)
        if name and not faults:
            names.add(name)
        if not port.get("containerPort"):
            yield Problem.required(f"{where}.containerPort")
        else:
            yield from port_number(port["containerPort"], f"{where}.containerPort")
        if port.get("hostPort"):
            yield from port_number(port["hostPort"], f"{where}.hostPort")
        yield from one_of(port.get("protocol"), PROTOCOLS, f"{where}.protocol")


def _host_port_problems(containers: Sequence[Mapping[str, Any]], path: str) -> Iterator[Problem]:
    """A port of the node is taken once."""
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for at, port in enumerate(entries(container, "ports")):
            if port.get("hostPort"):
                said = f"{port.get('protocol')}/{port.get('hostIP', '')}/{port['hostPort']}"
                if said in taken:
                    yield duplicate(f"{path}[{index}].ports[{at}].hostPort", said)
                taken.add(said)
