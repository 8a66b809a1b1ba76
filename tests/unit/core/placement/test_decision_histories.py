"""Random histories of the one decision: whatever happens, an eviction ends, is withdrawn, or says why it is held.

Clusters die, return and are drained, copies fail and recover, room comes and goes, the user scales; after each of these
decisions are written until there is nothing left to decide. In the end all is healed and left alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Literal

import msgspec
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kubeapi.core import Taint
from leeward.api.cluster import Cluster
from leeward.api.names import FAILBACK_ANNOTATION
from leeward.api.policy import ApplicationFailover, DecisionConditions, FailoverBehavior
from leeward.api.work import ResourceBinding, Work
from leeward.core.execution.works import replicas_by_cluster
from leeward.core.placement import Decision, PlacementSettings, Snapshot, decide
from leeward.core.scheduling import Placed
from leeward.planning import Fleet
from tests.builders import aggregated, at, binding, cluster, dead, divided, duplicated, fleet, targets, work
from tests.rooms import AGGREGATED, DYNAMIC, roomy, spread

CLUSTERS = ("m1", "m2", "m3")
SETTINGS = PlacementSettings()
GRACE_SECONDS = 600
QUIET_AFTER = 12
"""Decisions in a row, at one instant, after which there must be nothing left to decide."""

Verb = Literal["kill", "revive", "drain", "undrain", "fail", "mend", "fill", "empty", "scale", "start", "wait"]
Action = tuple[Verb, str, int]


@dataclass
class History:
    """Truth about the members, and the binding as it was written last."""

    binding: ResourceBinding
    seconds: float = 0
    dead_since: dict[str, float] = field(default_factory=dict[str, float])
    drained_since: dict[str, float] = field(default_factory=dict[str, float])
    failing: set[str] = field(default_factory=set[str])
    full: set[str] = field(default_factory=set[str])
    ready: dict[str, int] = field(default_factory=dict[str, int])
    last: Decision | None = None
    says_why: bool = False
    """Tells whether the last attempt to schedule found no room: that stands in the status until the next one."""
    is_asked: bool = False
    """Tells whether the last action was a user's request, which is done at once."""

    def do(self, action: Action) -> None:
        verb, name, number = action
        self.is_asked = verb == "scale"
        match verb:
            case "kill":
                self.dead_since.setdefault(name, self.seconds)
                self.ready.pop(name, None)
            case "revive":
                self.dead_since.pop(name, None)
            case "drain":
                self.drained_since.setdefault(name, self.seconds)
            case "undrain":
                self.drained_since.pop(name, None)
            case "fail":
                self.failing.add(name)
            case "mend":
                self.failing.discard(name)
            case "fill":
                self.full.add(name)
            case "empty":
                self.full.discard(name)
            case "scale":
                spec = msgspec.structs.replace(self.binding.spec, replicas=number)
                self.binding = msgspec.structs.replace(self.binding, spec=spec)
            case "start":
                self.start_pods()
            case "wait":
                self.wait(number * 100)
        self.settle()

    def wait(self, seconds: float) -> None:
        """Looks again at every instant that a decision named."""
        end = self.seconds + seconds
        while self.last is not None and self.last.wake_at is not None and self.last.wake_at < at(end):
            self.seconds = max(self.seconds, (self.last.wake_at - at(0)).total_seconds())
            self.settle()
        self.seconds = end
        self.settle()

    def start_pods(self) -> None:
        """Makes ready what the members are to run, where it can be."""
        self.ready = {name: count for name, count in self._wanted().items() if name not in self.dead_since}

    def settle(self) -> None:
        for _ in range(QUIET_AFTER):
            before = self.binding
            self._decide()
            if self.binding == before:
                self._check_tasks()
                return
        raise AssertionError(f"it does not come to rest: {self.binding.spec.clusters}")

    def heal(self) -> None:
        for state in (self.dead_since, self.drained_since, self.failing, self.full):
            state.clear()
        self.is_asked = False
        for _ in range(8):
            self.settle()
            self.start_pods()
            self.wait(GRACE_SECONDS / 2)

    def _decide(self) -> None:
        healthy = self._seen_healthy()
        decision = self.last = decide(
            Snapshot(self.binding, self._fleet(), self._works(), settings=SETTINGS, now=at(self.seconds))
        )
        annotations = {**self.binding.metadata.annotations, **decision.annotations}
        kept = {key: value for key, value in annotations.items() if value is not None}
        spec = msgspec.structs.replace(
            self.binding.spec, clusters=decision.clusters, graceful_eviction_tasks=decision.eviction_tasks
        )
        metadata = msgspec.structs.replace(self.binding.metadata, annotations=kept)
        self.binding = msgspec.structs.replace(self.binding, spec=spec, metadata=metadata)
        self._check(decision, healthy)

    def _check(self, decision: Decision, healthy_before: Mapping[str, int]) -> None:
        spec, asked = self.binding.spec, self._wanted()
        assert all(target.replicas > 0 for target in spec.clusters)
        if spec.is_divided:
            total = sum(target.replicas for target in spec.clusters)
            if decision.result is not None:
                self.says_why = not isinstance(decision.result, Placed)
            assert total == spec.replicas or self.says_why, "S3"
        if not self.is_asked:
            kept = sum(min(count, asked.get(name, 0)) for name, count in healthy_before.items())
            assert kept >= min(sum(healthy_before.values()), spec.replicas), "S1"

    def _check_tasks(self) -> None:
        for task in self.binding.spec.graceful_eviction_tasks:
            assert task.creation_timestamp is not None
            is_late = at(self.seconds) > task.creation_timestamp + timedelta(seconds=GRACE_SECONDS + 1)
            assert not is_late or (self.last and self.last.held), "what takes long says why"

    def _seen_healthy(self) -> dict[str, int]:
        """The ready replicas of copies of which all are ready, where they are seen."""
        asked = self._wanted()
        return {
            name: asked[name]
            for name, count in self.ready.items()
            if name not in self.failing and count >= asked.get(name, count + 1)
        }

    def _wanted(self) -> Mapping[str, int]:
        return replicas_by_cluster(self.binding.spec)

    def _fleet(self) -> Fleet:
        return fleet(*map(self._cluster, CLUSTERS))

    def _cluster(self, name: str) -> Cluster:
        if name in self.dead_since:
            return dead(name, self.dead_since[name])
        since = self.drained_since.get(name)
        drain = () if since is None else (Taint(key="leeward.dev/drain", effect="NoExecute", time_added=at(since)),)
        return roomy(cluster(name, taints=drain), 1 if name in self.full else 40)

    def _works(self) -> dict[str, Work]:
        """Reports of the members that answer, as fresh as can be."""
        return {
            name: work(name, None if name in self.failing else min(count, self.ready.get(name, 0)), self.seconds)
            for name, count in self._wanted().items()
            if name not in self.dead_since
        }


verbs = st.sampled_from(
    ["kill", "revive", "drain", "undrain", "fail", "mend", "fill", "empty", "scale", "start", "wait"]
)
actions = st.tuples(verbs, st.sampled_from(CLUSTERS), st.integers(1, 9))
application = FailoverBehavior(
    application=ApplicationFailover(DecisionConditions(60), purge_mode="Gracefully", grace_period_seconds=GRACE_SECONDS)
)
bindings = st.sampled_from(
    [
        binding(divided(dict.fromkeys(CLUSTERS, 1)), 4, targets(m1=2, m2=2)),
        binding(duplicated(*CLUSTERS, groups=2), 2, targets(m1=2, m2=2)),
        binding(duplicated(*CLUSTERS), 2, targets(m1=2, m2=2, m3=2)),
        spread(DYNAMIC, {"m1": 3, "m2": 1}),
        spread(AGGREGATED, {"m1": 4}),
    ]
)


@settings(max_examples=150, deadline=None, print_blob=False)
@given(bindings, st.booleans(), st.booleans(), st.lists(actions, max_size=14))
@example(
    spread(DYNAMIC, {"m1": 3, "m2": 1}),
    False,
    False,
    [("kill", "m3", 1), ("drain", "m2", 1), ("kill", "m1", 1), ("scale", "m1", 6)],
)
def test_l3_every_eviction_ends_is_withdrawn_or_says_why_it_is_held(
    bound: ResourceBinding, fails_over: bool, fails_back: bool, story: list[Action]
) -> None:
    """Holds: S1, S3, L1, L3."""
    annotations = {**bound.metadata.annotations, **({FAILBACK_ANNOTATION: "Automatic"} if fails_back else {})}
    history = History(
        aggregated(
            msgspec.structs.replace(
                bound,
                metadata=msgspec.structs.replace(bound.metadata, annotations=annotations),
                spec=msgspec.structs.replace(bound.spec, failover=application if fails_over else None),
            )
        )
    )
    history.start_pods()
    for action in story:
        history.do(action)
    history.heal()
    assert history.binding.spec.graceful_eviction_tasks == ()
    assert history.last is not None
    assert history.last.held is None
