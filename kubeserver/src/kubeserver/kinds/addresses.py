"""ServiceCIDRs and IPAddresses: from where Services have their addresses, and who has which.

Kubernetes: pkg/apis/networking; the same rules. Differs: Services get addresses of the server's own range alone
(`admission/services.py`), whatever other ServiceCIDRs say.
"""

import ipaddress
from collections.abc import Iterator, Mapping
from typing import Any

from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.status import Problem
from kubeserver.kinds.columns import AGE, at, described, text
from kubeserver.kinds.kind import Column, Kind
from kubeserver.kinds.others import default_with_status
from kubeserver.kinds.pod_rules.texts import named, whole_network
from kubeserver.names import dns_subdomain, path_segment
from kubeserver.values import section, texts

_GROUP = "networking.k8s.io"
_CANONICAL = "must be a canonical IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def address_name(name: str) -> list[str]:
    """The rule for the names of IPAddresses, which are the addresses."""
    try:
        return [] if str(ipaddress.ip_address(name)) == name else [_CANONICAL]
    except ValueError:
        return [_CANONICAL]


def validate_range(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    cidrs = texts(section(manifest, "spec"), "cidrs")
    if old is not None:
        same = cidrs == texts(section(old, "spec"), "cidrs")
        return [] if same else [Problem.invalid("spec.cidrs", cidrs, "field is immutable")]
    if not cidrs:
        return [Problem.required("spec.cidrs", "at least one CIDR required")]
    if len(cidrs) > 2:
        return [Problem.invalid("spec.cidrs", cidrs, "may only hold up to 2 values")]
    problems = [problem for index, cidr in enumerate(cidrs) for problem in whole_network(cidr, f"spec.cidrs[{index}]")]
    if not problems and len({ipaddress.ip_network(cidr, strict=False).version for cidr in cidrs}) < len(cidrs):
        said = "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"
        problems.append(Problem.invalid("spec.cidrs", cidrs, said))
    return problems


def validate_address(manifest: Manifest, old: Manifest | None) -> list[Problem]:
    spec = section(manifest, "spec")
    if old is not None:
        same = is_equal(spec.get("parentRef"), section(old, "spec").get("parentRef"))
        return [] if same else [Problem.invalid("spec.parentRef", spec.get("parentRef"), "field is immutable")]
    if "parentRef" not in spec:
        return [Problem.required("spec.parentRef")]
    return list(_parent_problems(section(spec, "parentRef")))


def _parent_problems(parent: Mapping[str, Any]) -> Iterator[Problem]:
    if parent.get("group"):
        yield from named(dns_subdomain, parent["group"], "spec.parentRef.group")
    for field in ("resource", "name"):
        if not parent.get(field):
            yield Problem.required(f"spec.parentRef.{field}")
    for field in ("resource", "name", "namespace"):
        if parent.get(field):
            yield from named(path_segment, parent[field], f"spec.parentRef.{field}")


def _parent(manifest: ReadOnlyManifest) -> str:
    """`services/default/web`, and before that the group, where there is one."""
    parent = section(section(manifest, "spec"), "parentRef")
    resource = ".".join(filter(None, (parent.get("resource"), parent.get("group"))))
    return "/".join(filter(None, (resource, parent.get("namespace"), parent.get("name"))))


_RANGES = described("SERVICE_CIDRS", Column("CIDRs", text(lambda m: ",".join(at(m, "spec.cidrs", ())))), AGE)
_ADDRESSES = described("ADDRESSES", Column("ParentRef", text(_parent)))

ADDRESSES = (
    Kind(_GROUP, "v1", "ServiceCIDR", "servicecidrs", False, columns=_RANGES, status=True,
         default=default_with_status, validate=validate_range),
    Kind(_GROUP, "v1", "IPAddress", "ipaddresses", False, ("ip",), columns=_ADDRESSES, validate=validate_address,
         name_rule=address_name),
)  # fmt: skip
