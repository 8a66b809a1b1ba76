"""Enforcement: a write of a binding that lets the usage of its namespace grow beyond a quota is refused.

Only growth is: what stays the same or becomes less passes, however much is used. A failover that puts replicas
somewhere else passes therefore, also where the quota is exactly full, or was lowered below what runs (Holds: S1).

Karmada: pkg/webhook/resourcebinding (`FederatedQuotaEnforcement`); same text, of which it tells the first. It
also refuses what makes the usage less and leaves it above the limit, and it counts by what the quota's status says,
which it writes itself.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from kubeapi.meta import Manifest
from kubeapi.quantity import format_quantity
from kubeapi.untrusted import mapping_in
from leeward.api.quota import FederatedResourceQuota
from leeward.core.amounts import Amounts, sum_amounts
from leeward.core.quota.usage import amounts_of, growth, plus

EXCEEDED = "QuotaExceeded"
"""Reason of the refusal, and of the condition `Scheduled`."""
QUOTA_EXCEEDED = re.compile(
    r"FederatedResourceQuota\((?P<namespace>[^/)]+)/(?P<name>[^)]+)\) exceeded for resource (?P<resource>\S+): "
    r"requested sum (?P<asked>\S+), limit (?P<limit>\S+?)\.(?:\s|$)"
)
"""Refusal of a write by a quota, as admission tells it."""


@dataclass(frozen=True, slots=True)
class LimitedNamespace:
    """One quota: `overall` is its limit, and `used` what is used of it before the write."""

    namespace: str
    name: str
    overall: Amounts
    used: Amounts


@dataclass(frozen=True, slots=True)
class GrowthVerdict:
    """`refusals` are none where the write passes; `used` is then, by quota that it changes, the usage after it."""

    refusals: tuple[str, ...] = ()
    used: Mapping[str, Amounts] = field(default_factory=dict[str, Amounts])


def grows(before: Amounts, after: Amounts) -> bool:
    """Tells whether more is used of anything."""
    return any(change > 0 for change in growth(before, after).values())


def leaves_more(old: FederatedResourceQuota, new: FederatedResourceQuota) -> bool:
    """Tells whether there may be more room than before: the quota was raised, limits less, or less is used of it.

    In all clusters together, or in one that reports of its ResourceQuota.
    """
    limits, used = amounts_of(old.spec.overall), amounts_of(old.status.overall_used)
    now, used_now = amounts_of(new.spec.overall), amounts_of(new.status.overall_used)
    is_reported_anew = old.status.aggregated_status != new.status.aggregated_status
    return is_reported_anew or grows(limits, now) or bool(limits.keys() - now.keys()) or grows(used_now, used)


def fewer_replicas_alone(patch: Manifest, replicas: int) -> Manifest | None:
    """Change of replicas in a merge patch of a binding that has `replicas`: that there are fewer; None where it does
    not say so."""
    wanted: object = mapping_in(patch, "spec").get("replicas", replicas)
    fewer = wanted or 0
    return {"spec": {"replicas": fewer}} if isinstance(fewer, int) and fewer < replicas else None


def refusal_of_growth(
    before: Amounts, after: Amounts, others: Iterable[Amounts], quotas: Iterable[FederatedResourceQuota]
) -> str:
    """Reasons why a binding may not use `after` in the place of `before`, all of them; empty when it may.

    `others` are the usages of the other bindings of the namespace, and `quotas` all that it has.
    """
    used = sum_amounts((*others, before))
    limited = [LimitedNamespace(q.namespace, q.name, amounts_of(q.spec.overall), used) for q in quotas]
    return " ".join(dict.fromkeys(judge_growth(before, after, limited).refusals))


def judge_growth(before: Amounts, after: Amounts, quotas: Iterable[LimitedNamespace]) -> GrowthVerdict:
    """Verdict over a write after which a binding uses `after`, and before which it used `before`."""
    changes = growth(before, after)
    used: dict[str, Amounts] = {}
    refusals: list[str] = []
    for quota in quotas:
        refusals += _refusals(quota, changes, after)
        if concerned := _concerned(quota, changes):
            used[quota.name] = plus(quota.used, concerned, after)
    return GrowthVerdict(tuple(refusals)) if refusals else GrowthVerdict(used=used)


def _concerned(quota: LimitedNamespace, changes: Mapping[str, Decimal]) -> Mapping[str, Decimal]:
    return {name: change for name, change in changes.items() if name in quota.overall}


def _refusals(quota: LimitedNamespace, changes: Mapping[str, Decimal], after: Amounts) -> Iterator[str]:
    """Sentences, one for each resource that grows beyond the quota."""
    concerned = _concerned(quota, changes)
    then = plus(quota.used, concerned, after)
    for name in sorted(name for name, change in concerned.items() if change > 0):
        if then[name].value > quota.overall[name].value:
            yield _refusal(quota, name, then)


def _refusal(quota: LimitedNamespace, name: str, then: Amounts) -> str:
    asked, limit = (format_quantity(*amounts[name]) for amounts in (then, quota.overall))
    where = f"FederatedResourceQuota({quota.namespace}/{quota.name})"
    return f"{where} exceeded for resource {name}: requested sum {asked}, limit {limit}."


def quota_cause(refusal: str) -> str:
    """`FederatedResourceQuota default/team allows cpu 4, and 5 would be used.`, one sentence for each limit."""
    found = [
        f"FederatedResourceQuota {each['namespace']}/{each['name']} allows {each['resource']} {each['limit']}, "
        f"and {each['asked']} would be used."
        for each in QUOTA_EXCEEDED.finditer(refusal)
    ]
    return " ".join(found) or refusal
