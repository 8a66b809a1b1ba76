"""Rare situations: what a campaign must have been through, by name. One that never reached them has tested less than
it says; from `FLOOR_HISTORIES` on it is red.

Each is a small predicate on a write, on a step as it begins, or on a mishap; they are counted, never judged.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from controller_runtime import Key
from kubeapi.diff import is_equal
from leeward.api.cluster import Cluster
from leeward.api.meta import find_condition
from leeward.api.names import (
    BRAKE_NAME,
    DOUBTFUL_CONDITION,
    EVICTION_HELD_CONDITION,
    FLAPPING_TAINT,
    cluster_of_execution_space,
)
from leeward.api.work import ResourceBinding, Work
from simulator.histories import rare_moves, rare_policies, rare_propagation, rare_restores, rare_surroundings
from simulator.histories.checkers.scene import replicas_of, tasks_of
from simulator.histories.ground_truth import TEMPLATES, Change, GroundTruth
from simulator.histories.model import (
    ApiServerIsKilled,
    ClockIsWrong,
    ControllersAreKilled,
    MemberComesBackOld,
    MemberLosesData,
    Rebalance,
    Recreate,
    RecreatePolicy,
    Rejoin,
    Release,
    Replan,
    Scale,
    Step,
    TwoLeaders,
    Withdraw,
)

RARE = (
    "the brake is engaged",
    "the brake is released",
    "the controllers are killed while the brake is engaged",
    "Ready becomes False",
    "Ready becomes Unknown",
    "a NoExecute taint is set",
    "a NoExecute taint is taken off",
    "two clusters are dead at once",
    "all clusters are dead at once",
    "a cluster is held down because it flaps",
    "a member's absurd numbers are cut down",
    "an eviction starts",
    "an eviction starts while another is open",
    "an eviction takes a part of a copy",
    "an eviction ends",
    "an eviction is withdrawn",
    "a cluster recovers in the middle of an eviction",
    "an eviction is held: NoPlaceToGo",
    "an eviction is held: BrakeEngaged",
    "an eviction is held: WaitingForPurge",
    "an eviction is held: ReplacementMissing",
    "a binding is unschedulable",
    "a Work is deleted while its cluster is dead",
    "a Work cannot be applied",
    "a copy that a user changed by hand is mended",
    "the application is scaled in the middle of an eviction",
    "the policy is changed in the middle of an eviction",
    "the template is deleted in the middle of an eviction",
    "the template is made again in the middle of an eviction",
    "a release comes in the middle of an eviction",
    "a rebalancing comes in the middle of an eviction",
    "a cluster leaves in the middle of an eviction",
    "a cluster leaves while it is dead",
    "the controllers are killed in the middle of an eviction",
    "the controllers are killed between a write and its answer",
    "the API server is killed with writes under way",
    "the API server is killed in the middle of an eviction",
    "two sets of controllers see an eviction",
    "a leader goes on when its lease has ended",
    "a write is not begun because the lease has ended",
    "a shard goes on when another acts for it",
    "a shard does not begin a write that it may not",
    "a clock jumps in the middle of an eviction",
    "a member loses a copy with its data",
    "a member comes back with an old copy",
    "a watch resumes behind a compaction",
    "network: busy",
    "network: broken",
    "network: conflict",
    "network: expired",
    "network: lost",
    "network: unanswered",
    "network: lag",
    "network: repeat",
    "network: break",
    *rare_moves.MOVES,
    *rare_propagation.PROPAGATION,
    *rare_policies.POLICIES_REACHED,
    *rare_policies.ROLLOUTS_REACHED,
    *rare_restores.RESTORES,
    *rare_surroundings.SURROUNDINGS,
)
FLOOR_HISTORIES = 150
"""A campaign of so many must have been through each of them: steered histories lead there, whatever the seed."""

_OTHERS = (rare_moves, rare_propagation, rare_policies, rare_surroundings)
_WISHES: Mapping[type[Step], str] = {
    Scale: "the application is scaled in the middle of an eviction",
    Replan: "the policy is changed in the middle of an eviction",
    RecreatePolicy: "the policy is changed in the middle of an eviction",
    Withdraw: "the template is deleted in the middle of an eviction",
    Recreate: "the template is made again in the middle of an eviction",
    Release: "a release comes in the middle of an eviction",
    Rebalance: "a rebalancing comes in the middle of an eviction",
}
_FAULTS: Mapping[type[Step], str] = {
    ControllersAreKilled: "the controllers are killed in the middle of an eviction",
    ApiServerIsKilled: "the API server is killed in the middle of an eviction",
    TwoLeaders: "two sets of controllers see an eviction",
    ClockIsWrong: "a clock jumps in the middle of an eviction",
    Rejoin: "a cluster leaves in the middle of an eviction",
}
_CONTENTS: Mapping[type[Step], str] = {
    MemberLosesData: "a member loses a copy with its data",
    MemberComesBackOld: "a member comes back with an old copy",
}


class RareSituations:
    """Counts what is reached, by name."""

    def __init__(self, reached: Counter[str], truth: GroundTruth) -> None:
        self._reached = reached
        self._truth = truth
        self._meddled: dict[tuple[str, Key], int] = {}

    def told(self, *what: str) -> None:
        """Something that only its place knows of."""
        self._reached.update(what)

    def mishap(self, name: str) -> None:
        self._reached[f"network: {name}"] += 1

    def step(self, step: Step) -> None:
        """Notes a step as it begins."""
        found = [name for each in _OTHERS for name in each.of_step(self._truth, step)]
        for name in (*self._of_step(step), *found, *rare_restores.of_step(step)):
            self._reached[name] += 1

    def look(self, change: Change) -> None:
        found = [name for each in _OTHERS for name in each.of_change(self._truth, change)]
        for name in (*self._of_change(change), *found):
            self._reached[name] += 1

    def _of_step(self, step: Step) -> Iterator[str]:
        evicting = [key.name for key, binding in self._truth.bindings.items() if tasks_of(binding)]
        app = getattr(step, "app", None)
        if type(step) in _WISHES and any(name.rpartition("-")[0] == app for name in evicting):
            yield _WISHES[type(step)]
        if type(step) in _FAULTS and evicting:
            yield _FAULTS[type(step)]
        if isinstance(step, MemberLosesData | MemberComesBackOld) and self._runs_something(step.member):
            yield _CONTENTS[type(step)]
        if isinstance(step, ControllersAreKilled) and self._brake_is_engaged():
            yield "the controllers are killed while the brake is engaged"
        if isinstance(step, Rejoin) and _is_dead(self._truth.clusters.get(step.cluster)):
            yield "a cluster leaves while it is dead"

    def _of_change(self, change: Change) -> Iterator[str]:
        match change.new if change.new is not None else change.old:
            case Cluster():
                yield from self._of_cluster(change.old, change.new)
            case ResourceBinding():
                yield from self._of_binding(change.old, change.new)
            case Work():
                yield from self._of_work(change, change.old, change.new)
            case _ if change.key.name == BRAKE_NAME and change.new is not None:
                before = change.old is not None and "since" in change.old.get("data", {})
                after = "since" in change.new.get("data", {})
                if before != after:
                    yield "the brake is engaged" if after else "the brake is released"
            case _ if change.kind == TEMPLATES[0] and change.old is not None and change.new is not None:
                if self._is_mended(change):
                    yield "a copy that a user changed by hand is mended"
            case _:
                pass

    def _of_cluster(self, old: Cluster | None, new: Cluster | None) -> Iterator[str]:
        if old is None or new is None:
            return
        before, after = old.ready, new.ready
        if before is not None and after is not None and before.status != after.status:
            yield f"Ready becomes {after.status}"
            if after.status == "True" and any(new.name in tasks_of(b) for b in self._truth.bindings.values()):
                yield "a cluster recovers in the middle of an eviction"
            yield from self._of_fleet()
        if _no_execute(old) != _no_execute(new):
            yield "a NoExecute taint is set" if _no_execute(new) else "a NoExecute taint is taken off"
        if any(t.key == FLAPPING_TAINT for t in new.taints):
            yield "a cluster is held down because it flaps"
        if find_condition(new.status.conditions, DOUBTFUL_CONDITION) is not None:
            yield "a member's absurd numbers are cut down"

    def _of_fleet(self) -> Iterator[str]:
        clusters = self._truth.clusters.values()
        dead = sum(map(_is_dead, clusters))
        if dead > 1:
            yield "two clusters are dead at once"
        if dead == len(clusters):
            yield "all clusters are dead at once"

    def _of_binding(self, old: ResourceBinding | None, new: ResourceBinding | None) -> Iterator[str]:
        if old is None or new is None:
            return
        before, after = tasks_of(old), tasks_of(new)
        started, ended = set(after) - set(before), set(before) - set(after)
        if started:
            yield "an eviction starts"
            if before:
                yield "an eviction starts while another is open"
        if set(after) & set(replicas_of(new)):
            yield "an eviction takes a part of a copy"
        for name in ended:
            taken_back = replicas_of(new).get(name, 0) > replicas_of(old).get(name, 0)
            yield "an eviction is withdrawn" if taken_back else "an eviction ends"
        held = find_condition(new.status.conditions, EVICTION_HELD_CONDITION)
        if held is not None:
            yield f"an eviction is held: {held.reason}"
        scheduled = find_condition(new.status.conditions, "Scheduled")
        if scheduled is not None and scheduled.status == "False":
            yield "a binding is unschedulable"

    def _of_work(self, change: Change, old: Work | None, new: Work | None) -> Iterator[str]:
        if new is None:
            return
        cluster = self._truth.clusters.get(cluster_of_execution_space(change.key.namespace))
        begun = old is not None and old.metadata.deletion_timestamp is None
        if begun and new.metadata.deletion_timestamp is not None and _is_dead(cluster):
            yield "a Work is deleted while its cluster is dead"
        if new.applied is not None and new.applied.status == "False":
            yield "a Work cannot be applied"

    def _is_mended(self, change: Change) -> bool:
        """Tells whether it asks for as many replicas again as before somebody meddled with it; the label may stay."""
        copy, before, after = (change.place, change.key), change.old["spec"]["replicas"], change.new["spec"]["replicas"]
        if "meddled" in _labels(change.new) and "meddled" not in _labels(change.old):
            self._meddled[copy] = before
            return False
        return not is_equal(before, after) and is_equal(self._meddled.get(copy), after)

    def _runs_something(self, member: str) -> bool:
        return any(key.namespace == "default" for kind in TEMPLATES for key in self._truth.of(kind, member))

    def _brake_is_engaged(self) -> bool:
        brake = self._truth.brake
        return brake is not None and "since" in brake.get("data", {})


def _is_dead(cluster: Cluster | None) -> bool:
    return cluster is not None and cluster.ready is not None and cluster.ready.status != "True"


def _no_execute(cluster: Cluster) -> bool:
    return any(taint.effect == "NoExecute" for taint in cluster.taints)


def _labels(manifest: dict[str, dict[str, dict[str, str]]]) -> dict[str, str]:
    return manifest["metadata"].get("labels", {})
