"""Room: how much may be stored in a namespace and in all, and ResourceQuotas that count objects.

It is asked when a write gets its place in the queue, with all that are under way: none slips in between. What does not
grow always passes, and so does each deletion, also one that finalizers hold. An update, and what whoever embeds the
server writes for itself, may take twice as many bytes as a user's new objects: reports and finalizers must not fail for
somebody's ConfigMaps.

Kubernetes: pkg/quota/v1, plugin/pkg/admission/resourcequota; the same message for `count/` and the kinds in `_SHORT`.
Differs: kube-apiserver has no bound of its own but that of etcd; other names in a quota are kept and not counted.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from kubeapi import codec
from kubeapi.meta import Manifest
from kubeapi.quantity import parse_quantity
from kubeserver import errors
from kubeserver.kinds.kind import Kind
from kubeserver.store import Record, Store, StoredAmount
from kubeserver.values import section

QUOTAS = "//resourcequotas/"
MOST_OF_NAMESPACE = StoredAmount(100_000, 256 * 1024 * 1024)
MOST_OF_STORE = StoredAmount(1_000_000, 2 * 1024 * 1024 * 1024)
NEARLY_FULL = 0.8
_SHORT = ("configmaps", "persistentvolumeclaims", "replicationcontrollers", "resourcequotas", "secrets", "services")
"""Kinds whose plural alone is a name of a quota, too."""


def nothing(prefix: str, namespace: str) -> bool:
    return False


def every_quota(quota: Manifest) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class StoreBounds:
    """Bounds on what users store. `is_own` tells of a resource's prefix and a namespace that the objects there are of
    whoever embeds the server: no namespace of theirs has a bound."""

    namespace: StoredAmount = MOST_OF_NAMESPACE
    store: StoredAmount = MOST_OF_STORE
    is_own: Callable[[str, str], bool] = nothing
    large: frozenset[str] = frozenset()
    """Prefixes of resources whose objects may be as large as a body: controllers copy stored objects into them."""
    holds_here: Callable[[Manifest], bool] = every_quota
    """Tells of a ResourceQuota whether it limits this server. One that is only kept here counts nothing."""
    counts_quotas: bool = True
    """Tells whether the server writes the status of ResourceQuotas; else whoever embeds it does."""


DEFAULT_BOUNDS = StoreBounds()


@dataclass(frozen=True, slots=True)
class Room:
    store: Store
    bounds: StoreBounds = DEFAULT_BOUNDS

    def check(self, kind: Kind, key: str, head: Record | None, size: int) -> None:
        """Raises: Refused where the store has no room for the object that is `size` bytes, or a quota has not."""
        growth = size - (len(head.value) if head is not None else 0)
        if growth <= 0:
            return
        namespace, _, name = key.rpartition("/")
        namespace = namespace.rpartition("/")[2]
        said = self._no_room(kind, namespace, head, growth)
        if not said and head is None and namespace and not self.bounds.is_own(kind.prefix, namespace):
            said = next(self._exceeded(kind, namespace), "")
        if said:
            raise errors.forbidden(kind.group, kind.plural, name, said)

    def nearly_full(self) -> str:
        """Sentences about what has little room left; empty where there is enough."""
        usage, bounds = self.store.usage, self.bounds
        told = [_told("the store", usage.everything, bounds.store)] if _is_near(usage.everything, bounds.store) else []
        for name, amount in sorted(usage.namespaces.items(), key=lambda each: -each[1].bytes):
            if _is_near(amount, bounds.namespace) and not bounds.is_own("", name):
                told.append(_told(f"namespace {name}", amount, bounds.namespace))
        return "; ".join(told[:10])

    def _no_room(self, kind: Kind, namespace: str, head: Record | None, growth: int) -> str:
        usage, bounds = self.store.usage, self.bounds
        is_own = bounds.is_own(kind.prefix, namespace)
        times = 1 if head is None and not is_own else 2
        scopes = [("the store", usage.everything, bounds.store)]
        if namespace and not bounds.is_own("", namespace):
            scopes.append((f"namespace {namespace}", usage.of_namespace(namespace), bounds.namespace))
        for where, used, bound in scopes:
            after = used.plus(head is None, growth)
            if (head is None and after.objects > times * bound.objects) or after.bytes > times * bound.bytes:
                return f"{_told(where, used, bound)}; delete what is not needed, or put it elsewhere"
        return ""

    def _exceeded(self, kind: Kind, namespace: str) -> Iterator[str]:
        """Refusals by quotas of the namespace."""
        names = names_in_quotas(kind.group, kind.plural)
        used = self.store.usage.objects_of(kind.prefix, namespace)
        for record in self.store.heads(f"{QUOTAS}{namespace}/"):
            quota = codec.decode_manifest(record.value)
            if not self.bounds.holds_here(quota):
                continue
            for name, hard in hard_limits(quota, names).items():
                if used + 1 > hard:
                    limited = section(section(quota, "spec"), "hard")[name]
                    yield (
                        f"exceeded quota: {quota['metadata']['name']}, requested: {name}=1, used: {name}={used}, "
                        f"limited: {name}={limited}"
                    )


def names_in_quotas(group: str, plural: str) -> tuple[str, ...]:
    """Names under which a quota counts objects of a resource."""
    counted = f"count/{plural}.{group}" if group else f"count/{plural}"
    return (counted, plural) if not group and plural in _SHORT else (counted,)


def hard_limits(quota: Manifest, names: Iterable[str]) -> dict[str, Decimal]:
    """Limits under these names of a quota that counts objects; none of one with scopes, which are of Pods."""
    spec = section(quota, "spec")
    if spec.get("scopes") or spec.get("scopeSelector"):
        return {}
    hard = section(spec, "hard")
    return {name: parse_quantity(str(hard[name])) for name in names if name in hard}


def _is_near(used: StoredAmount, bound: StoredAmount) -> bool:
    return used.objects > NEARLY_FULL * bound.objects or used.bytes > NEARLY_FULL * bound.bytes


def _told(where: str, used: StoredAmount, bound: StoredAmount) -> str:
    return f"{where} holds {used.objects} objects of {used.bytes} bytes, and may hold {bound.objects} of {bound.bytes}"
