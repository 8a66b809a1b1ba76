"""Planted bugs of policies that take over, policies that wait, and quotas."""

from collections.abc import Mapping
from typing import Any
from unittest import mock

import msgspec

from leeward.controllers.detector import detector
from leeward.controllers.quota import quota_sync
from leeward.controllers.scheduler import scheduling_cycle
from leeward.core.placement import within_usage
from leeward.core.propagation.activation import Activation
from leeward.manager.quota_admission import QuotaAdmission
from leeward.runtime import policy_index
from simulator.histories.model import History, LimitUsage, MemberStops, Preempt
from simulator.histories.steered.casting import evenly, web
from simulator.histories.steered.policies import governed
from tests.sim.planted import nothing_wrong
from tests.sim.planted_harm import PUSHED, Harm, both, steered


def _above(priority: int) -> History:
    """A policy of this priority comes to an application, and m1 dies behind it."""
    return History(
        seed=9,
        members=PUSHED,
        steps=(
            web(evenly("m1", "m2"), 4),
            Preempt(at=76, app="web", name="above", plan=evenly("m2", "m3"), priority=priority),
            MemberStops(at=90, lasts=30, member="m1"),
        ),
    )


_LIMITS = History(
    seed=9,
    members=PUSHED,
    steps=(
        web(evenly("m1", "m2"), 4),
        LimitUsage(at=50, cpu=10, assigned=("m1", "m2")),
        LimitUsage(at=80, cpu=10, assigned=("m2", "m3")),
    ),
)


def _take_over_below() -> Any:
    """Policies take over that ask for it, whatever their priority."""
    return mock.patch.object(policy_index, "preempts", return_value=True)


def _take_nothing_over() -> Any:
    return mock.patch.object(policy_index, "preempts", return_value=False)


def _do_not_wait() -> Any:
    """A lazy policy takes effect like any other."""
    return mock.patch.object(detector, "decide_activation", return_value=Activation())


def _wait_for_ever() -> Any:
    """A lazy policy has effect once, and never again."""

    def waiting(_template: Any, _policy: Any, binding: Any) -> Activation:
        return Activation(waits=binding is not None)

    return mock.patch.object(detector, "decide_activation", waiting)


def _count_nobody_else() -> Any:
    """Each binding has the whole quota."""
    return mock.patch.object(QuotaAdmission, "_others", return_value=iter(()))


def _shrink_under_a_quota() -> Any:
    """Bindings that are refused more lose one of what they have, and nobody checks that."""
    as_assigned = within_usage.as_assigned

    def less(binding: Any) -> Any:
        found = as_assigned(binding)
        replicas = max(1, found.spec.replicas - 1)
        return msgspec.structs.replace(found, spec=msgspec.structs.replace(found.spec, replicas=replicas))

    return both(
        mock.patch.object(within_usage, "as_assigned", less),
        mock.patch.object(scheduling_cycle, "check", nothing_wrong),
    )


def _leave_limits_behind() -> Any:
    """Limits that a quota assigns no more stay in the clusters."""
    return mock.patch.object(quota_sync, "needless", return_value=iter(()))


POLICIES: Mapping[str, Harm] = {
    "take over below": Harm(_take_over_below, "S17", _above(0)),
    "take nothing over": Harm(_take_nothing_over, "L1", _above(5)),
    "do not wait for the template": Harm(_do_not_wait, "S17", steered(governed)),
    "wait for the template for ever": Harm(_wait_for_ever, "L1", steered(governed)),
    "count nobody else": Harm(_count_nobody_else, "S18", steered(governed)),
    "shrink under a quota": Harm(_shrink_under_a_quota, "S1", steered(governed)),
    "leave limits behind": Harm(_leave_limits_behind, "L1", _LIMITS),
}
