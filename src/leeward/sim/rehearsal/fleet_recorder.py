"""Recorder of what happens in a copied world, read from its journal at the instant at which it becomes durable.

How many replicas serve is counted in the members, not in what they report: ready ones of clusters that run, whether the
control plane sees them or not.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from kubeapi.codec import decode, decode_manifest
from kubeapi.core import ConfigMap
from kubeapi.meta import Manifest, annotations_of
from kubeapi.unstructured import int_at, mapping_at
from kubecluster.journal import Write
from kubecluster.rules.pods import is_ready
from leeward.answers.decisions import fleet_of, snapshot_of
from leeward.answers.fleet_state import BindingName
from leeward.answers.reading import read_fleet
from leeward.answers.room_arithmetic import counted_by_grade
from leeward.answers.what_helps import more_by_sum
from leeward.answers.what_if import TURNS, who_is
from leeward.api.cluster import Cluster
from leeward.api.meta import find_condition
from leeward.api.names import BRAKE_NAME, EVICTION_HELD_CONDITION, SYSTEM_NAMESPACE, WORK_NAME_ANNOTATION
from leeward.api.rollout import ROLLOUT_CONDITION
from leeward.api.work import Binding, ClusterResourceBinding, ResourceBinding
from leeward.core.cluster_health.brake import parse_brake
from leeward.core.eviction.held_reasons import HeldReason
from leeward.core.placement import decide
from leeward.core.placement.concern import is_unplaced
from leeward.operations.clusters import is_application
from leeward.operations.drain import workload_of
from leeward.operations.sentences import places
from leeward.sim.rehearsal.copied_world import CopiedWorld

CLUSTERS = "/cluster.karmada.io/clusters/"
BINDINGS = {
    "/work.karmada.io/resourcebindings/": ResourceBinding,
    "/work.karmada.io/clusterresourcebindings/": ClusterResourceBinding,
}
BRAKE = f"//configmaps/{SYSTEM_NAMESPACE}/{BRAKE_NAME}"
_OURS = WORK_NAME_ANNOTATION.encode()


class Happening(Enum):
    """Subject of an entry of the time line."""

    STEP = "Step"
    CLUSTER = "Cluster"
    BRAKE = "Brake"
    MOVED = "Moved"
    HELD = "Held"
    ROLLOUT = "Rollout"
    SERVING = "Serving"
    DELETED = "Deleted"


@dataclass(frozen=True, slots=True)
class Happened:
    """`seconds` count from the scenario's beginning. `cluster` of what has moved are those that it left."""

    seconds: float
    what: Happening
    sentence: str
    cluster: str = ""
    binding: BindingName | None = None
    evicts: bool = False


@dataclass(slots=True)
class ServingRecord:
    """The replicas of one application that serve, and those that it is to have, at each change of either."""

    changes: list[tuple[float, int, int]] = field(default_factory=list[tuple[float, int, int]])

    def note(self, seconds: float, ready: int, wanted: int) -> None:
        """Notes a change; of several in one instant the last one counts."""
        if self.changes and self.changes[-1][0] == seconds:
            self.changes.pop()
        if not self.changes or self.changes[-1][1:] != (ready, wanted):
            self.changes.append((seconds, ready, wanted))

    def spans_below(self) -> Iterator[tuple[float, float | None, int, int]]:
        """Spans in which fewer serve than it is to have: from when to when (None: to the end), how few at worst, and of
        how many."""
        since, worst = None, (0, 0)
        for seconds, ready, wanted in self.changes:
            if ready < wanted:
                worst = min(worst, (ready, wanted)) if since is not None else (ready, wanted)
                since = seconds if since is None else since
            elif since is not None:
                yield since, seconds, *worst
                since = None
        if since is not None:
            yield since, None, *worst

    @property
    def fewest(self) -> tuple[int, float]:
        """Number that served at worst, and when first."""
        return min(((ready, seconds) for seconds, ready, _ in self.changes), default=(0, 0.0))

    @property
    def last(self) -> tuple[int, int]:
        return self.changes[-1][1:] if self.changes else (0, 0)


class FleetRecorder:
    """Recorder that keeps what happens from `begin` on; before, only how everything is."""

    def __init__(self, world: CopiedWorld) -> None:
        self.happened: list[Happened] = []
        self.bindings: dict[BindingName, Binding] = {}
        self.serving: dict[BindingName, ServingRecord] = defaultdict(ServingRecord)
        self.by_sum: dict[BindingName, int] = {}
        """Replicas without a place by the grades of nodes, for which the sum of the free room sufficed."""
        self.engaged = False
        self.was_engaged = False
        self._world = world
        self._zero: float | None = None
        self._clusters: dict[str, Cluster] = {}
        self._ready: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
        """Ready replicas in each member, by kind and key of a template."""
        self._deleting: set[tuple[str, str]] = set()
        self._down: set[str] = set()
        self._of: dict[tuple[str, str], BindingName] = {}
        self._without_place: set[BindingName] = set()
        """Bindings that find no place since they were asked about."""
        world.journal.on_write(self._take)

    def begin(self) -> None:
        self._zero = self._world.seconds
        self._down = {name for name, member in self._world.members.items() if not member.is_up}
        self.was_engaged = self.engaged
        for key in self.bindings:
            self._note_serving(key)

    @property
    def seconds(self) -> float:
        """Seconds since the scenario began."""
        return 0.0 if self._zero is None else self._world.seconds - self._zero

    def tell(self, what: Happening, sentence: str, **more: Any) -> None:
        if self._zero is not None:
            self.happened.append(Happened(round(self.seconds, 3), what, sentence, **more))

    def look_at_members(self) -> None:
        """Notes which of them run, after a step."""
        self._down = {name for name, member in self._world.members.items() if not member.is_up}
        for key in self.bindings:
            self._note_serving(key)

    async def ask_by_sum(self) -> None:
        """Asks for a second opinion on replicas without a place by the grades of nodes. Raises: WorldError."""
        asked, self._without_place = self._without_place, set()
        if not asked or not counted_by_grade(self._clusters.values()):
            return
        state = await read_fleet(self._world.client, self._world.clock)
        for key in sorted(asked & state.bindings.keys()):
            more = more_by_sum(state, key, decide(snapshot_of(state, key, fleet_of(state))))
            if more:
                self.by_sum[key] = max(more, self.by_sum.get(key, 0))

    def _take(self, write: Write) -> None:
        record = write.record
        if write.place != self._world.NAME:
            if _OURS in record.value:
                self._take_copy(write.place, record.key, decode_manifest(record.value), deleted=record.deleted)
            return
        if record.key.startswith(CLUSTERS):
            self._take_cluster(decode(record.value, Cluster))
        elif record.key == BRAKE:
            self._take_brake(decode(record.value, ConfigMap))
        else:
            for prefix, kind in BINDINGS.items():
                if record.key.startswith(prefix):
                    self._take_binding(decode(record.value, kind), deleted=record.deleted)

    def _take_cluster(self, cluster: Cluster) -> None:
        before = self._clusters.get(cluster.name)
        self._clusters[cluster.name] = cluster
        if before is None:
            return
        turns = [("Ready" if cluster.is_ready else "NotReady", cluster.is_ready != before.is_ready)]
        turns += [("NoExecute", cluster.has_no_execute and not before.has_no_execute)]
        for turn, has_turned in turns:
            if has_turned:
                self.tell(Happening.CLUSTER, TURNS[turn].format(who=who_is([cluster.name])), cluster=cluster.name)

    def _take_brake(self, found: ConfigMap) -> None:
        before, self.engaged = self.engaged, parse_brake(found.data).engaged
        self.was_engaged = self.was_engaged or (self._zero is not None and self.engaged)
        if before != self.engaged:
            self.tell(Happening.BRAKE, TURNS["BrakeEngaged" if self.engaged else "BrakeReleased"])

    def _take_binding(self, binding: Binding, *, deleted: bool) -> None:
        key = BindingName(binding.namespace, binding.name)
        before = self.bindings.pop(key, None)
        if deleted:
            return
        self.bindings[key] = binding
        resource = binding.spec.resource
        self._of[resource.kind, f"{resource.namespace}/{resource.name}"] = key
        if before is not None and is_application(binding):
            self._tell_of_binding(key, before, binding)
            if _lacks_place(binding) and not _lacks_place(before):
                self._without_place.add(key)
        if before is None or before.spec.replicas != binding.spec.replicas:
            self._note_serving(key)

    def _tell_of_binding(self, key: BindingName, before: Binding, now: Binding) -> None:
        was, goes_to, workload = before.spec.assigned, now.spec.assigned, workload_of(now)
        if was != goes_to:
            left = ",".join(sorted(name for name, count in was.items() if goes_to.get(name, -1) < count))
            sentence = f"{workload} goes from {places(was)} to {places(goes_to)}"
            self.tell(Happening.MOVED, sentence, binding=key, cluster=left, evicts=bool(left))
        held, was_held = held_reason(now), held_reason(before)
        if held != was_held:
            sentence = f"{workload} cannot move ({held})" if held else f"{workload} can move again"
            self.tell(Happening.HELD, sentence, binding=key)
        known, rollout = (find_condition(each.status.conditions, ROLLOUT_CONDITION) for each in (before, now))
        if rollout is not None and (
            known is None or (known.reason, known.message) != (rollout.reason, rollout.message)
        ):
            self.tell(Happening.ROLLOUT, f"{workload}: {rollout.message} ({rollout.reason})", binding=key)

    def _take_copy(self, member: str, key: str, manifest: Manifest, *, deleted: bool) -> None:
        metadata = manifest["metadata"]
        if WORK_NAME_ANNOTATION not in annotations_of(manifest) or metadata.get("ownerReferences"):
            return
        name = f"{metadata.get('namespace', '')}/{metadata['name']}"
        kind: str = manifest["kind"]
        goes = deleted or "deletionTimestamp" in metadata
        if goes and (member, key) not in self._deleting:
            self._deleting.add((member, key))
            binding = self._of.get((kind, name))
            self.tell(
                Happening.DELETED, f"{kind} {name.strip('/')} is deleted in {member}", cluster=member, binding=binding
            )
        if not goes:
            self._deleting.discard((member, key))
        self._ready[kind, name][member] = 0 if goes else ready_of(manifest)
        if (found := self._of.get((kind, name))) is not None:
            self._note_serving(found)

    def _note_serving(self, key: BindingName) -> None:
        binding = self.bindings.get(key)
        if self._zero is None or binding is None or not is_application(binding):
            return
        resource = binding.spec.resource
        copies = self._ready[resource.kind, f"{resource.namespace}/{resource.name}"]
        ready = sum(count for member, count in copies.items() if member not in self._down)
        wanted = max(1, binding.spec.replicas) if not binding.spec.asks_for_none else 0
        serving, seconds = self.serving[key], round(self.seconds, 3)
        before = serving.last if serving.changes else (wanted, wanted)
        serving.note(seconds, ready, wanted)
        if before[0] >= before[1] > 0 and ready < wanted:
            self.tell(Happening.SERVING, f"{workload_of(binding)}: {ready} of {wanted} serve", binding=key)
        elif before[0] < before[1] and ready >= wanted:
            self.tell(Happening.SERVING, f"{workload_of(binding)} serves with all {wanted} again", binding=key)


def ready_of(manifest: Mapping[str, Any]) -> int:
    """Replicas that are ready; 1 for what has none."""
    match manifest.get("kind"):
        case "Deployment" | "ReplicaSet" | "StatefulSet":
            return int_at(manifest, "status", "readyReplicas") or 0
        case "DaemonSet":
            return int_at(manifest, "status", "numberReady") or 0
        case "Job":
            status = mapping_at(manifest, "status")
            return int(status.get("ready", 0)) + int(status.get("succeeded", 0))
        case "Pod":
            return int(is_ready(manifest))
        case _:
            return 1


def _lacks_place(binding: Binding) -> bool:
    """Tells whether the scheduler finds no place for it, or for a copy that is to leave."""
    return is_unplaced(binding) or held_reason(binding) == HeldReason.NO_PLACE_TO_GO


def held_reason(binding: Binding) -> str:
    """Reason for which its eviction is held; empty where none is."""
    condition = find_condition(binding.status.conditions, EVICTION_HELD_CONDITION, "True")
    return condition.reason if condition is not None else ""
