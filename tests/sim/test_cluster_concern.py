"""Changes that do not concern a binding, in histories of faults. At each decision that leaves a binding as it is, all
that each cluster has been so far is tried once more, and other reports of its copies; it must change nothing where the
binding would not be woken: the cluster does not concern it, or nothing of the cluster has changed that matters.
"""

import dataclasses
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import msgspec
import pytest

from leeward.api.cluster import Cluster
from leeward.api.work import AggregatedStatusItem, Binding
from leeward.controllers.scheduler import event_handlers
from leeward.core.cluster_health.pending_condition import is_failing
from leeward.core.copies.evidence import FULLY_APPLIED
from leeward.core.placement import Decision, Snapshot, concern
from leeward.core.placement.concern import ClusterConcern, concern_of, is_decided_alike
from leeward.planning.batch import owner_of
from leeward.planning.fleet import Fleet
from leeward.planning.group_decisions import decide_together
from leeward.planning.recording import decode_recorded, encode_snapshot
from simulator.histories.decision_replay import DecisionReplay
from simulator.histories.generator import draw_history
from simulator.histories.model import History
from simulator.histories.playing import play
from tests import concerns
from tests.concerns import difference, why_concerned, written

SEEDS = (8, 12, 16, 24, 36, 52, 60)
"""Seeds of histories in which much rests while clusters change."""
MOST_STATES = 12
"""Number of states that are remembered of each cluster."""


@dataclass
class OtherFleets:
    """States of the clusters so far, and what bindings at rest have come to in them."""

    states: defaultdict[str, list[Cluster | None]] = field(
        default_factory=lambda: defaultdict[str, list[Cluster | None]](list)
    )
    reached: Counter[bool] = field(default_factory=Counter[bool])
    immaterial: int = 0
    reports: Counter[bool] = field(default_factory=Counter[bool])
    settled: Counter[bool] = field(default_factory=Counter[bool])
    """Number of decisions after which nobody looks at what was written, by whether a move has ended."""
    missed: list[str] = field(default_factory=list[str])

    def look(self, snapshot: Snapshot, decision: Decision) -> None:
        self._remember(snapshot)
        placed = written(snapshot.binding, decision, snapshot.now)
        if placed != snapshot.binding:
            if concern.is_settled(snapshot.binding, placed, decision):
                self.settled[bool(decision.finished)] += 1
                self._look_again(snapshot, placed)
            return
        again = decode_recorded(encode_snapshot(snapshot))[0]
        assert isinstance(again.clusters, Fleet)
        self._report(again, decision)
        for name, states in self.states.items():
            present = again.clusters.get(name)
            for state in (each for each in states if each != present):
                self._try(again, again.clusters, decision, name, state)

    def _look_again(self, snapshot: Snapshot, placed: Binding) -> None:
        """Decides on what was written, at the same instant."""
        known: Any = placed
        after = decide_together(dataclasses.replace(decode_recorded(encode_snapshot(snapshot))[0], binding=known))
        if written(placed, after, snapshot.now) != placed or after.wake_at is not None:
            self.missed.append(f"{owner_of(placed)} is not settled: {after}")

    def _try(self, again: Snapshot, fleet: Fleet, decision: Decision, name: str, state: Cluster | None) -> None:
        present = fleet.get(name)
        grounds = why_concerned(again.binding, decision, *(each for each in (present, state) if each is not None))
        self.reached[bool(grounds)] += 1
        if grounds and (present is None or state is None or matters(present, state)):
            return
        self.immaterial += bool(grounds)
        _become(fleet, name, state)
        if what := difference(decision, decide_together(again)):
            self.missed.append(f"{owner_of(again.binding)}, {name} as it was before: {what}")
        _become(fleet, name, present)

    def _report(self, again: Snapshot, decision: Decision) -> None:
        """Decides with other reports of the copies, and with none."""
        binding = again.binding
        for health in ("Unhealthy", "Unknown", ""):
            items = tuple(AggregatedStatusItem(t.name, health=health) for t in binding.spec.clusters if health)
            conditions = tuple(each for each in binding.status.conditions if each.type != FULLY_APPLIED)
            status = msgspec.structs.replace(binding.status, aggregated_status=items, conditions=conditions)
            reported: Any = msgspec.structs.replace(binding, status=status)
            is_alike = is_decided_alike(binding, reported)
            self.reports[is_alike] += 1
            if is_alike and (
                what := difference(decision, decide_together(dataclasses.replace(again, binding=reported)))
            ):
                self.missed.append(f"{owner_of(binding)}, reported as {health or 'nothing'}: {what}")

    def _remember(self, snapshot: Snapshot) -> None:
        names = {*snapshot.clusters, *self.states}
        for name in sorted(names):
            known, cluster = self.states[name], snapshot.clusters.get(name)
            if cluster not in known:
                known.append(cluster)
                del known[:-MOST_STATES]


def matters(old: Cluster, new: Cluster) -> bool:
    """Tells whether the scheduler would wake anybody for this change; a Ready that has turned, and turned back, would
    have been seen to turn."""
    turned = [cluster.ready.last_transition_time if cluster.ready else "" for cluster in (old, new)]
    summaries = [cluster.status.resource_summary for cluster in (old, new)]
    is_seen = turned[0] != turned[1] or summaries[0] != summaries[1] or is_failing(old) != is_failing(new)
    return is_seen or event_handlers.may_change_placements(old, new)


def _become(fleet: Fleet, name: str, state: Cluster | None) -> None:
    if state is None:
        fleet.remove(name)
    else:
        fleet.put(state)


def compare(history: History) -> OtherFleets:
    """Plays a history, and looks at each decision of it."""
    fleets, look = OtherFleets(), DecisionReplay.look

    def look_twice(self: DecisionReplay, snapshot: Snapshot, decision: Decision) -> None:
        look(self, snapshot, decision)
        fleets.look(snapshot, decision)

    with mock.patch.object(DecisionReplay, "look", look_twice):
        run = play(history)
    assert run.violations == []
    return fleets


@pytest.mark.long
def test_in_histories_what_does_not_concern_a_binding_that_rests_changes_nothing() -> None:
    reached, reports, settled, immaterial = Counter[bool](), Counter[bool](), Counter[bool](), 0
    for seed in SEEDS:
        fleets = compare(draw_history(seed))
        assert fleets.missed == [], seed
        reached += fleets.reached
        reports += fleets.reports
        settled += fleets.settled
        immaterial += fleets.immaterial
    assert reached[False] >= 500
    assert reached[True] >= 1000
    assert immaterial >= 100
    assert reports[True] >= 300
    assert reports[False] >= 300
    assert settled[False] >= 10
    assert settled[True] >= 5


@pytest.mark.long
def test_what_is_said_to_be_settled_and_is_not_is_found() -> None:
    with mock.patch.object(concern, "is_settled", return_value=True):
        assert any("is not settled" in missed for missed in compare(draw_history(SEEDS[0])).missed)


@pytest.mark.long
@pytest.mark.parametrize(
    ("forgotten", "seed"),
    [({"names": frozenset[str]()}, 3), ({"affinities": None}, 16)],
    ids=["where it is", "where it may go"],
)
def test_a_ground_that_is_forgotten_is_found(forgotten: dict[str, Any], seed: int) -> None:
    def forgetful(binding: Binding) -> ClusterConcern:
        return dataclasses.replace(concern_of(binding), **forgotten)

    with mock.patch.object(concerns, "concern_of", forgetful):
        assert compare(draw_history(seed)).missed


@pytest.mark.long
def test_a_change_that_matters_and_wakes_nobody_is_found() -> None:
    """Specs and taints of Clusters count for nothing."""
    with mock.patch.object(concern, "is_specified_otherwise", return_value=False):
        assert compare(draw_history(2)).missed
