"""The rules of Ingresses and their classes.

Kubernetes: pkg/apis/networking/validation; same, without the parameters of classes.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.status import Problem
from kubeserver.kinds.pod_rules.texts import is_address, named, one_of, port_name, port_number
from kubeserver.names import dns_label, dns_subdomain
from kubeserver.values import entries, section, texts

_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_CLASS_ANNOTATION = "kubernetes.io/ingress.class"
_FORBIDDEN_IN_PATHS = ("//", "/./", "/../", "%2f", "%2F")
_FORBIDDEN_AT_ENDS = ("/..", "/.")
_WILDCARD = re.compile(r"\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_NO_WILDCARD = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of "
    "lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', "
    rf"regex used for validation is '{_WILDCARD.pattern}')"
)


def validate_ingress(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    spec = section(manifest, "spec")
    problems: list[Problem] = []
    if not spec.get("rules") and "defaultBackend" not in spec:
        problems.append(Problem.invalid("spec", None, "either `defaultBackend` or `rules` must be specified"))
    if "defaultBackend" in spec:
        problems += _backend_problems(section(spec, "defaultBackend"), "spec.defaultBackend")
    for index, rule in enumerate(entries(spec, "rules")):
        problems += _rule_problems(rule, f"spec.rules[{index}]")
    for index, secured in enumerate(entries(spec, "tls")):
        problems += _secured_problems(secured, f"spec.tls[{index}]")
    if "ingressClassName" in spec:
        problems += named(dns_subdomain, spec["ingressClassName"], "spec.ingressClassName")
    if old is None:
        problems += _class_problems(manifest)
    return problems


def default_ingress_class(manifest: Manifest) -> None:
    parameters = section(section(manifest, "spec"), "parameters")
    if parameters:
        parameters.setdefault("scope", "Cluster")


def validate_ingress_class(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    spec = section(manifest, "spec")
    controller, parameters = spec.get("controller", ""), section(spec, "parameters")
    problems = list(_controller_problems(controller, "spec.controller"))
    is_new = old is None or not is_equal(parameters, section(section(old, "spec"), "parameters"))
    if is_new and parameters.get("scope") == "Cluster" and parameters.get("namespace") is not None:
        problems.append(Problem.forbidden("spec.parameters.namespace", "`parameters.scope` is set to 'Cluster'"))
    if old is not None and section(old, "spec").get("controller", "") != controller:
        problems.append(Problem.invalid("spec.controller", controller, "field is immutable"))
    return problems


def _controller_problems(controller: str, path: str) -> Iterator[Problem]:
    domain, _, rest = controller.partition("/")
    if not controller:
        yield Problem.required(path)
    elif not domain or not rest:
        yield Problem.invalid(path, controller, 'must be a domain-prefixed path (such as "acme.io/foo")')
    else:
        yield from named(dns_subdomain, domain, path)


def _class_problems(manifest: ReadOnlyManifest) -> Iterator[Problem]:
    annotated = section(section(manifest, "metadata"), "annotations").get(_CLASS_ANNOTATION)
    name = section(manifest, "spec").get("ingressClassName")
    if annotated is not None and name is not None and not is_equal(annotated, name):
        said = "must match `ingressClassName` when both are specified"
        yield Problem.invalid(f"annotations.{_CLASS_ANNOTATION}", annotated, said)


def _rule_problems(rule: Mapping[str, Any], path: str) -> Iterator[Problem]:
    host = rule.get("host", "")
    if host:
        if is_address(host):
            yield Problem.invalid(f"{path}.host", host, "must be a DNS name, not an IP address")
        yield from named(_host, host, f"{path}.host")
    if "http" in rule:
        paths = entries(section(rule, "http"), "paths")
        if not paths:
            yield Problem.required(f"{path}.http.paths")
        for index, one in enumerate(paths):
            yield from _path_problems(one, f"{path}.http.paths[{index}]")


def _secured_problems(secured: Mapping[str, Any], path: str) -> Iterator[Problem]:
    for index, host in enumerate(texts(secured, "hosts")):
        yield from named(_host, host, f"{path}.hosts[{index}]")
    if secured.get("secretName"):
        yield from named(dns_subdomain, secured["secretName"], f"{path}.secretName")


def _host(name: str) -> list[str]:
    """A `NameRule`."""
    if "*" not in name:
        return dns_subdomain(name)
    said = ["must be no more than 253 characters"] if len(name) > 253 else []
    return said if _WILDCARD.fullmatch(name) else [*said, _NO_WILDCARD]


def _path_problems(one: Mapping[str, Any], path: str) -> Iterator[Problem]:
    kind, text = one.get("pathType"), one.get("path", "")
    if kind is None:
        yield Problem.required(f"{path}.pathType", "pathType must be specified")
    else:
        yield from one_of(kind, _PATH_TYPES, f"{path}.pathType")
        if not text.startswith("/") and (text or kind != "ImplementationSpecific"):
            yield Problem.invalid(f"{path}.path", text, "must be an absolute path")
        if kind in ("Exact", "Prefix"):
            yield from named(_plain_path, text, f"{path}.path")
    yield from _backend_problems(section(one, "backend"), f"{path}.backend")


def _plain_path(text: str) -> list[str]:
    """A `NameRule`: paths that are matched as they are have nothing in them that others would resolve."""
    within = [f"must not contain '{part}'" for part in _FORBIDDEN_IN_PATHS if part in text]
    return [*within, *(f"cannot end with '{end}'" for end in _FORBIDDEN_AT_ENDS if text.endswith(end))]


def _backend_problems(backend: Mapping[str, Any], path: str) -> Iterator[Problem]:
    if "resource" in backend and "service" in backend:
        yield Problem.invalid(path, "", "cannot set both resource and service backends")
    elif "service" in backend:
        yield from _served_problems(section(backend, "service"), f"{path}.service", path)
    elif "resource" not in backend:
        yield Problem.invalid(path, "", "resource or service backend is required")


def _served_problems(service: Mapping[str, Any], path: str, holder: str) -> Iterator[Problem]:
    if service.get("name"):
        yield from named(dns_label, service["name"], f"{path}.name")
    else:
        yield Problem.required(f"{path}.name")
    at = section(service, "port")
    if at.get("name") and at.get("number"):
        yield Problem.invalid(holder, "", "cannot set both port name & port number")
    elif at.get("name"):
        yield from named(port_name, at["name"], f"{path}.port.name")
    elif at.get("number"):
        yield from port_number(at["number"], f"{path}.port.number")
    else:
        yield Problem.required(holder, "port name or number is required")
