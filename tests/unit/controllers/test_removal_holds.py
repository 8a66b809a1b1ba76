"""Removals that are held: what is known of the fleet now says for how long; and they are found again.

A removal is looked at when a cluster is well or the brake changes, without a look at all other Works.
"""

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from kubeapi.core import CONFIG_MAPS, NAMESPACES
from kubeapi.meta import format_time, wire_time
from leeward.api.names import (
    BRAKE_NAME,
    REMOVAL_HELD_ANNOTATION,
    SYSTEM_NAMESPACE,
    TEMPLATE_UID_ANNOTATION,
    execution_space,
    work_name,
)
from leeward.api.resource import CLUSTERS, RESOURCE_BINDINGS, WORKS
from leeward.api.work import Binding, BindingSnapshot, ReplicaRequirements, Work, WorkloadTemplate
from leeward.controllers.removals.removal_holds import LOOK_AGAIN, RemovalHolds
from leeward.core.cluster_health.brake import BrakeSettings
from leeward.core.cluster_health.watched_time import UNKEPT, Attention, Gap, WatchedTime
from leeward.runtime.brake import BrakeView
from leeward.runtime.heartbeat import HeartbeatSettings, HeartbeatView
from tests.builders import binding, divided, duplicated, targets, work
from tests.unit.controllers.desk import CLOCK, MEMBER, SPACE, Desk, play

WORKS_THAT_STAY = 20
AGES_AGO = "2025-01-01T00:00:00Z"
HALVES = divided({MEMBER: 1, "member2": 1})


def test_only_works_that_are_being_deleted_are_looked_at_again() -> None:
    found: list[list[str]] = []

    async def story(desk: Desk) -> None:
        await desk.cluster()
        holds = RemovalHolds(desk.plane)
        for number in range(WORKS_THAT_STAY):
            await desk.work(f"web-{number}")
        for name in ("kept-1", "kept-2"):
            await desk.work(name, metadata={"finalizers": ["example.com/kept"]})
            await desk.client.delete(WORKS, name, SPACE)
        await desk.plane.client.get(NAMESPACES, "default")
        found.append([work.name for work in holds.removals()])
        await desk.client.patch(WORKS, "kept-1", {"metadata": {"finalizers": None}}, SPACE)
        await desk.plane.client.get(NAMESPACES, "default")
        found.append([work.name for work in holds.removals()])

    play(story)
    assert found == [["kept-1", "kept-2"], ["kept-2"]]


class Watching(HeartbeatView):
    """A heartbeat that says what a test has it say."""

    def __init__(self, desk: Desk) -> None:
        super().__init__(desk.plane.informers, CLOCK, HeartbeatSettings())
        self.told = UNKEPT

    def attention(self) -> Attention:
        return self.told


class Holding:
    """Two clusters, the second of which is to run all; a removal from the first was asked for a minute ago."""

    def __init__(self, desk: Desk, *, enabled: bool = True) -> None:
        self.desk = desk
        self.heartbeat = Watching(desk)
        self.brake = BrakeView(desk.plane.informers, BrakeSettings())
        self.holds = RemovalHolds(desk.plane, self.heartbeat, self.brake, enabled=enabled)

    @property
    def now(self) -> datetime:
        return CLOCK.now()

    def going(self, ready: int | None = 2, *, held: bool = False, seconds_ago: float = 61, **metadata: Any) -> Work:
        made = work(MEMBER, ready)
        asked_at = wire_time(self.now - timedelta(seconds=seconds_ago))
        marks = {REMOVAL_HELD_ANNOTATION: "away"} if held else {}
        metadata = {"annotations": marks, **metadata}
        return msgspec.structs.replace(
            made, metadata=msgspec.structs.replace(made.metadata, deletion_timestamp=asked_at, **metadata)
        )

    def is_held(self, placed: Binding, there: int | None, going: Work | None = None, **more: Any) -> bool:
        present = {MEMBER: going or self.going(), "member2": work("member2", there)}
        return bool(self.holds.why_it_waits(placed, MEMBER, present, **more)[0])

    def has_gap(self, seconds_ago: float) -> None:
        """Nobody watched until so long ago."""
        end = self.now - timedelta(seconds=seconds_ago)
        self.heartbeat.told = Attention(WatchedTime((Gap(end - timedelta(seconds=30), end),)), "somebody")

    async def engage(self) -> None:
        await self.desk.client.create(NAMESPACES, {"metadata": {"name": SYSTEM_NAMESPACE}})
        data = {"since": "2026-01-01T00:00:00Z"}
        made = {"metadata": {"name": BRAKE_NAME}, "data": data}
        await self.desk.client.create(CONFIG_MAPS, made, SYSTEM_NAMESPACE)
        await self.holds.wait_synced()


def tell(story: Callable[[Holding], Awaitable[None]], **more: Any) -> None:
    async def prepared(desk: Desk) -> None:
        await desk.cluster()
        await desk.cluster("member2")
        await desk.plane.informers.of(CLUSTERS).wait_synced()
        await desk.plane.informers.of(RESOURCE_BINDINGS).wait_synced()
        await desk.plane.informers.of(WORKS).wait_synced()
        await story(Holding(desk, **more))

    play(prepared)


REQUIREMENTS = ReplicaRequirements()
MOVED = binding(HALVES, 2, targets(member2=2), replica_requirements=REQUIREMENTS)


def _workload(*manifests: Any) -> Any:
    return WorkloadTemplate(manifests)


@pytest.mark.parametrize(("there", "held"), [(2, False), (1, True), (None, True)])
def test_s1_a_copy_is_held_while_fewer_serve_in_its_stead_than_are_asked_for(there: int | None, held: bool) -> None:
    async def story(holding: Holding) -> None:
        assert holding.is_held(MOVED, there) is held

    tell(story)


@pytest.mark.parametrize("seconds_ago", [0, 59])
def test_s1_the_law_is_asked_however_lately_a_removal_was_asked_for(seconds_ago: float) -> None:
    async def story(holding: Holding) -> None:
        for there, held in ((1, True), (2, False)):
            present = {MEMBER: holding.going(seconds_ago=seconds_ago), "member2": work("member2", there)}
            assert holding.holds.why_it_waits(MOVED, MEMBER, present) == ("NotReplaced" if held else "", None)

    tell(story)


def test_nothing_is_held_where_that_is_switched_off() -> None:
    async def story(holding: Holding) -> None:
        await holding.engage()
        assert holding.holds.why_it_waits(MOVED, MEMBER, {MEMBER: holding.going()}) == ("", None)
        assert (holding.holds.attention, holding.holds.is_braked) == (UNKEPT, False)

    tell(story, enabled=False)


def test_s14_a_work_that_is_wanted_and_cannot_be_had_stays_as_it_is() -> None:
    async def story(holding: Holding) -> None:
        present = {MEMBER: holding.going(), "member2": work("member2", 2)}
        assert holding.holds.why_it_waits(MOVED, MEMBER, present, is_wanted=True) == ("NotReplaced", None)

    tell(story)


def test_a_copy_of_a_template_that_a_user_has_deleted_is_not_held() -> None:
    async def story(holding: Holding) -> None:
        made_at = wire_time(holding.now - timedelta(seconds=30))
        later = msgspec.structs.replace(
            MOVED, metadata=msgspec.structs.replace(MOVED.metadata, creation_timestamp=made_at)
        )
        manifest = {"metadata": {"annotations": {TEMPLATE_UID_ANNOTATION: "uid-0"}}}
        going = holding.going()
        old = msgspec.structs.replace(going, spec=msgspec.structs.replace(going.spec, workload=_workload(manifest)))
        assert holding.is_held(later, None)
        for is_wanted in (False, True):
            present = {MEMBER: old, "member2": work("member2", None)}
            assert holding.holds.why_it_waits(later, MEMBER, present, is_wanted) == ("", None)

    tell(story)


def test_s4_the_brake_holds_what_was_held_before() -> None:
    async def story(holding: Holding) -> None:
        assert not holding.is_held(MOVED, 2, holding.going(held=True))
        await holding.engage()
        assert holding.holds.is_braked
        assert holding.is_held(MOVED, 2, holding.going(held=True))
        assert not holding.is_held(MOVED, 2)

    tell(story)


def test_s13_what_was_decided_before_nobody_watched_waits_until_all_is_looked_at_again() -> None:
    async def story(holding: Holding) -> None:
        settled_at = holding.now + timedelta(seconds=7)
        gap = Gap(holding.now - timedelta(seconds=40), holding.now - timedelta(seconds=10))
        holding.heartbeat.told = Attention(WatchedTime((gap,)), "somebody", settled_at=settled_at)
        present = {MEMBER: holding.going(), "member2": work("member2", 2)}
        assert holding.holds.why_it_waits(MOVED, MEMBER, present) == ("ReplacementLost", settled_at)
        holding.heartbeat.told = Attention(WatchedTime((gap,)), "somebody", settled_at=holding.now)
        assert holding.holds.why_it_waits(MOVED, MEMBER, present) == ("", None)

    tell(story)


@pytest.mark.parametrize(("seconds_ago", "doubtful"), [(0, True), (59, True), (61, False)])
def test_s5_a_work_without_a_binding_stays_where_nobody_watched_a_while_before_it_was_made(
    seconds_ago: float, doubtful: bool
) -> None:
    async def story(holding: Holding) -> None:
        made = work(MEMBER, 2)
        here = msgspec.structs.replace(
            made, metadata=msgspec.structs.replace(made.metadata, creation_timestamp=wire_time(holding.now))
        )
        assert not holding.holds.is_doubtful(here)
        holding.has_gap(seconds_ago)
        assert holding.holds.is_doubtful(here) is doubtful
        assert not holding.holds.is_doubtful(made), "nobody knows when it was made"

    tell(story)


@pytest.mark.parametrize(
    ("asked", "cluster", "there", "preserved"),
    [(False, MEMBER, 1, False), (True, "member2", 2, True), (True, MEMBER, 1, True), (True, MEMBER, 2, False)],
    ids=["not asked for", "a target", "surplus that is missed", "surplus that nobody misses"],
)
def test_s1_what_is_preserved_is_a_target_or_what_the_law_keeps(
    asked: bool, cluster: str, there: int, preserved: bool
) -> None:
    async def story(holding: Holding) -> None:
        placed = binding(
            HALVES, 2, targets(member2=2), preserve_resources_on_deletion=asked, replica_requirements=REQUIREMENTS
        )
        present = {MEMBER: work(MEMBER, 2), "member2": work("member2", there)}
        assert holding.holds.preserves(placed, present[cluster], present) is preserved

    tell(story)


@pytest.mark.parametrize(
    ("replicas", "deleted", "held"),
    [(2, False, True), (0, False, False), (2, True, False)],
    ids=["needed", "asks for none", "is deleted"],
)
def test_s15_what_others_need_is_held_until_they_are_served_elsewhere(replicas: int, deleted: bool, held: bool) -> None:
    async def story(holding: Holding) -> None:
        resource = {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"}
        spec: Any = {
            "resource": resource,
            "replicas": replicas,
            "replicaRequirements": {"resourceRequest": {"cpu": "1"}},
        }
        spec["clusters"] = [{"name": "member2", "replicas": 2}]
        metadata = {"name": "web-deployment", "finalizers": ["example.com/keep"]}
        await holding.desk.client.create(RESOURCE_BINDINGS, {"metadata": metadata, "spec": spec}, "default")
        if deleted:
            await holding.desk.client.delete(RESOURCE_BINDINGS, "web-deployment", "default")
        await holding.desk.plane.client.get(NAMESPACES, "default")
        holding.has_gap(0)
        needing = BindingSnapshot("web-deployment", "default"), BindingSnapshot("gone", "default")
        needed: Any = binding(duplicated(MEMBER), 0, required_by=needing)
        needed = msgspec.structs.replace(needed, spec=msgspec.structs.replace(needed.spec, placement=None))
        told = holding.holds.why_it_waits(needed, MEMBER, {MEMBER: holding.going()})
        assert told == (("NotReplaced", holding.now + LOOK_AGAIN) if held else ("", None))

    tell(story)


def test_who_holds_is_told_when_the_brake_changes() -> None:
    async def story(holding: Holding) -> None:
        looks: list[str] = []
        holding.holds.on_change(lambda: looks.append("look"))
        await holding.engage()
        assert looks

    tell(story)


@pytest.mark.parametrize(("returned_seconds_ago", "held"), [(10, True), (600, False)])
def test_s15_a_report_of_karmadas_agent_counts_for_others_once_it_is_of_after_the_return(
    returned_seconds_ago: float, held: bool
) -> None:
    """Copies that need this one serve elsewhere by a report of now."""

    async def story(holding: Holding) -> None:
        desk = holding.desk
        spec: Any = {
            "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "default", "name": "web"},
            "replicas": 2,
            "replicaRequirements": {"resourceRequest": {"cpu": "1"}},
            "clusters": [{"name": "member2", "replicas": 2}],
        }
        await desk.client.create(RESOURCE_BINDINGS, {"metadata": {"name": "web-deployment"}, "spec": spec}, "default")
        manifest = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "default"}}
        space = execution_space("member2")
        made = {"metadata": {"name": work_name("Deployment", "web", "default"), "namespace": space}}
        await desk.client.create(WORKS, {**made, "spec": {"workload": {"manifests": [manifest]}}}, space)
        applied = {"type": "Applied", "status": "True", "reason": "R", "message": "", "lastTransitionTime": AGES_AGO}
        identifier = {
            "ordinal": 0,
            "group": "apps",
            "version": "v1",
            "kind": "Deployment",
            "resource": "",
            "name": "web",
        }
        report = {
            "identifier": identifier,
            "health": "Healthy",
            "status": {"readyReplicas": 2, "observedGeneration": 1},
        }
        status = {"status": {"conditions": [applied], "manifestStatuses": [report]}}
        await desk.client.patch(WORKS, made["metadata"]["name"], status, space, subresource="status")
        returned = format_time(holding.now - timedelta(seconds=returned_seconds_ago))
        await desk.condition("member2", lastTransitionTime=returned)
        await desk.plane.client.get(NAMESPACES, "default")
        holding.has_gap(0)
        needed: Any = binding(duplicated(MEMBER), 0, required_by=(BindingSnapshot("web-deployment", "default"),))
        needed = msgspec.structs.replace(needed, spec=msgspec.structs.replace(needed.spec, placement=None))
        why, _ = holding.holds.why_it_waits(needed, MEMBER, {MEMBER: holding.going()})
        assert bool(why) is held

    tell(story)


@pytest.mark.parametrize(("named", "held"), [(MEMBER, True), ("member3", False)])
def test_s7_a_purged_copy_whose_cluster_the_placement_means_no_more_does_not_wait_for_its_return(
    named: str, held: bool
) -> None:
    """The label of the cluster has changed, and the placement has not. Such a copy is never taken back."""

    async def story(holding: Holding) -> None:
        placed = binding(duplicated(named, "member2"), 2, targets(member2=2), replica_requirements=REQUIREMENTS)
        purged = work(MEMBER, 2)
        marks = {REMOVAL_HELD_ANNOTATION: "away"}
        purged = msgspec.structs.replace(purged, metadata=msgspec.structs.replace(purged.metadata, annotations=marks))
        assert holding.is_held(placed, 1, purged), "by the law alone"
        assert holding.is_held(placed, 1, purged, is_purged=True) is held

    tell(story)
