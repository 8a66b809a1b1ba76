"""Defaults and rules of what clusters are made of: runtimes, storage drivers, devices, flow control."""

from collections.abc import Iterator, Mapping
from typing import Any

from kubeapi.diff import is_equal
from kubeapi.meta import Manifest
from kubeapi.status import Problem
from kubeserver.kinds.metadata import too_long
from kubeserver.kinds.pod_rules.texts import named, one_of, within
from kubeserver.names import dns_label, dns_subdomain
from kubeserver.values import entries, grown, section

_DRIVER_DEFAULTS = {
    "attachRequired": True,
    "fsGroupPolicy": "ReadWriteOnceWithFSType",
    "podInfoOnMount": False,
    "requiresRepublish": False,
    "seLinuxMount": False,
    "storageCapacity": False,
}
_MAX_DRIVER_BYTES = 63
_LIMITED_DEFAULTS = {"nominalConcurrencyShares": 30, "lendablePercent": 0}
_QUEUE_DEFAULTS = {"queues": 64, "handSize": 8, "queueLengthLimit": 50}


def validate_runtime_class(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    handler = manifest.get("handler", "")
    problems = list(named(dns_label, handler, "handler"))
    if old is not None and handler != old.get("handler"):
        problems.append(Problem.invalid("handler", handler, "field is immutable"))
    return problems


def default_driver(manifest: Manifest) -> None:
    spec = grown(manifest, "spec")
    for name, value in _DRIVER_DEFAULTS.items():
        spec.setdefault(name, value)
    spec.setdefault("volumeLifecycleModes", ["Persistent"])


def validate_attachment(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    spec = section(manifest, "spec")
    driver, source = spec.get("attacher", ""), section(spec, "source")
    problems = [Problem.required("spec.attacher")] if not driver else []
    problems += _source_problems(source, "spec.source")
    problems += named(dns_subdomain, spec.get("nodeName", ""), "spec.nodeName")
    problems += _driver_problems(driver, "spec.attacher")
    volume = source.get("persistentVolumeName")
    if volume is not None:
        problems += named(dns_subdomain, volume, "spec.source.persistentVolumeName")
    if old is not None and not is_equal(spec, section(old, "spec")):
        problems.append(Problem.invalid("spec", spec, "field is immutable"))
    return problems


def _source_problems(source: Mapping[str, Any], path: str) -> Iterator[Problem]:
    """A volume that there is, or one that is written out, which only storage drivers have."""
    volume, inline = source.get("persistentVolumeName"), source.get("inlineVolumeSpec")
    said = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    if volume is None and inline is None:
        yield Problem.required(path, said)
    elif volume is not None and inline is not None:
        yield Problem.forbidden(path, said)
    elif volume == "":
        yield Problem.required(f"{path}.persistentVolumeName", "must specify non empty persistentVolumeName")
    elif inline is not None and "csi" not in inline:
        yield Problem.required(f"{path}.inlineVolumeSpec.csi", "has to be specified in the context of inline volumes")


def _driver_problems(driver: str, path: str) -> Iterator[Problem]:
    if not driver:
        yield Problem.required(path)
    if len(driver) > _MAX_DRIVER_BYTES:
        yield too_long(path, _MAX_DRIVER_BYTES)
    if driver:
        yield from (Problem.invalid(path, driver, said) for said in dns_subdomain(driver.lower()))


def default_flow_schema(manifest: Manifest) -> None:
    grown(manifest, "spec").setdefault("matchingPrecedence", 1_000)
    if not manifest["spec"]["matchingPrecedence"]:
        manifest["spec"]["matchingPrecedence"] = 1_000
    manifest.setdefault("status", {})


def validate_flow_schema(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    del old
    spec = section(manifest, "spec")
    problems = list(within(spec["matchingPrecedence"], 1, 10_000, "spec.matchingPrecedence"))
    if not section(spec, "priorityLevelConfiguration").get("name"):
        said = "must reference a priority level"
        problems.append(Problem.required("spec.priorityLevelConfiguration.name", said))
    for index, rule in enumerate(entries(spec, "rules")):
        problems += _flow_rule_problems(rule, f"spec.rules[{index}]")
    return problems


def _flow_rule_problems(rule: Mapping[str, Any], path: str) -> Iterator[Problem]:
    if not rule.get("subjects"):
        yield Problem.required(f"{path}.subjects", "subjects must contain at least one value")
    for index, subject in enumerate(entries(rule, "subjects")):
        kinds = ("Group", "ServiceAccount", "User")
        yield from one_of(subject.get("kind", ""), kinds, f"{path}.subjects[{index}].kind")
    if not rule.get("resourceRules") and not rule.get("nonResourceRules"):
        said = "at least one of resourceRules and nonResourceRules has to be non-empty"
        yield Problem.required(path, said)


def default_priority_level(manifest: Manifest) -> None:
    spec = grown(manifest, "spec")
    if spec.get("type") == "Limited":
        limited = grown(spec, "limited")
        for name, value in _LIMITED_DEFAULTS.items():
            limited.setdefault(name, value)
        response = grown(limited, "limitResponse")
        if response.get("type") == "Queue":
            queuing = grown(response, "queuing")
            for name, value in _QUEUE_DEFAULTS.items():
                queuing.setdefault(name, value)
    manifest.setdefault("status", {})


def validate_priority_level(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    del old
    spec = section(manifest, "spec")
    problems = list(one_of(spec.get("type", ""), ("Exempt", "Limited"), "spec.type"))
    if spec.get("type") == "Limited":
        response = section(section(spec, "limited"), "limitResponse")
        problems += one_of(response.get("type", ""), ("Queue", "Reject"), "spec.limited.limitResponse.type")
        if "exempt" in spec:
            problems.append(Problem.forbidden("spec.exempt", "must be nil if the type is Limited"))
    elif "limited" in spec:
        problems.append(Problem.forbidden("spec.limited", "must be nil if the type is not Limited"))
    return problems


def validate_device_claim(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    spec = section(manifest, "spec")
    problems = list(_request_problems(spec, "spec"))
    if old is not None and not is_equal(spec, section(old, "spec")):
        problems.append(Problem.invalid("spec", spec, "field is immutable"))
    return problems


def validate_claim_template(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    spec = section(manifest, "spec")
    problems = list(_request_problems(section(spec, "spec"), "spec.spec"))
    if old is not None and not is_equal(spec, section(old, "spec")):
        problems.append(Problem.invalid("spec", spec, "field is immutable"))
    return problems


def _request_problems(spec: Mapping[str, Any], path: str) -> Iterator[Problem]:
    for index, request in enumerate(entries(section(spec, "devices"), "requests")):
        where = f"{path}.devices.requests[{index}]"
        yield from named(dns_label, request.get("name", ""), f"{where}.name")
        if ("exactly" in request) == bool(request.get("firstAvailable")):
            yield Problem.required(where, "exactly one of `exactly` or `firstAvailable` is required")
        elif "exactly" in request and not request["exactly"].get("deviceClassName"):
            yield Problem.required(f"{where}.exactly.deviceClassName")


def default_device_claim(manifest: Manifest) -> None:
    _default_requests(grown(manifest, "spec"))
    manifest.setdefault("status", {})


def default_claim_template(manifest: Manifest) -> None:
    _default_requests(grown(grown(manifest, "spec"), "spec"))


def _default_requests(spec: dict[str, Any]) -> None:
    """Defaults requests to one device, unless somebody says how many."""
    for request in entries(section(spec, "devices"), "requests"):
        exact = [request["exactly"]] if isinstance(request.get("exactly"), dict) else []
        for wanted in (*exact, *entries(request, "firstAvailable")):
            if wanted.setdefault("allocationMode", "ExactCount") == "ExactCount":
                wanted.setdefault("count", 1)
            for toleration in entries(wanted, "tolerations"):
                toleration.setdefault("operator", "Equal")
