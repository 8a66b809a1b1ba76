"""Authority: what of a binding is ours to decide. Asked first; nothing that follows overrules it.

Scheduling can be suspended, the binding can name another scheduler, and parts of the decision can be left to another
process (Karmada's scheduler beside our controllers, or the other way round). Holds: S9.
"""

from dataclasses import dataclass

from leeward.api.work import Binding, ResourceBindingSpec
from leeward.core.placement.snapshot import DEFAULT_SCHEDULER, PlacementSettings
from leeward.core.scheduling import Unplaceable


@dataclass(frozen=True, slots=True)
class Authority:
    """Rights to change the binding, each by itself.

    places            give copies a place, and take an eviction back
    evicts            begin evictions for taints
    fails_over        begin evictions for failed applications
    finishes          end evictions
    withdraws         take back the eviction from a cluster that is well again
    returns           bring copies home
    refusal           why no place is looked for; None where one may be
    """

    places: bool
    evicts: bool
    fails_over: bool
    finishes: bool
    withdraws: bool
    returns: bool
    refusal: Unplaceable | None


def authority_over(binding: Binding, settings: PlacementSettings) -> Authority:
    """Rights of this process over the binding.

    Where another process places, only what its scheduler has seen can be a replacement: evictions end after that.
    """
    places = may_schedule(binding.spec, settings)
    is_observed = binding.status.scheduler_observed_generation == binding.metadata.generation
    return Authority(
        places=places,
        evicts=settings.evict,
        fails_over=settings.watch,
        finishes=settings.finish and (settings.place or settings.exact_health or is_observed),
        withdraws=settings.withdraw and places,
        returns=settings.graceful and places,
        refusal=None if places else _refusal(binding.spec),
    )


def may_schedule(spec: ResourceBindingSpec, settings: PlacementSettings) -> bool:
    """Tells whether placing the binding is ours to do, now."""
    return settings.place and not _is_suspended(spec) and _scheduler_of(spec) == settings.scheduler_name


def _refusal(spec: ResourceBindingSpec) -> Unplaceable:
    if _is_suspended(spec):
        return Unplaceable("Error", "scheduling of this binding is suspended", {})
    return Unplaceable("Error", f"it is placed by another scheduler, {spec.scheduler_name}", {})


def _is_suspended(spec: ResourceBindingSpec) -> bool:
    return spec.suspension is not None and bool(spec.suspension.scheduling)


def _scheduler_of(spec: ResourceBindingSpec) -> str:
    return spec.scheduler_name or DEFAULT_SCHEDULER
