"""Usage that a ResourceQuota counts in its namespace, and which Pods it keeps out.

Counted are Pods that have not ended with what they ask for, and objects of the kinds in `COUNTED_KINDS`; what else a
quota limits is not counted. Quotas with scopes limit nothing here.

Kubernetes: pkg/controller/resourcequota, plugin/pkg/admission/resourcequota; the same messages.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from kubeapi.meta import Manifest, ReadOnlyManifest
from kubeapi.quantity import format_quantity, parse_quantity
from kubeapi.unstructured import list_at, mapping_at, value_at
from kubecluster.rules.fitting import add, requests_of
from kubecluster.rules.pods import is_finished

Amounts = Mapping[str, Decimal]
PodUse = tuple[tuple[str, Decimal], ...]
"""Use of one Pod by name; empty for one that has ended."""
COUNTED_KINDS = ("configmaps", "persistentvolumeclaims", "replicationcontrollers", "secrets", "services")
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
NOTHING = Decimal(0)


def has_scopes(quota: ReadOnlyManifest) -> bool:
    return bool(value_at(quota, "spec", "scopes") or value_at(quota, "spec", "scopeSelector"))


def pods_use(pods: Iterable[ReadOnlyManifest]) -> dict[str, Decimal]:
    """Use of Pods by the names that quotas have for it."""
    return total_use(map(pod_use, pods))


def pod_use(pod: ReadOnlyManifest) -> PodUse:
    return () if is_finished(pod) else tuple(_use_of(pod).items())


def total_use(uses: Iterable[PodUse]) -> dict[str, Decimal]:
    """Sum of many uses, of which most are the same."""
    total: dict[str, Decimal] = {}
    for use, count in Counter(uses).items():
        total = add(total, {name: amount * count for name, amount in use})
    return total


def quota_status(quota: ReadOnlyManifest, used: Amounts) -> Manifest:
    """The limit, and its use."""
    hard = mapping_at(quota, "spec", "hard")
    counted = {name: _shown(name, used.get(name, NOTHING)) for name in hard if _is_counted(name)}
    return {"hard": dict(hard), "used": counted}


def pod_refusal(quota: ReadOnlyManifest, pod: ReadOnlyManifest, used: Amounts) -> str:
    """Reason for which the quota takes no such Pod beside the `used` amounts; empty when it does."""
    name, hard = quota["metadata"]["name"], mapping_at(quota, "spec", "hard")
    asked = _use_of(pod)
    missing = sorted(limited for limited in hard if limited not in asked and _is_compute(limited))
    if missing:
        named = sorted(str(container.get("name", "")) for container in list_at(pod, "spec", "containers"))
        return f"failed quota: {name}: must specify {','.join(missing)} for: {','.join(named)}"
    exceeded = [each for each in sorted(hard) if _exceeds(each, hard, asked, used)]
    if not exceeded:
        return ""
    requested, present = (_told(exceeded, amounts) for amounts in (asked, used))
    limited = ",".join(f"{each}={hard[each]}" for each in exceeded)
    return f"exceeded quota: {name}, requested: {requested}, used: {present}, limited: {limited}"


def _exceeds(name: str, hard: Mapping[str, Any], asked: Amounts, used: Amounts) -> bool:
    return name in asked and used.get(name, NOTHING) + asked[name] > parse_quantity(hard[name])


def _use_of(pod: ReadOnlyManifest) -> dict[str, Decimal]:
    """A resource that no container names is not there."""
    requests = requests_of(pod)
    limits: dict[str, Decimal] = {}
    for container in list_at(pod, "spec", "containers"):
        given = mapping_at(container, "resources", "limits")
        limits = add(limits, {name: parse_quantity(amount) for name, amount in given.items()})
    use = {"pods": Decimal(1), "count/pods": Decimal(1)}
    for name in _COMPUTE:
        if name in requests:
            use |= {name: requests[name], f"requests.{name}": requests[name]}
        if name in limits:
            use[f"limits.{name}"] = limits[name]
    return use


def _is_compute(name: str) -> bool:
    return name.removeprefix("requests.").removeprefix("limits.") in ("cpu", "memory")


def _is_counted(name: str) -> bool:
    bare = name.removeprefix("requests.").removeprefix("limits.")
    return bare in _COMPUTE or name in ("pods", "count/pods") or name.removeprefix("count/") in COUNTED_KINDS


def _told(names: Iterable[str], amounts: Amounts) -> str:
    return ",".join(f"{name}={_shown(name, amounts.get(name, NOTHING))}" for name in names)


def _shown(name: str, amount: Decimal) -> str:
    return format_quantity(amount, binary=name.rpartition(".")[2] in ("memory", "ephemeral-storage"))
