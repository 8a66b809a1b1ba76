"""Types of Services, and what goes with each and away with it.

Who changes the type of a Service often leaves the rest as it was: what the new type has no use for, and was not
changed, goes by itself. Said anew it is a mistake, which validation names.

Kubernetes: pkg/registry/core/service/strategy.go (dropTypeDependentFields), pkg/apis/core/validation; the same rules.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from kubeapi.diff import is_equal
from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.status import Problem
from kubeserver.kinds.pod_rules.texts import named, one_of
from kubeserver.names import qualified_name
from kubeserver.values import section

OPENED = ("NodePort", "LoadBalancer")
_POLICIES = ("Cluster", "Local")
_DISTRIBUTIONS = ("PreferClose", "PreferSameNode", "PreferSameZone")
_OF_BALANCERS = ("allocateLoadBalancerNodePorts", "loadBalancerClass")


def is_reached_from_outside(spec: Mapping[str, Any]) -> bool:
    kind = spec.get("type")
    return kind in OPENED or (kind == "ClusterIP" and bool(spec.get("externalIPs")))


def needs_health_port(spec: Mapping[str, Any]) -> bool:
    return spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"


def _is_balancer(spec: Mapping[str, Any]) -> bool:
    return spec.get("type") == "LoadBalancer"


_NEEDS = {
    "externalTrafficPolicy": is_reached_from_outside,
    "healthCheckNodePort": needs_health_port,
    **dict.fromkeys(_OF_BALANCERS, _is_balancer),
}


def drop_useless(new: Manifest, old: ReadOnlyManifest) -> None:
    """Takes away what `old` had a use for, and `new` has not and says no differently."""
    spec, before = section(new, "spec"), section(old, "spec")
    for field, needs in _NEEDS.items():
        if needs(before) and not needs(spec) and field in spec and is_equal(spec[field], before.get(field)):
            del spec[field]
    if not _is_balancer(spec) and is_equal(new.get("status"), old.get("status")):
        new["status"] = {**section(new, "status"), "loadBalancer": {}}


def type_problems(spec: Mapping[str, Any], before: Mapping[str, Any] | None) -> Iterator[Problem]:
    """`before` is the spec that is replaced."""
    yield from _policy_problems(spec)
    for field in _OF_BALANCERS:
        if field in spec and not _is_balancer(spec):
            yield Problem.forbidden(f"spec.{field}", "may only be used when `type` is 'LoadBalancer'")
    yield from _class_problems(spec, before)


def _policy_problems(spec: Mapping[str, Any]) -> Iterator[Problem]:
    outer = spec.get("externalTrafficPolicy")
    if is_reached_from_outside(spec):
        yield from one_of(outer, _POLICIES, "spec.externalTrafficPolicy")
    elif outer:
        said = "may only be set for externally-accessible services"
        yield Problem.invalid("spec.externalTrafficPolicy", outer, said)
    if spec.get("healthCheckNodePort") and not needs_health_port(spec):
        said = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        yield Problem.invalid("spec.healthCheckNodePort", spec["healthCheckNodePort"], said)
    if "internalTrafficPolicy" in spec:
        yield from one_of(spec["internalTrafficPolicy"], _POLICIES, "spec.internalTrafficPolicy")
    if "trafficDistribution" in spec:
        yield from one_of(spec["trafficDistribution"], _DISTRIBUTIONS, "spec.trafficDistribution")


def _class_problems(spec: Mapping[str, Any], before: Mapping[str, Any] | None) -> Iterator[Problem]:
    name = spec.get("loadBalancerClass")
    if not _is_balancer(spec):
        return
    if before is not None and _is_balancer(before) and name != before.get("loadBalancerClass"):
        yield Problem.invalid("spec.loadBalancerClass", name, "may not change once set")
    if name:
        yield from named(qualified_name, name, "spec.loadBalancerClass")
