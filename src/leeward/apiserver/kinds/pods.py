"""Pods and pod templates: defaults, and the rules that catch what people get wrong."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from leeward.api.meta import Manifest
from leeward.api.quantity import format_quantity, is_binary, parse_quantity
from leeward.api.status import Problem
from leeward.apiserver.kinds.names import dns_label
from leeward.apiserver.values import entries, grown, section

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
PROTOCOLS = ("SCTP", "TCP", "UDP")
RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_VARIABLE = re.compile(r"[ -<>-~]+")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_PROBE_DEFAULTS = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_PORT_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?")
_MODE_VOLUMES = ("configMap", "secret", "downwardAPI", "projected")


def default_pod_spec(spec: dict[str, Any]) -> None:
    for container in _containers(spec):
        _default_container(container)
    for volume in entries(spec, "volumes"):
        _default_volume(volume)
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    spec.setdefault("schedulerName", "default-scheduler")
    if spec.get("serviceAccountName"):
        spec["serviceAccount"] = spec["serviceAccountName"]


def default_pod(manifest: Manifest) -> None:
    spec = grown(manifest, "spec")
    for container in _containers(spec):
        _requests_from_limits(container)
    default_pod_spec(spec)
    spec.setdefault("enableServiceLinks", True)
    status = grown(manifest, "status")
    status.setdefault("phase", "Pending")
    status.setdefault("qosClass", quality_of_service(spec))


def quality_of_service(spec: Mapping[str, Any]) -> str:
    """Guaranteed, Burstable or BestEffort, from the containers' cpu and memory."""
    wanted: list[tuple[Any, Any]] = []
    for container in _containers(spec):
        requests = section(section(container, "resources"), "requests")
        limits = section(section(container, "resources"), "limits")
        wanted += [(requests.get(name), limits.get(name)) for name in ("cpu", "memory")]
    if not any(request or limit for request, limit in wanted):
        return "BestEffort"
    return "Guaranteed" if all(limit and request == limit for request, limit in wanted) else "Burstable"


def validate_pod_spec(spec: Mapping[str, Any], path: str, restart: Sequence[str] = RESTART_POLICIES) -> list[Problem]:
    return list(_pod_problems(spec, path, restart))


def complete_pod(manifest: Manifest) -> None:
    """Its priority, and the addresses that begin with its address."""
    spec = grown(manifest, "spec")
    spec.setdefault("priority", 0)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    status = section(manifest, "status")
    address = status.get("podIP")
    if address and not status.get("podIPs"):
        status["podIPs"] = [{"ip": address}]


def validate_pod(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    problems = validate_pod_spec(manifest.get("spec") or {}, "spec")
    if old is not None and not problems:
        problems += _pod_update_problems(manifest["spec"], old["spec"])
    return problems


def _pod_update_problems(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[Problem]:
    """Of a Pod that exists only its images, deadline and further tolerations change; its node is set by binding it."""
    if _frozen_part(new) == _frozen_part(old):
        return []
    said = (
        "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
        "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
    )
    return [Problem.forbidden("spec", said)]


def _frozen_part(spec: Mapping[str, Any]) -> dict[str, Any]:
    free = ("activeDeadlineSeconds", "tolerations", "terminationGracePeriodSeconds", "schedulingGates")
    frozen = {key: value for key, value in spec.items() if key not in free}
    for key in ("containers", "initContainers"):
        images = ("image", "imagePullPolicy")
        frozen[key] = [{k: v for k, v in c.items() if k not in images} for c in spec.get(key) or ()]
    return frozen


def _containers(spec: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for key in ("initContainers", "containers"):
        yield from entries(spec, key)


def _default_container(container: dict[str, Any]) -> None:
    for port in entries(container, "ports"):
        port.setdefault("protocol", "TCP")
    for probe in _PROBES:
        if probe in container:
            _default_probe(container[probe])
    for variable in entries(container, "env"):
        reference: dict[str, Any] = section(variable, "valueFrom").get("fieldRef") or {}
        if reference:
            reference.setdefault("apiVersion", "v1")
    resources = grown(container, "resources")
    for key in ("limits", "requests"):
        if key in resources:
            resources[key] = {name: _canonical(quantity) for name, quantity in resources[key].items()}
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    container.setdefault("imagePullPolicy", _pull_policy(container.get("image", "")))


def _requests_from_limits(container: dict[str, Any]) -> None:
    resources = section(container, "resources")
    if resources.get("limits"):
        resources["requests"] = {**resources["limits"], **section(resources, "requests")}


def _default_probe(probe: dict[str, Any]) -> None:
    if "httpGet" in probe:
        probe["httpGet"].setdefault("path", "/")
        probe["httpGet"].setdefault("scheme", "HTTP")
    for key, value in _PROBE_DEFAULTS.items():
        if not probe.get(key):
            probe[key] = value


def _default_volume(volume: dict[str, Any]) -> None:
    if not any(key != "name" for key in volume):
        volume["emptyDir"] = {}
    for source in _MODE_VOLUMES:
        if isinstance(volume.get(source), dict):
            volume[source].setdefault("defaultMode", 420)
    if isinstance(volume.get("hostPath"), dict):
        volume["hostPath"].setdefault("type", "")


def _canonical(quantity: str | int | float) -> str:
    """As the API server writes a quantity back; text that is none is left for validation to name."""
    try:
        return format_quantity(parse_quantity(quantity), is_binary(quantity))
    except ValueError:
        return str(quantity)


def _pull_policy(image: str) -> str:
    """Images without a tag, or tagged `latest`, are pulled always."""
    name = image.rpartition("/")[2]
    tag = name.partition(":")[2]
    return "IfNotPresent" if "@" in name or tag not in ("", "latest") else "Always"


def _pod_problems(spec: Mapping[str, Any], path: str, restart: Sequence[str]) -> Iterator[Problem]:
    if not spec.get("containers"):
        yield Problem.required(f"{path}.containers")
    seen: set[str] = set()
    for key in ("initContainers", "containers"):
        for index, container in enumerate(entries(spec, key)):
            where = f"{path}.{key}[{index}]"
            yield from _container_problems(container, where)
            if container.get("name") in seen:
                yield duplicate(f"{where}.name", container["name"])
            seen.add(container.get("name", ""))
    yield from _volume_problems(spec, path)
    if spec.get("restartPolicy") not in restart:
        yield Problem.not_supported(f"{path}.restartPolicy", spec.get("restartPolicy"), restart)
    if spec.get("dnsPolicy") not in DNS_POLICIES:
        yield Problem.not_supported(f"{path}.dnsPolicy", spec.get("dnsPolicy"), DNS_POLICIES)


def _volume_problems(spec: Mapping[str, Any], path: str) -> Iterator[Problem]:
    volumes: set[str] = set()
    for index, volume in enumerate(entries(spec, "volumes")):
        name = str(volume.get("name") or "")
        yield from _label_problems(name, f"{path}.volumes[{index}].name")
        if name in volumes:
            yield duplicate(f"{path}.volumes[{index}].name", name)
        volumes.add(name)
    for index, container in enumerate(entries(spec, "containers")):
        for at, mount in enumerate(entries(container, "volumeMounts")):
            where = f"{path}.containers[{index}].volumeMounts[{at}]"
            if mount.get("name") not in volumes:
                yield Problem(f"{where}.name", "FieldValueNotFound", f'Not found: "{mount.get("name", "")}"')
            if not mount.get("mountPath"):
                yield Problem.required(f"{where}.mountPath")


def _container_problems(container: Mapping[str, Any], path: str) -> Iterator[Problem]:
    yield from _label_problems(container.get("name", ""), f"{path}.name")
    if not container.get("image"):
        yield Problem.required(f"{path}.image")
    if container.get("imagePullPolicy") not in PULL_POLICIES:
        yield Problem.not_supported(f"{path}.imagePullPolicy", container.get("imagePullPolicy"), PULL_POLICIES)
    names: set[str] = set()
    for index, port in enumerate(entries(container, "ports")):
        yield from _port_problems(port, f"{path}.ports[{index}]")
        if port.get("name") in names:
            yield duplicate(f"{path}.ports[{index}].name", port["name"])
        names.add(port.get("name") or f"#{index}")
    for index, variable in enumerate(entries(container, "env")):
        yield from _variable_problems(variable, f"{path}.env[{index}]")
    yield from _resource_problems(container.get("resources") or {}, f"{path}.resources")


def _variable_problems(variable: Mapping[str, Any], path: str) -> Iterator[Problem]:
    name = variable.get("name", "")
    if not name:
        yield Problem.required(f"{path}.name")
    elif not _VARIABLE.fullmatch(name):
        said = "a valid environment variable name must consist only of printable ASCII characters other than '='"
        yield Problem.invalid(f"{path}.name", name, said)
    if variable.get("value") and variable.get("valueFrom"):
        yield Problem.invalid(f"{path}.valueFrom", "", "may not be specified when `value` is not empty")


def _label_problems(name: str, path: str) -> Iterator[Problem]:
    if not name:
        yield Problem.required(path)
    else:
        yield from (Problem.invalid(path, name, said) for said in dns_label(name))


def _port_problems(port: Mapping[str, Any], path: str) -> Iterator[Problem]:
    number = port.get("containerPort", 0)
    if not number:
        yield Problem.required(f"{path}.containerPort")
    else:
        yield from port_number(number, f"{path}.containerPort")
    name = port.get("name", "")
    if len(name) > 15:
        yield Problem.invalid(f"{path}.name", name, "must be no more than 15 characters")
    elif name and not _PORT_NAME.fullmatch(name):
        said = "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
        yield Problem.invalid(f"{path}.name", name, said)
    if port.get("protocol") not in PROTOCOLS:
        yield Problem.not_supported(f"{path}.protocol", port.get("protocol"), PROTOCOLS)


def _resource_problems(resources: Mapping[str, Any], path: str) -> Iterator[Problem]:
    limits = section(resources, "limits")
    for key in ("limits", "requests"):
        for name, quantity in section(resources, key).items():
            try:
                amount = parse_quantity(quantity)
            except ValueError as error:
                yield Problem.invalid(f"{path}.{key}[{name}]", quantity, str(error))
                continue
            if amount < 0:
                yield Problem.invalid(f"{path}.{key}[{name}]", quantity, "must be greater than or equal to 0")
            elif key == "requests" and name in limits and _exceeds(quantity, limits[name]):
                said = f"must be less than or equal to {name} limit of {limits[name]}"
                yield Problem.invalid(f"{path}.requests", quantity, said)


def _exceeds(request: Any, limit: Any) -> bool:
    try:
        return parse_quantity(request) > parse_quantity(limit)
    except ValueError:
        return False


def port_number(number: Any, path: str) -> Iterator[Problem]:
    if not 1 <= number <= 65535:
        yield Problem.invalid(path, number, "must be between 1 and 65535, inclusive")


def duplicate(path: str, value: str) -> Problem:
    return Problem(path, "FieldValueDuplicate", f'Duplicate value: "{value}"')
