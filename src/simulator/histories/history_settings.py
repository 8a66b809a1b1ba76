"""Settings of the control plane in a history: what its steps need, and nothing else that is not switched on anyway."""

from collections.abc import Callable, Iterator

from leeward.core.placement import Decision, Snapshot
from leeward.manager.gates import switch_gates
from leeward.manager.settings import EvictionSettings, ManagerSettings
from simulator.histories.model import History, LimitUsage, Preempt


def settings_of(history: History, on_decision: Callable[[Snapshot, Decision], None]) -> ManagerSettings:
    """`on_decision` is told of each decision."""
    rate = EvictionSettings(per_second=history.evictions_per_second or None)
    return ManagerSettings(eviction=rate, on_decision=on_decision, gates=switch_gates(_gates(history)))


def _gates(history: History) -> Iterator[tuple[str, bool]]:
    if any(isinstance(step, Preempt) for step in history.steps):
        yield "PropagationPolicyPreemption", True
    if any(isinstance(step, LimitUsage) for step in history.steps):
        yield "FederatedQuotaEnforcement", True
