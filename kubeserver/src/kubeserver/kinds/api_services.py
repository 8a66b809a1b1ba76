"""APIServices: which group versions are served, and by whom. Here it is always this server itself.

Kubernetes: kube-aggregator, pkg/apis/apiregistration; the same rules. Differs: this server passes no request on, so one
that names a Service is kept, is never available, and is not in discovery.
"""

import base64
import binascii
from collections.abc import Iterator

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.status import Problem
from kubeserver.kinds.columns import AGE, described, text
from kubeserver.kinds.kind import Column, Kind
from kubeserver.kinds.others import default_with_status
from kubeserver.kinds.pod_rules.texts import named
from kubeserver.names import dns_1035_label, dns_subdomain, path_segment
from kubeserver.values import entries, section

GROUP = "apiregistration.k8s.io"
_HIGHEST_GROUP, _HIGHEST_VERSION = 20_000, 1_000
NOT_PASSED_ON = (
    "this API server does not pass requests on to extension API servers: the APIService is kept, and its kinds are not "
    "served here"
)
_LAST_PORT = 65_535


def name_of(group: str, version: str) -> str:
    return f"{version}.{group}"


def validate_api_service(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    del old
    return list(_problems(manifest))


def _problems(manifest: Manifest) -> Iterator[Problem]:
    spec, name = section(manifest, "spec"), manifest["metadata"].get("name", "")
    group, version = spec.get("group", ""), spec.get("version", "")
    if name != name_of(group, version):
        said = f'must be `spec.version+"."+spec.group`: "{name_of(group, version)}"'
        yield Problem.invalid("metadata.name", name, said)
    if group:
        yield from named(dns_subdomain, group, "spec.group")
    elif version != "v1":
        yield Problem.required("spec.group", "only v1 may have an empty group and it better be legacy kube")
    yield from named(dns_1035_label, version, "spec.version")
    for field, highest in (("groupPriorityMinimum", _HIGHEST_GROUP), ("versionPriority", _HIGHEST_VERSION)):
        if not 0 < spec.get(field, 0) <= highest:
            yield Problem.invalid(f"spec.{field}", spec.get(field, 0), f"must be positive and less than {highest}")
    if spec.get("service") is not None:
        yield from _problems_of_service(spec)
        return
    if spec.get("caBundle"):
        shown = f"{_size(spec['caBundle'])} bytes"
        yield Problem.invalid("spec.caBundle", shown, "local APIServices may not have a caBundle")
    if spec.get("insecureSkipTLSVerify"):
        said = "local APIServices may not have insecureSkipTLSVerify"
        yield Problem.invalid("spec.insecureSkipTLSVerify", True, said)


def _problems_of_service(spec: ReadOnlyManifest) -> Iterator[Problem]:
    service = section(spec, "service")
    for field in ("namespace", "name"):
        if not service.get(field):
            yield Problem.required(f"spec.service.{field}")
    if not 0 < service.get("port", 443) <= _LAST_PORT:
        said = f"port is not valid: must be between 1 and {_LAST_PORT}, inclusive"
        yield Problem.invalid("spec.service.port", service["port"], said)
    if spec.get("insecureSkipTLSVerify") and spec.get("caBundle"):
        said = "may not be true if caBundle is present"
        yield Problem.invalid("spec.insecureSkipTLSVerify", True, said)


def _size(encoded: str) -> int:
    try:
        return len(base64.b64decode(encoded))
    except binascii.Error:
        return len(encoded)


def _service(manifest: ReadOnlyManifest) -> str:
    service = section(section(manifest, "spec"), "service")
    return f"{service['namespace']}/{service['name']}" if service else "Local"


def _available(manifest: ReadOnlyManifest) -> str:
    conditions = entries(section(manifest, "status"), "conditions")
    found = next((condition for condition in conditions if condition.get("type") == "Available"), None)
    if found is None:
        return "Unknown"
    return "True" if found["status"] == "True" else f"{found['status']} ({found.get('reason', '')})"


_COLUMNS = described(
    "API_SERVICES",
    Column("Service", text(_service)),
    Column("Available", text(_available)),
    AGE,
)

API_SERVICES = (
    Kind(GROUP, "v1", "APIService", "apiservices", False, (), ("api-extensions",), columns=_COLUMNS, status=True,
         default=default_with_status, validate=validate_api_service, name_rule=path_segment,
         unconditional_update=False),
)  # fmt: skip
