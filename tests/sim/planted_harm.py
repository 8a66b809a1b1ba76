"""Planted bugs that take away what runs and serves, each with the checker that must find it, and in which history.

Each history is steered (`simulator/histories/steered`): the bug meets the situation in which it does harm.
"""

import asyncio
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from unittest import mock

import msgspec

from controller_runtime.informer import Informer
from controller_runtime.queue import WorkQueue
from kubeapi.loop.lag import EventLoopLag
from kubeapi.meta import Manifest
from kubeclient import Client
from leeward.api.cluster import Cluster
from leeward.api.resource import CLUSTERS
from leeward.api.work import Binding, ResourceBindingSpec, Work
from leeward.controllers.binding import foreign_deletions, scale_downs, work_rendering
from leeward.controllers.cluster_status import ClusterStatusController
from leeward.controllers.execution import ExecutionController, found_removals
from leeward.controllers.execution.object_removal import ObjectRemoval
from leeward.controllers.removals import removal_holds, returned_copies
from leeward.controllers.removals.removal_holds import RemovalHolds
from leeward.controllers.scheduler import scheduling_cycle
from leeward.core.cluster_health.watched_time import UNKEPT
from leeward.core.copies import disruption
from leeward.core.copies.availability import wanted_by_itself
from leeward.core.copies.disruption import CopyTable, KnownCopy
from leeward.core.eviction import progress, withdrawal
from leeward.core.eviction.stalled_replacements import StalledTargets
from leeward.core.execution import removal, settling
from leeward.core.execution.works import build_works
from leeward.core.overrides.rendering import Overridden
from leeward.core.placement import PlacementSettings, actions, situation
from leeward.core.placement.situation import Situation
from leeward.core.placement.snapshot import Authority, authority_over
from leeward.core.scheduling import Placed
from leeward.operations import orphans
from leeward.runtime.heartbeat import HeartbeatView
from simulator.histories.model import (
    AgentIsKilled,
    AnyStep,
    Deploy,
    History,
    HubIsRestored,
    HubIsSuspended,
    MemberRefusesWrites,
    MemberStops,
    Mode,
    NodesAreCordoned,
    Plan,
    Provide,
    Read,
    Rejoin,
    Replan,
    RestartPod,
    Scale,
)
from simulator.histories.steered import EVERY, STEERED, steer
from simulator.histories.steered.casting import Casting, evenly, web
from simulator.histories.steered.evictions import cut_off_while_stuck, in_vain, stuck
from simulator.histories.steered.hub import away
from simulator.histories.steered.members import refusing
from simulator.histories.steered.people import failing, shared, shared_with_room, suspended
from simulator.histories.steered.restored_hub import overtaken
from tests.sim.planted import nothing_wrong

PUSHED: tuple[tuple[str, Mode], ...] = (("m1", "Push"), ("m2", "Push"), ("m3", "Push"))


@dataclass(frozen=True, slots=True)
class Harm:
    """`plant` puts the bug in; `breaks` is the invariant that must be seen to be broken in `history`."""

    plant: Callable[[], Any]
    breaks: str
    history: History


def steered(story: Callable[[Casting], Sequence[AnyStep]], turn: int = 0) -> History:
    """The history of the first seed that is led there, without anything that is drawn into it."""
    seed = EVERY * (turn * len(STEERED) + STEERED.index(story)) + 1
    history = steer(seed, lambda history: history)
    assert history is not None
    return history


def _end_evictions_by_time() -> Any:
    """A task that is past its grace period ends, whatever the old copy serves."""

    def by_time(open_task: Any) -> Any:
        return open_task.grace_end + timedelta(microseconds=1)

    return _ending_by(*progress.LEEWARD_LAW.rules, by_time)


def _end_evictions_under_the_brake() -> Any:
    """A task that is past its grace period ends, whatever the old copy serves, while the brake is on."""

    def by_time(open_task: Any) -> Any:
        return open_task.grace_end + timedelta(microseconds=1) if open_task.brake else None

    brake = progress._waits_for_brake  # pyright: ignore[reportPrivateUsage]
    return _ending_by(*(rule for rule in progress.LEEWARD_LAW.rules if rule is not brake), by_time)


def _ending_by(*rules: Any) -> Any:
    """Evictions end by these rules, and nobody checks decisions."""
    law = progress.LEEWARD_LAW._replace(rules=rules)
    return both(
        mock.patch.object(situation.Situation, "law", law),
        mock.patch.object(scheduling_cycle, "check", nothing_wrong),
    )


def _forget_what_is_leaving() -> Any:
    """No Works are built for clusters that are being left, so that theirs are deleted at once."""

    def built(binding: Binding, *arguments: Any, **more: Any) -> dict[str, Manifest]:
        works = build_works(binding, *arguments, **more)
        targets = {target.name for target in binding.spec.clusters}
        return {cluster: work for cluster, work in works.items() if cluster in targets}

    return mock.patch.object(work_rendering, "build_works", built)


def _build_nothing_for_newcomers() -> Any:
    """A cluster that a binding comes to later gets no Work."""

    def built(
        binding: Binding,
        template: Manifest,
        ids: Mapping[str, str] | None,
        new_id: Callable[[], str],
        rendered: Mapping[str, Overridden],
        present: Mapping[str, Work],
        **more: Any,
    ) -> dict[str, Manifest]:
        works = build_works(binding, template, ids, new_id, rendered, present, **more)
        return {cluster: work for cluster, work in works.items() if not present or cluster in present}

    return mock.patch.object(work_rendering, "build_works", built)


@contextmanager
def both(*patches: Any) -> Generator[None]:
    with ExitStack() as stack:
        for patch in patches:
            stack.enter_context(patch)
        yield


def _all_leave(_: Situation, result: Placed) -> actions.PlacedPart:
    return actions.PlacedPart(result, {}, None)


def _evict_for_nothing() -> Any:
    """Copies that get no new place are evicted, too, and nobody checks that."""
    return both(
        mock.patch.object(actions, "_placed_with_gain", _all_leave),
        mock.patch.object(scheduling_cycle, "check", nothing_wrong),
    )


def _evict_what_others_live_in() -> Any:
    return mock.patch.object(situation, "stays_under_taints", return_value=False)


def _delete_and_create() -> Any:
    """Works are deleted on, though their copies are assigned again while the deletion is pending.

    Nobody asks the binding before. The law holds the copies, so that the Works are on their way out for ever.
    """

    async def keep_nothing(_: Client, work: Work) -> Work:
        return work

    return both(
        mock.patch.object(foreign_deletions, "keep_objects", keep_nothing),
        mock.patch.object(returned_copies, "asks_for", return_value=False),
    )


def _believe_what_was_seen_before() -> Any:
    """Time counts whether or not somebody watched, and nothing is confirmed anew."""
    return mock.patch.object(HeartbeatView, "attention", return_value=UNKEPT)


def _place_what_is_suspended() -> Any:
    """The withdrawal of an eviction does not ask who may place."""

    def over(binding: Binding, settings: PlacementSettings) -> Authority:
        return replace(authority_over(binding, settings), withdraws=settings.withdraw and settings.place)

    return mock.patch.object(situation, "authority_over", over)


def _take_taints_off_beside() -> Any:
    """Probes that look at a member take the taints off, too."""
    write = ClusterStatusController._write  # pyright: ignore[reportPrivateUsage]

    async def write_and_take_off(self: ClusterStatusController, cluster: Cluster, *arguments: Any) -> None:
        client = self._plane.client  # pyright: ignore[reportPrivateUsage]
        await write(self, cluster, *arguments)
        present = await client.get(CLUSTERS, cluster.name)
        if present.is_ready and present.spec.taints:
            version = present.metadata.resource_version
            await client.patch(CLUSTERS, cluster.name, {"spec": {"taints": None}}, resource_version=version)

    return mock.patch.object(ClusterStatusController, "_write", write_and_take_off)


def _delete_any_version() -> Any:
    """Deletes name the uid alone."""
    delete = Client.delete

    async def blindly(self: Client, *arguments: Any, **more: Any) -> None:
        more.pop("resource_version", None)
        await delete(self, *arguments, **more)

    return mock.patch.object(Client, "delete", blindly)


def _wait_for_what_is_refused() -> Any:
    """A replacement that never becomes healthy is waited for without end."""
    return mock.patch.object(situation, "find_stalled", return_value=StalledTargets())


_MOVED_TO_AND_FRO = History(
    seed=9,
    members=PUSHED,
    steps=(
        web(evenly("m1", "m2")),
        Replan(at=70, app="web", plan=evenly("m2")),
        MemberStops(at=80, lasts=28, member="m1"),
        Replan(at=100, app="web", plan=evenly("m1", "m2")),
    ),
)
"""m1 cannot be asked when its copy may be deleted, and when it is put back into the placement."""

_STALLS_DURING_AN_OUTAGE = History(
    seed=9,
    members=PUSHED,
    steps=(
        web(evenly("m1", "m2", "m3", toleration_seconds=40)),
        MemberStops(at=80, lasts=150, member="m1"),
        *(HubIsSuspended(at=130 + 6 * number, lasts=5) for number in range(10)),
    ),
)
"""m1 dies, and whoever watches stands still again and again while its copies are tolerated there, each time for less
than what lies between two probes: a longer time would be a gap between two renewals of the heartbeat anyway."""


_FORGOTTEN = History(
    seed=12,
    members=PUSHED,
    steps=(
        web(evenly("m1", "m2")),
        HubIsRestored(at=75, lasts=70, controllers_stay=True),
        web(evenly("m1", "m2"), 4, "late", 80),
        RestartPod(at=160, app="late", cluster="m1"),
    ),
)
"""The controllers go on, and know more than the control plane that they work for. With one seed of six they put the
Work there again before anything changes in a member: then it is not unknown."""


_LATE_CONTROLLERS = History(
    seed=195,
    members=(("m1", "Pull"), ("m2", "Push"), ("m3", "Push")),
    steps=(
        web(evenly("m1", "m2")),
        Replan(at=70, app="web", plan=evenly("m2")),
        AgentIsKilled(at=71, lasts=24, member="m1"),
        HubIsRestored(at=94, lasts=186, controllers_after=20),
        Replan(at=130, app="web", plan=evenly("m1")),
        NodesAreCordoned(at=275, lasts=120, member="m2"),
    ),
)
"""An agent finds after a restore a deletion that the backup holds, some time before the controllers begin."""


_BACK_UNDER_THE_BRAKE = History(
    seed=9,
    members=(*PUSHED, ("m4", "Push"), ("m5", "Push")),
    steps=(
        web(evenly("m1", "m2")),
        MemberStops(at=80, lasts=160, member="m1"),
        *(MemberStops(at=180, lasts=150, member=name) for name in ("m3", "m4", "m5")),
    ),
)
"""m1 has been left, and m2 has taken its replicas over, when others die; m1 comes back among them."""

_WRITTEN_BY_WHO_KNEW_MORE = History(
    seed=1,
    members=PUSHED,
    steps=(
        web(evenly("m1", "m2")),
        HubIsRestored(at=75, lasts=70, controllers_stay=True),
        *(web(evenly("m1", "m2"), 4, f"late{number}", 80 + number) for number in range(3)),
        *(RestartPod(at=175, app=f"late{number}", cluster=name) for number in range(3) for name in ("m1", "m2")),
    ),
)
"""Controllers that go on may hear of the Works of the backup before its bindings, and write what is not in it again."""


_UNJOINED_WITH_A_CLAIM = History(
    seed=11,
    members=PUSHED,
    steps=(
        Provide(at=40, name="data", what="PersistentVolumeClaim"),
        Deploy(
            at=45,
            app="web",
            replicas=2,
            plan=msgspec.structs.replace(evenly("m1", "m2"), follows=True),
            reads=("data",),
        ),
        Read(at=80, app="web", reads=()),
        Rejoin(at=90, cluster="m1"),
    ),
)
"""A claim stays where its application was, also when its cluster leaves and joins again, and nobody needs it there."""


def _judge_over_own_stalls() -> Any:
    """Silence while this process stood still counts as if it had listened."""
    return mock.patch.object(EventLoopLag, "stalls_since", return_value=())


def _carry_out_old_removals() -> Any:
    """Removals that were due when the backup was taken are carried out at once, also where the cluster was away."""
    return mock.patch.object(removal_holds, "why_removal_waits", return_value="")


def _remove_what_is_forgotten() -> Any:
    """Works whose binding a restored control plane has forgotten are removed like all others without one."""
    return both(_write_what_is_forgotten(), mock.patch.object(RemovalHolds, "is_doubtful", return_value=False))


def _write_what_is_forgotten() -> Any:
    """Bindings are heard of after Works, and what is known counts as listed anew: a restored control plane has Works
    that it has forgotten the bindings of, as an earlier version may have left them. That alone breaks nothing."""
    believed = both(
        mock.patch.object(Informer, "wait_current", Informer[Any].wait_synced),
        mock.patch.object(Informer, "current", True),
    )
    return both(_hear_late_of_bindings(), believed)


def _hear_late_of_bindings() -> Any:
    """This is no bug, but makes sure of what otherwise happens once in some restores: Works are listed first."""
    run_list = Informer[Any]._list  # pyright: ignore[reportPrivateUsage]

    async def list_late(self: Informer[Any]) -> None:
        if self.synced and self.resource.plural in ("resourcebindings", "deployments"):
            await asyncio.sleep(8)
        await run_list(self)

    return mock.patch.object(Informer, "_list", list_late)


def _remove_under_the_brake() -> Any:
    """Removals that were decided before the brake engaged are carried out under it."""
    return mock.patch.object(removal_holds, "why_removal_waits", _as_without_a_brake)


def _as_without_a_brake(*arguments: Any, brake: bool, **more: Any) -> str:
    return removal.why_removal_waits(*arguments, brake=False, **more)


def _list_no_works() -> Any:
    """`leeward orphans` knows of objects alone."""
    nothing = mock.patch.object(orphans, "find_orphan_works", mock.AsyncMock(return_value=()))
    return both(_write_what_is_forgotten(), nothing)


def _list_no_claims() -> Any:
    """`leeward orphans` passes over claims."""
    kinds = orphans._kinds  # pyright: ignore[reportPrivateUsage]

    def others(*arguments: Any) -> list[tuple[str, str]]:
        return [each for each in kinds(*arguments) if each[1] != "PersistentVolumeClaim"]

    return mock.patch.object(orphans, "_kinds", others)


def _do_not_wait_for_the_controllers() -> Any:
    """An agent counts from when it found a removal, whether or not anybody could hold it."""
    kept = settling.HeartbeatKept

    def noted(found: settling.FoundRemoval, seen: settling.HeartbeatSeen, now: float) -> settling.FoundRemoval:
        return settling.note_heartbeat(found, seen._replace(kept=kept.UNKEPT), now)

    return mock.patch.object(found_removals, "note_heartbeat", noted)


def _remove_what_is_unknown() -> Any:
    """Objects that carry our identity in a member, and have no Work, are taken for some that were removed, as soon as
    they report anything."""
    apply_all = ExecutionController._apply_all  # pyright: ignore[reportPrivateUsage]

    async def apply_and_remember(self: ExecutionController, work: Work) -> datetime | None:
        ended = msgspec.structs.replace(work.metadata, deletion_timestamp=work.metadata.creation_timestamp)
        self._remember(msgspec.structs.replace(work, metadata=ended))  # pyright: ignore[reportPrivateUsage]
        return await apply_all(self, work)

    look_at_reports = both(
        mock.patch.object(WorkQueue, "has_failed", return_value=True),
        mock.patch.object(ObjectRemoval, "_was_deleted", return_value=True),
    )
    return both(look_at_reports, mock.patch.object(ExecutionController, "_apply_all", apply_and_remember))


def _return_at_the_old_size() -> Any:
    """Copies that come back are small, and take the place of what a user has scaled up meanwhile."""
    return both(
        mock.patch.object(withdrawal.Returns, "may_give_up", return_value=True),
        mock.patch.object(scheduling_cycle, "check", nothing_wrong),
    )


_SCALED_MEANWHILE = History(
    seed=9,
    members=PUSHED[:2],
    steps=(
        web(Plan(division="Duplicated", clusters=("m1", "m2"), groups=(1, 1)), 2),
        MemberStops(at=80, lasts=120, member="m1"),
        Scale(at=130, app="web", replicas=4),
        NodesAreCordoned(at=145, lasts=130, member="m2"),
        Scale(at=146, app="web", replicas=6),
    ),
)
"""m2 has taken over, and serves more than m1 did, though not all that is asked for."""


def _shrink_without_asking_the_law() -> Any:
    """Copies give up replicas at once, whatever others serve."""
    return mock.patch.object(scale_downs, "held_scale_downs", return_value=frozenset())


_REPLACED_AND_LOST = History(
    seed=9,
    members=PUSHED[:2],
    steps=(
        web(evenly("m1", "m2"), 4),
        NodesAreCordoned(at=75, lasts=170, member="m2"),
        Replan(at=160, app="web", plan=Plan(division="Static", clusters=("m1", "m2"), weights=(1, 3))),
    ),
)
"""More is to move to m2, where no new Pod finds a node for a while."""


def _never_shrink() -> Any:
    """Copies keep the replicas that they are to give up, whatever others serve."""

    def held(_: CopyTable, left: Mapping[str, int], _clusters: Mapping[str, Cluster]) -> frozenset[str]:
        return frozenset(left)

    return mock.patch.object(scale_downs, "held_scale_downs", held)


_FEWER_BESIDE_A_REFUSAL = History(
    seed=9,
    members=PUSHED[:2],
    steps=(
        web(evenly("m1", "m2"), 6),
        MemberRefusesWrites(at=110, lasts=60, member="m2", code=403),
        Scale(at=120, app="web", replicas=3),
    ),
)
"""A copy keeps its replicas while the other's Work is refused, and no longer."""


def _take_every_part_for_new() -> Any:
    """A part that has a load of its own counts as the replacement of another one, whatever its size."""

    def wishes(_: ResourceBindingSpec, rows: Mapping[str, KnownCopy], __: datetime) -> Mapping[str, int]:
        return {name: own for name, row in rows.items() if (own := wanted_by_itself(row.work, row.home))}

    return mock.patch.object(disruption, "_wishes", wishes)


_SCALED_BY_ITSELF = History(
    seed=9,
    members=PUSHED[:2],
    steps=(
        msgspec.structs.replace(web(evenly("m1", "m2"), 6), autoscaled=True),
        MemberStops(at=80, lasts=120, member="m1"),
    ),
)
"""m2 keeps the three replicas that its own autoscaler wants, though six are assigned."""


HARM: Mapping[str, Harm] = {
    "take every part for new": Harm(_take_every_part_for_new, "S1", _SCALED_BY_ITSELF),
    "never shrink": Harm(_never_shrink, "L1", _FEWER_BESIDE_A_REFUSAL),
    "shrink without asking the law": Harm(_shrink_without_asking_the_law, "S1", _REPLACED_AND_LOST),
    "end evictions by time": Harm(_end_evictions_by_time, "S1", steered(stuck)),
    "end evictions under the brake": Harm(_end_evictions_under_the_brake, "S4", steered(cut_off_while_stuck)),
    "forget what is leaving": Harm(_forget_what_is_leaving, "S5", steered(in_vain)),
    "build nothing for newcomers": Harm(_build_nothing_for_newcomers, "L1", steered(failing)),
    "evict for nothing": Harm(_evict_for_nothing, "S12", steered(shared)),
    "evict what others live in": Harm(_evict_what_others_live_in, "S12", steered(shared_with_room)),
    "delete and create": Harm(_delete_and_create, "S12", _MOVED_TO_AND_FRO),
    "believe what was seen before": Harm(_believe_what_was_seen_before, "S13", steered(away)),
    "judge over own stalls": Harm(_judge_over_own_stalls, "S13", _STALLS_DURING_AN_OUTAGE),
    "place what is suspended": Harm(_place_what_is_suspended, "S9", steered(suspended)),
    "take taints off beside": Harm(_take_taints_off_beside, "S9", _SCALED_MEANWHILE),
    "delete any version": Harm(_delete_any_version, "S5", steered(failing)),
    "carry out old removals": Harm(_carry_out_old_removals, "S1", steered(overtaken)),
    "remove what is forgotten": Harm(_remove_what_is_forgotten, "S5", _WRITTEN_BY_WHO_KNEW_MORE),
    "remove under the brake": Harm(_remove_under_the_brake, "S4", _BACK_UNDER_THE_BRAKE),
    "list no Works": Harm(_list_no_works, "L3", _WRITTEN_BY_WHO_KNEW_MORE),
    "list no claims": Harm(_list_no_claims, "L3", _UNJOINED_WITH_A_CLAIM),
    "do not wait for the controllers": Harm(_do_not_wait_for_the_controllers, "S1", _LATE_CONTROLLERS),
    "remove what is unknown": Harm(_remove_what_is_unknown, "S5", _FORGOTTEN),
    "return at the old size": Harm(_return_at_the_old_size, "S1", _SCALED_MEANWHILE),
    "wait for what is refused": Harm(_wait_for_what_is_refused, "L2", steered(refusing)),
}
