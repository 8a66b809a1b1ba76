"""Removals that were found: what is asked of the heartbeat, how often, and when they are carried out."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
import pytest

from kubeapi.core import LEASES, NAMESPACES
from kubeapi.status import Status
from kubeclient import Forbidden, Unreachable
from leeward.api.names import (
    BINDING_NAME_ANNOTATION,
    BINDING_NAMESPACE_ANNOTATION,
    HEARTBEAT_NAME,
    REMOVAL_ORDERED_ANNOTATION,
    SYSTEM_NAMESPACE,
)
from leeward.api.resource import WORKS
from leeward.api.work import Work
from leeward.controllers.execution.found_removals import FoundRemovals
from leeward.controllers.execution.member_objects import ROUNDING_SECONDS
from leeward.controllers.heartbeat import HeartbeatRelease
from leeward.core.execution.settling import FOUND_SECONDS, FOUND_UNTOLD_SECONDS, RENEWAL_POLL_SECONDS
from tests.unit.controllers.desk import CLOCK, SPACE, Desk, play

PATH = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM_NAMESPACE}/leases/{HEARTBEAT_NAME}"


class Shift:
    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.removals = FoundRemovals(desk.plane)

    async def find(self, name: str = "web") -> Work:
        """A Work that is being deleted when it is first seen."""
        await self.desk.work(name, metadata={"finalizers": ["example.com/keep"]})
        await self.desk.client.delete(WORKS, name, SPACE)
        work = await self.desk.seen(name)
        self.removals.note(None, work)
        return work

    async def delete(self, name: str = "web", **marks: str) -> Work:
        """A Work whose deletion begins while an agent looks."""
        annotations = {BINDING_NAMESPACE_ANNOTATION: "default", BINDING_NAME_ANNOTATION: "web", **marks}
        await self.desk.work(name, metadata={"finalizers": ["example.com/keep"], "annotations": annotations})
        before = await self.desk.seen(name)
        await self.desk.client.delete(WORKS, name, SPACE)
        work = await self.desk.seen(name)
        self.removals.note(before, work, pulled=True)
        return work

    async def left(self, work: Work) -> float | None:
        """Number of seconds in which to look again."""
        at = await self.removals.look_at(work)
        return None if at is None else round((at - CLOCK.now()).total_seconds() - ROUNDING_SECONDS, 3)

    async def begin(self) -> None:
        made = {"metadata": {"name": HEARTBEAT_NAME}, "spec": {"holderIdentity": "one"}}
        await self.desk.client.create(LEASES, made, SYSTEM_NAMESPACE)

    async def renew(self) -> None:
        """Renews as the controllers do."""
        spec = {"renewTime": CLOCK.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")}
        await self.desk.client.patch(LEASES, HEARTBEAT_NAME, {"spec": spec}, SYSTEM_NAMESPACE)

    def asked(self) -> int:
        """Number of times that the heartbeat was asked for since."""
        sent, self.desk.wire.sent = self.desk.wire.sent, []
        return sum(one.path == PATH for one in sent)


def tell(story: Callable[[Shift], Awaitable[None]]) -> None:
    async def prepared(desk: Desk) -> None:
        await desk.cluster()
        await desk.client.create(NAMESPACES, {"metadata": {"name": SYSTEM_NAMESPACE}})
        await story(Shift(desk))

    play(prepared)


def test_s13_it_waits_for_as_long_as_the_heartbeat_is_not_renewed() -> None:
    async def story(shift: Shift) -> None:
        await shift.begin()
        work = await shift.find()
        for _ in range(60):
            assert await shift.left(work) == RENEWAL_POLL_SECONDS
            await asyncio.sleep(30)
        await shift.renew()
        assert await shift.left(work) == FOUND_SECONDS
        await asyncio.sleep(FOUND_SECONDS - 1)
        assert await shift.left(work) == 1
        await asyncio.sleep(1.001)
        shift.asked()
        assert await shift.left(work) is None
        assert shift.asked() == 0, "it is asked for while something waits for it, and no longer"

    tell(story)


def test_many_that_wait_ask_once() -> None:
    async def story(shift: Shift) -> None:
        await shift.begin()
        works = [await shift.find(f"web-{number}") for number in range(5)]
        shift.asked()
        for _ in range(3):
            await asyncio.gather(*(shift.left(work) for work in works))
            await asyncio.sleep(RENEWAL_POLL_SECONDS + 0.001)
        assert shift.asked() == 3

    tell(story)


def test_what_was_seen_being_asked_for_waits_for_nothing() -> None:
    async def story(shift: Shift) -> None:
        await shift.begin()
        work = await shift.find()
        shift.removals.forget(work.name)
        shift.removals.note(work, work)
        shift.asked()
        assert await shift.left(work) is None
        assert shift.asked() == 0

    tell(story)


def test_s5_an_agent_waits_for_the_controllers_where_they_have_not_asked_for_a_deletion() -> None:
    async def story(shift: Shift) -> None:
        await shift.begin()
        work, ordered = await shift.delete(), await shift.delete("ordered", **{REMOVAL_ORDERED_ANNOTATION: "true"})
        assert await shift.left(ordered) is None
        assert await shift.left(work) == RENEWAL_POLL_SECONDS
        await shift.renew()
        await asyncio.sleep(RENEWAL_POLL_SECONDS + 0.001)
        assert await shift.left(work) == FOUND_SECONDS
        marked = {"metadata": {"annotations": {REMOVAL_ORDERED_ANNOTATION: "true"}}}
        after = await shift.desk.client.patch(WORKS, "web", marked, SPACE)
        shift.removals.note(work, after, pulled=True)
        assert await shift.left(after) is None, "they say so"

    tell(story)


def test_an_agent_waits_for_nobody_where_no_binding_is_named_or_nobody_keeps_a_heartbeat() -> None:
    async def story(shift: Shift) -> None:
        assert await shift.left(await shift.delete()) == 0
        await shift.begin()
        own = await shift.delete("own", **{BINDING_NAME_ANNOTATION: "", BINDING_NAMESPACE_ANNOTATION: ""})
        assert await shift.left(own) is None

    tell(story)


def test_s1_a_removal_that_is_found_while_the_heartbeat_is_asked_for_waits_as_well() -> None:
    """The Work of that name is another one by then; what is gone is forgotten."""

    async def story(shift: Shift) -> None:
        await shift.begin()
        earlier = await shift.find()
        later = msgspec.structs.replace(earlier, metadata=msgspec.structs.replace(earlier.metadata, uid="another"))
        asking = asyncio.ensure_future(shift.left(earlier))
        await asyncio.sleep(0)
        shift.removals.note(earlier, later)
        await asking
        assert await shift.left(later) == RENEWAL_POLL_SECONDS
        asking = asyncio.ensure_future(shift.left(later))
        await asyncio.sleep(0)
        shift.removals.forget(later.name)
        await asking
        assert await shift.left(later) is None

    tell(story)


def test_s1_a_removal_of_another_work_of_that_name_was_not_seen_being_asked_for() -> None:
    """The state of a restored control plane: the Work of before is being deleted again."""

    async def story(shift: Shift) -> None:
        await shift.begin()
        earlier = await shift.find()
        shift.removals.forget(earlier.name)
        later = msgspec.structs.replace(
            earlier, metadata=msgspec.structs.replace(earlier.metadata, uid="another", deletion_timestamp=None)
        )
        shift.removals.note(later, earlier)
        assert await shift.left(earlier) is not None

    tell(story)


def test_where_none_is_kept_it_waits_from_when_it_was_found_and_is_looked_at_once_more() -> None:
    """Nothing is removed on what was read before the control plane was asked."""

    async def story(shift: Shift) -> None:
        work, late = await shift.find(), await shift.find("late")
        assert await shift.left(work) == FOUND_SECONDS
        await asyncio.sleep(FOUND_SECONDS + 1)
        assert await shift.left(work) is None
        assert await shift.left(late) == 0
        assert await shift.left(late) is None

    tell(story)


def test_s13_a_heartbeat_that_was_kept_and_is_gone_is_waited_for() -> None:
    async def story(shift: Shift) -> None:
        await shift.begin()
        work = await shift.find()
        await shift.left(work)
        await shift.desk.client.delete(LEASES, HEARTBEAT_NAME, SYSTEM_NAMESPACE)
        await asyncio.sleep(100)
        assert await shift.left(work) == RENEWAL_POLL_SECONDS
        await shift.begin()
        await asyncio.sleep(RENEWAL_POLL_SECONDS + 0.001)
        assert await shift.left(work) == FOUND_SECONDS

    tell(story)


def test_a_heartbeat_that_was_released_is_not_waited_for() -> None:
    """The control plane keeps none any more, as with --karmada-exact."""

    async def story(shift: Shift) -> None:
        await HeartbeatRelease(shift.desk.plane, 5).release()
        await shift.begin()
        work = await shift.find()
        assert await shift.left(work) == RENEWAL_POLL_SECONDS
        shift.desk.wire.writes()
        for _ in range(2):
            await HeartbeatRelease(shift.desk.plane, 5).release()
        (released,) = shift.desk.wire.writes()
        assert released.version, "not one that was renewed meanwhile"
        await asyncio.sleep(FOUND_SECONDS - 5)
        assert await shift.left(work) == pytest.approx(5)

    tell(story)


def test_who_may_not_ask_waits_for_longer_and_who_cannot_ask_removes_nothing() -> None:
    async def story(shift: Shift) -> None:
        await shift.begin()
        work, other = await shift.find(), await shift.find("other")
        shift.desk.wire.refuse = lambda request: Unreachable("cut") if request.path == PATH else None
        await asyncio.sleep(2 * FOUND_UNTOLD_SECONDS)
        with pytest.raises(Unreachable):
            await shift.left(work)
        refusal = Forbidden(Status(message="no", reason="Forbidden", code=403))
        shift.desk.wire.refuse = lambda request: refusal if request.path == PATH else None
        shift.removals.note(None, other)
        assert await shift.left(other) == FOUND_UNTOLD_SECONDS
        await asyncio.sleep(FOUND_UNTOLD_SECONDS + 0.001)
        assert await shift.left(other) is None

    tell(story)
