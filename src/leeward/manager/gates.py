"""Feature gates, under Karmada's names: their defaults, and which can be switched."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from leeward.core.admission_warnings import GATES_WARNED_OF


class GateProblem(ValueError):
    """Problem of the setting of a gate, told for people."""


@dataclass(frozen=True, slots=True)
class Gate:
    """`fixed` says why it cannot be switched; empty: it can."""

    name: str
    default: bool
    fixed: str = ""


_ABSENT = "Leeward does not have it; run without it"

GATES = (
    Gate("Failover", True),
    Gate("GracefulEviction", True),
    Gate("CustomizedClusterResourceModeling", True),
    Gate("PropagateDeps", True),
    Gate("PriorityBasedScheduling", True),
    Gate("StatefulFailoverInjection", True),
    Gate("PropagationPolicyPreemption", False),
    Gate("ResourceQuotaEstimate", False),
    Gate("FederatedQuotaEnforcement", False),
    Gate("MultiplePodTemplatesScheduling", False),
    Gate("WorkloadAffinity", False),
    Gate("MultiClusterService", False, _ABSENT),
)
WITHOUT_EFFECT: Mapping[str, str] = {
    "ContextualLogging": "the log is written to standard error, one line an event",
    "ControllerPriorityQueue": "what is urgent is always taken first",
    "LoggingAlphaOptions": "the log is written to standard error, one line an event",
    "LoggingBetaOptions": "the log is written to standard error, one line an event",
}
"""Gates of Karmada's that change nothing here, however they are set, and why."""
BY_NAME: Mapping[str, Gate] = {gate.name: gate for gate in GATES}


@dataclass(frozen=True, slots=True)
class FeatureGates:
    """Gates that were switched; everything else is as by default."""

    switched: Mapping[str, bool] = field(default_factory=dict[str, bool])

    def enabled(self, name: str) -> bool:
        """Raises: KeyError for a gate that there is not."""
        return self.switched.get(name, BY_NAME[name].default)

    @property
    def warned_of(self) -> tuple[str, ...]:
        """Gates that are on, of those of which a warning says that they are off by default."""
        return tuple(filter(self.enabled, GATES_WARNED_OF))


_GROUPS = {"AllAlpha": False, "AllBeta": True}
"""All gates that are so by default and can be switched, as in Kubernetes; one that is named itself is as said."""


def switch_gates(settings: Iterable[tuple[str, bool]]) -> FeatureGates:
    """Raises: GateProblem for a gate that there is not, or that cannot be switched so."""
    switched: dict[str, bool] = {}
    for name, enabled in sorted(settings, key=lambda setting: setting[0] not in _GROUPS):
        if name in _GROUPS:
            switched |= {gate.name: enabled for gate in GATES if gate.default is _GROUPS[name] and not gate.fixed}
            continue
        if name in WITHOUT_EFFECT:
            continue
        gate = BY_NAME.get(name)
        if gate is None:
            raise GateProblem(f"there is no feature gate {name!r}: choose from {', '.join(sorted(BY_NAME))}")
        if gate.fixed and enabled != gate.default:
            raise GateProblem(f"{name} cannot be {str(enabled).lower()}: {gate.fixed}")
        switched[name] = enabled
    return FeatureGates(switched)
