"""Pods and pod templates: defaults, and what may be changed of a Pod. What they may say is in `pod_rules`."""

from collections.abc import Iterator, Mapping
from typing import Any

from kubeapi.diff import is_equal, is_one_of
from kubeapi.meta import Manifest
from kubeapi.status import Problem
from kubeserver.kinds.pod_rules import validate_whole_pod
from kubeserver.kinds.pod_rules.probes import PROBES
from kubeserver.kinds.volume_defaults import default_field, default_sources
from kubeserver.values import entries, grown, section

_PROBE_DEFAULTS = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}

_GATED = {
    "lastProbeTime": None,
    "lastTransitionTime": None,
    "reason": "SchedulingGated",
    "message": "Scheduling is blocked due to non-empty scheduling gates",
}


def default_pod_spec(spec: dict[str, Any]) -> None:
    for container in (*_containers(spec), *entries(spec, "ephemeralContainers")):
        _default_container(container)
    for volume in entries(spec, "volumes"):
        _default_volume(volume)
    _fill(spec, "restartPolicy", "Always")
    spec.setdefault("terminationGracePeriodSeconds", 30)
    _fill(spec, "dnsPolicy", "ClusterFirst")
    spec.setdefault("securityContext", {})
    _fill(spec, "schedulerName", "default-scheduler")
    if spec.get("serviceAccountName"):
        spec["serviceAccount"] = spec["serviceAccountName"]


def _fill(mapping: dict[str, Any], field: str, text: str) -> None:
    """Fills a field whose empty text says as little as its absence."""
    if not mapping.get(field):
        mapping[field] = text


def default_pod(manifest: Manifest) -> None:
    spec = grown(manifest, "spec")
    for container in _containers(spec):
        _requests_from_limits(container)
    default_pod_spec(spec)
    if spec["terminationGracePeriodSeconds"] < 0:
        spec["terminationGracePeriodSeconds"] = 1
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        _open_on_node(spec)
    status = grown(manifest, "status")
    status.setdefault("phase", "Pending")
    status.setdefault("qosClass", quality_of_service(spec))
    if spec.get("schedulingGates") and "conditions" not in status:
        status["conditions"] = [{"type": "PodScheduled", "status": "False", **_GATED}]


def quality_of_service(spec: Mapping[str, Any]) -> str:
    """Guaranteed, Burstable or BestEffort, from the containers' cpu and memory."""
    wanted: list[tuple[Any, Any]] = []
    for container in _containers(spec):
        requests = section(section(container, "resources"), "requests")
        limits = section(section(container, "resources"), "limits")
        wanted += [(requests.get(name), limits.get(name)) for name in ("cpu", "memory")]
    if not any(request or limit for request, limit in wanted):
        return "BestEffort"
    return "Guaranteed" if all(limit and is_equal(request, limit) for request, limit in wanted) else "Burstable"


def complete_pod(manifest: Manifest) -> None:
    """The addresses that begin with its address."""
    status = section(manifest, "status")
    address = status.get("podIP")
    if address and not status.get("podIPs"):
        status["podIPs"] = [{"ip": address}]


def validate_pod(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    problems = validate_whole_pod(manifest.get("spec") or {}, "spec")
    if old is None and section(manifest, "spec").get("ephemeralContainers"):
        problems.append(Problem.forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if old is not None and not problems:
        problems += _pod_update_problems(manifest["spec"], old["spec"])
    return problems


def _pod_update_problems(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[Problem]:
    """Problems of an update of a Pod that exists: only its images, deadline and further tolerations change; its node is
    set by binding it."""
    problems = [*_deadline_problems(new.get("activeDeadlineSeconds"), old.get("activeDeadlineSeconds"))]
    if problems:
        return problems
    problems = [*_toleration_problems(entries(new, "tolerations"), entries(old, "tolerations"))]
    if is_equal(_frozen_part(new, old), _frozen_part(old, old)):
        return problems
    said = (
        "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,"
        "`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),"
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
    )
    return [*problems, Problem.forbidden("spec", said)]


def _deadline_problems(new: int | None, old: int | None) -> Iterator[Problem]:
    if old is not None and new is None:
        said = "must not update from a positive integer to nil value"
        yield Problem.invalid("spec.activeDeadlineSeconds", None, said)
    elif old is not None and new is not None and new > old:
        yield Problem.invalid("spec.activeDeadlineSeconds", new, "must be less than or equal to previous value")


def _toleration_problems(new: list[dict[str, Any]], old: list[dict[str, Any]]) -> Iterator[Problem]:
    kept = [_lasting(toleration) for toleration in new]
    if any(not is_one_of(_lasting(toleration), kept) for toleration in old):
        said = "existing toleration can not be modified except its tolerationSeconds"
        yield Problem.forbidden("spec.tolerations", said)


def _lasting(toleration: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in toleration.items() if key != "tolerationSeconds"}


def _frozen_part(spec: Mapping[str, Any], old: Mapping[str, Any]) -> dict[str, Any]:
    free = ["activeDeadlineSeconds", "tolerations", "schedulingGates"]
    if old.get("terminationGracePeriodSeconds", 0) < 0 and spec.get("terminationGracePeriodSeconds") == 1:
        free.append("terminationGracePeriodSeconds")
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
    for probe in PROBES:
        if probe in container:
            _default_probe(container[probe])
    for moment in ("postStart", "preStop"):
        _default_request(section(section(container, "lifecycle"), moment))
    for variable in entries(container, "env"):
        source = section(variable, "valueFrom")
        default_field(section(source, "fieldRef"))
        if isinstance(source.get("fileKeyRef"), dict):
            source["fileKeyRef"].setdefault("optional", False)
    grown(container, "resources")
    _fill(container, "terminationMessagePath", "/dev/termination-log")
    _fill(container, "terminationMessagePolicy", "File")
    _fill(container, "imagePullPolicy", _pull_policy(container.get("image", "")))


def _open_on_node(spec: Mapping[str, Any]) -> None:
    """Opens ports on the node: in its network they are those of the node."""
    for container in _containers(spec):
        for port in entries(container, "ports"):
            if not port.get("hostPort"):
                port["hostPort"] = port.get("containerPort", 0)


def _requests_from_limits(container: dict[str, Any]) -> None:
    resources = section(container, "resources")
    if resources.get("limits"):
        resources["requests"] = {**resources["limits"], **section(resources, "requests")}


def _default_probe(probe: dict[str, Any]) -> None:
    _default_request(probe)
    if isinstance(probe.get("grpc"), dict):
        probe["grpc"].setdefault("service", "")
    for key, value in _PROBE_DEFAULTS.items():
        if not probe.get(key):
            probe[key] = value


def _default_request(handler: dict[str, Any]) -> None:
    if isinstance(handler.get("httpGet"), dict):
        handler["httpGet"].setdefault("path", "/")
        handler["httpGet"].setdefault("scheme", "HTTP")


def _default_volume(volume: dict[str, Any]) -> None:
    if not any(key != "name" for key in volume):
        volume["emptyDir"] = {}
    default_sources(volume)


def _pull_policy(image: str) -> str:
    """Images without a tag, or tagged `latest`, are pulled always."""
    name = image.rpartition("/")[2]
    tag = name.partition(":")[2]
    return "IfNotPresent" if "@" in name or tag not in ("", "latest") else "Always"
