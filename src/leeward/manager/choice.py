"""Choice of the controllers that run: the flag --controllers, under Karmada's names.

`*` is all that run by default, `foo` one more, `-foo` one less; the first that speaks of a controller decides.

The taint manager, the end of graceful evictions and application failover are parts of the scheduler's one decision.
They are not run by `*`: who names them runs them by themselves, as Karmada does, beside a scheduler that only places;
and where such a scheduler is found at work they run by themselves, too (`foreign_scheduler.py`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

HALVES = ("taint-manager", "gracefulEviction", "applicationFailover")
"""Controllers that are part of the scheduler's one decision, and that can be run without it."""
SCHEDULER = "scheduler"
DEPENDENCIES_DISTRIBUTOR = "dependenciesDistributor"
RESILIENCE = "resilience"
DESCHEDULER = "descheduler"
"""Karmada's descheduler: a component of its own."""
UNIFIED_AUTH = "unifiedAuth"
"""Gives the impersonator of each member its rights. Where it is named, and not run by `*`, it limits them to those whom
RBAC names as users of the proxy: members refuse everybody else then."""
MEMBER_SIDE = ("clusterStatus", "execution", "workStatus")
"""Run once for every Push cluster."""

BY_DEFAULT = (
    "agentAccess",
    "agentcsrapproving",
    "binding",
    "bindingStatus",
    "brake",
    "cluster",
    *MEMBER_SIDE,
    "clustertaintpolicy",
    DEPENDENCIES_DISTRIBUTOR,
    "detector",
    "federatedResourceQuotaEnforcement",
    "federatedResourceQuotaStatus",
    "federatedResourceQuotaSync",
    "namespace",
    "outage",
    RESILIENCE,
    UNIFIED_AUTH,
    "workloadRebalancer",
)
"""The controllers of a controller manager."""

ABSENT = (
    "cronFederatedHorizontalPodAutoscaler",
    "endpointSlice",
    "endpointsliceCollect",
    "endpointsliceDispatch",
    "federatedHorizontalPodAutoscaler",
    "hpa",
    "hpaReplicasSyncer",
    "multiclusterservice",
    "remedy",
    "serviceExport",
    "serviceImport",
)
"""Controllers of Karmada that Leeward has none of: they may be switched off, but not on."""

AUTOSCALED = ("hpaScaleTargetMarker", "deploymentReplicasSyncer")
"""Run where they are named, and not by `*`, as in Karmada: they write to users' templates."""

INSEPARABLE = (("binding", "bindingStatus"),)
"""One controller here, two in Karmada."""
PARTS = (("clustertaintpolicy", "cluster"),)
"""Controllers whose work another one does, too, unless they are switched off: taints have one writer."""


class ChoiceProblem(ValueError):
    """Problem of a list of controllers, told for people."""


@dataclass(frozen=True, slots=True)
class Choice:
    """`patterns` as in --controllers; `*` stands for `by_default`."""

    patterns: tuple[str, ...] = ("*",)
    by_default: frozenset[str] = frozenset((*BY_DEFAULT, SCHEDULER))

    def runs(self, name: str) -> bool:
        for pattern in self.patterns:
            if pattern.removeprefix("-") == name:
                return not pattern.startswith("-")
        return name in self.by_default and "*" in self.patterns

    def names(self, name: str) -> bool:
        """Tells whether a pattern switches this controller on by its name."""
        return self.runs(name) and name in self.patterns

    def halves_beside_a_foreign_scheduler(self) -> tuple[str, ...]:
        """Parts of the decision that are run when another scheduler than ours only places: what Karmada's controller
        manager runs by `*`. None where ours decides here, or the halves were chosen by name."""
        if self.runs(SCHEDULER) or "*" not in self.patterns or self.any_of(HALVES):
            return ()
        return tuple(name for name in HALVES if f"-{name}" not in self.patterns)

    def only(self, name: str) -> "Choice":
        """`name` if it runs, and nothing else."""
        return Choice((name,) if self.runs(name) else (), frozenset())

    def without(self, name: str) -> "Choice":
        return replace(self, patterns=(f"-{name}", *self.patterns))

    def any_of(self, names: Sequence[str]) -> bool:
        return any(map(self.runs, names))


def parse_choice(patterns: Sequence[str]) -> tuple[str, ...]:
    """Raises: ChoiceProblem for a name that is none of a controller, or of one that is not here."""
    known = (*BY_DEFAULT, SCHEDULER, *HALVES, *AUTOSCALED)
    for pattern in patterns:
        name = pattern.removeprefix("-")
        if pattern != "*" and name not in known and name not in ABSENT:
            raise ChoiceProblem(f"there is no controller {name!r}: choose from {', '.join(sorted(known))}")
        if pattern in ABSENT:
            raise ChoiceProblem(f"Leeward has no controller {name!r}: leave it out, or run Karmada's beside it")
    choice = Choice(tuple(patterns))
    for one, other in INSEPARABLE:
        if choice.runs(one) != choice.runs(other):
            raise ChoiceProblem(f"{one} and {other} are one controller here: name both, or neither")
    for part, whole in PARTS:
        if choice.runs(part) and not choice.runs(whole):
            raise ChoiceProblem(f"{part} is a part of {whole} here: name {whole}, too, or switch it off with -{part}")
    return tuple(patterns)
