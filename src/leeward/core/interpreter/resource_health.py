"""Health of a member object, as its Work reports it. One row for each word; no text is compared elsewhere.

Karmada: `ResourceHealth` of the Work API. An object of which nobody has said anything has none of them.
"""

from dataclasses import dataclass
from enum import StrEnum

from leeward.api.work import AggregatedStatusItem, ManifestStatus


class ResourceHealth(StrEnum):
    HEALTHY = "Healthy"
    UNHEALTHY = "Unhealthy"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True)
class HealthRules:
    """Meaning of a word.

    is_well         the copy may be relied upon (S1)
    has_failed      application failover counts how long it is so
    ends_failure    application failover begins anew when the copy fails again
    is_known        it is told soon
    """

    is_well: bool
    has_failed: bool
    ends_failure: bool
    is_known: bool


_HEALTHY = HealthRules(is_well=True, has_failed=False, ends_failure=True, is_known=True)
_UNHEALTHY = HealthRules(is_well=False, has_failed=True, ends_failure=False, is_known=True)
_UNKNOWN = HealthRules(is_well=False, has_failed=False, ends_failure=True, is_known=False)
_NOTHING_SAID = HealthRules(is_well=False, has_failed=False, ends_failure=False, is_known=True)


_RULES = dict(zip(ResourceHealth, (_HEALTHY, _UNHEALTHY, _UNKNOWN), strict=True))


def rules_of_health(health: ResourceHealth) -> HealthRules:
    return _RULES[health]


def health_in(report: ManifestStatus | AggregatedStatusItem) -> ResourceHealth | None:
    """None where nothing is said of it."""
    return ResourceHealth(report.health) if report.health else None


def health_rules_in(report: ManifestStatus | AggregatedStatusItem) -> HealthRules:
    health = health_in(report)
    return _NOTHING_SAID if health is None else rules_of_health(health)
