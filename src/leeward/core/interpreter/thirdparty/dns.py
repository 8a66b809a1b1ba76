"""Kinds that publish names: DNSEndpoint of external-dns, and Gslb of k8gb.

    DNSEndpoint   healthy once external-dns has seen its present generation
    Gslb          healthy while k8gb finds a healthy Service behind each host in its cluster

k8gb runs in each member, where it looks at the Services behind a host, and agrees with the k8gb of the others on the
records. The template so tells a host Healthy that any cluster serves, with the records of all of them.
"""

from collections.abc import Collection, Sequence

from kubeapi.meta import ReadOnlyManifest
from leeward.api.interpreter_config import DependentObjectReference
from leeward.api.work import AggregatedStatusItem
from leeward.core.interpreter.dependencies import ingress_dependencies
from leeward.core.interpreter.fields import int_at, list_at, mapping_at, text_at
from leeward.core.interpreter.rules import InterpretationError, Rules, Status
from leeward.core.interpreter.thirdparty.merged_conditions import reports

_HEALTHY = "Healthy"


def _is_endpoint_healthy(manifest: ReadOnlyManifest) -> bool:
    seen = int_at(manifest, "status", "observedGeneration")
    if not seen:
        raise InterpretationError("external-dns has not looked at it yet")
    return seen >= int_at(manifest, "metadata", "generation")


def _is_gslb_healthy(manifest: ReadOnlyManifest) -> bool:
    hosts = mapping_at(manifest, "status", "serviceHealth")
    if not hosts:
        raise InterpretationError("k8gb has not told yet whether its hosts are healthy")
    return all(health == _HEALTHY for health in hosts.values())


def _aggregate_gslb(template: ReadOnlyManifest, items: Sequence[AggregatedStatusItem]) -> Status:
    """Hosts with the best health and all records that any cluster tells. A cluster that is not seen tells no health."""
    health, records = dict[str, str](), dict[str, set[str]]()
    told = reports(items)
    for each in sorted(told, key=lambda each: each.is_known, reverse=True):
        for host in mapping_at(each.report, "serviceHealth"):
            said = text_at(each.report, "serviceHealth", host) if each.is_known else "NotFound"
            health[host] = said if said == _HEALTHY else health.get(host, said)
        for host in mapping_at(each.report, "healthyRecords") if each.is_known else ():
            records.setdefault(host, set()).update(map(str, list_at(each.report, "healthyRecords", host)))
    return {
        "serviceHealth": health,
        "healthyRecords": {host: sorted(found) for host, found in records.items()},
        "geoTag": ",".join(sorted({text_at(each.report, "geoTag") for each in told} - {""})),
        "hosts": ", ".join(sorted(health)),
    }


def _gslb_dependencies(manifest: ReadOnlyManifest) -> Collection[DependentObjectReference]:
    """Objects that its embedded Ingress names."""
    return ingress_dependencies(
        {"metadata": mapping_at(manifest, "metadata"), "spec": mapping_at(manifest, "spec", "ingress")}
    )


DNS_ENDPOINT = Rules(is_healthy=_is_endpoint_healthy)
GSLB = Rules(is_healthy=_is_gslb_healthy, aggregate=_aggregate_gslb, dependencies=_gslb_dependencies)
