"""Our own failing is nobody's death: who could not look has seen nothing of the member.

    has            what takes the control plane's descriptors, memory, ports or DNS, for as long as it likes
    does           keeps its probes from leaving the machine
    must not get   a healthy member declared unreachable, or a threshold or toleration that runs out meanwhile

Holds: S13.
"""

import asyncio
import errno
import os
import socket
from collections.abc import Callable
from unittest import mock

import pytest

from kubeapi.errors import LocalFailure, NameNotFound
from kubeapi.loop.lag import EventLoopLag
from kubeapi.loop.virtual import run_virtual
from kubeclient import Client, Request, Response, Unreachable
from kubeclient.http import HttpTransport, mapped_errors
from kubeclient.proxied import mapped_library_errors
from kubeclient.resolving import more_telling
from leeward.api.meta import Condition, find_condition
from leeward.api.names import NOT_OBSERVED_CONDITION
from leeward.core.cluster_health.ready_condition import NAME_HOLDS
from leeward.operations.status import look_at_fleet
from leeward.runtime.cluster_probe import ClusterProbe
from leeward.sim.world import World
from tests.security.test_load import ready_since
from tests.world.stories import play
from tests.world.test_detection import answers
from tests.world.test_unwatched_time import PUSH, WEB, is_left, no_execute, web_runs

NUMBERS = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL)
NO_DESCRIPTOR = "GET /readyz: [Errno 24] Too many open files"


def no_descriptor(_: Request) -> Response:
    raise LocalFailure(NO_DESCRIPTOR)


def blind(world: World, name: str) -> Callable[[], None]:
    """No request leaves for this member any more, until the result is called."""
    place = world.member(name).place
    answers(place, no_descriptor)

    def see_again() -> None:
        place.audit = None

    return see_again


def not_observed(world: World, name: str) -> Condition | None:
    return find_condition(world.cluster(name).status.conditions, NOT_OBSERVED_CONDITION)


@pytest.mark.parametrize("error", [*(OSError(number, os.strerror(number)) for number in NUMBERS), socket.gaierror(-2)])
@pytest.mark.parametrize("mapped", [mapped_errors, mapped_library_errors])
def test_s13_an_error_of_this_machine_is_no_silence_of_a_server(error: OSError, mapped: type) -> None:
    with pytest.raises(LocalFailure), mapped("GET /readyz"):
        raise error


def test_s13_a_refused_connection_is_the_servers() -> None:
    with pytest.raises(Unreachable) as caught, mapped_errors("GET /readyz"):
        raise ConnectionRefusedError(errno.ECONNREFUSED, "refused")
    assert not isinstance(caught.value, LocalFailure)


def test_of_a_name_with_two_addresses_the_servers_own_error_counts() -> None:
    """A dead member is refused by IPv4, and this machine has no IPv6."""
    refused, none = ConnectionRefusedError(errno.ECONNREFUSED, "refused"), OSError(errno.EADDRNOTAVAIL, "no address")
    assert more_telling(more_telling(None, refused), none) is refused
    assert more_telling(more_telling(None, none), refused) is refused


def test_s13_a_name_that_is_not_resolved_in_time_is_no_silence_of_its_server() -> None:
    async def story() -> None:
        async def never(*_: object, **__: object) -> None:
            await asyncio.Event().wait()

        probe = ClusterProbe(Client(HttpTransport("http://member.example:6443")), EventLoopLag(), 3, reads=False)
        loop = asyncio.get_running_loop()
        with mock.patch.object(loop, "getaddrinfo", never), pytest.raises(LocalFailure, match="not resolved"):
            await probe.ask()

    run_virtual(story())


def test_s13_a_member_that_we_cannot_look_at_keeps_ready_and_its_applications() -> None:
    async def story(world: World) -> None:
        await web_runs(world)
        before, placed = ready_since(world), world.assigned(WEB)
        see_again = blind(world, "member1")
        await world.sleep(1800)
        assert ready_since(world) == before
        assert world.assigned(WEB) == placed
        condition = not_observed(world, "member1")
        assert condition is not None
        assert "Too many open files" in condition.message
        status = await look_at_fleet(world.client, world.clock)
        row = next(row for row in status.clusters or () if row.name == "member1")
        assert row.state.value == "Not seen"
        assert "Too many open files" in row.note
        see_again()
        await world.sleep(30)
        assert not_observed(world, "member1") is None
        assert ready_since(world) == before

    play(story, PUSH)


def test_l2_a_cluster_whose_name_is_gone_is_lost_after_ten_minutes() -> None:
    """A managed cluster takes its DNS record with it. Until then its resolver may be wrong."""

    async def story(world: World) -> None:
        await web_runs(world)

        def no_name(_: Request) -> Response:
            raise NameNotFound("GET /readyz: [Errno -2] Name or service not known")

        answers(world.member("member1").place, no_name)
        await world.sleep(NAME_HOLDS.total_seconds() - 10)
        assert world.is_ready("member1")
        assert not_observed(world, "member1") is not None
        await world.stop_controllers()
        world.start_controllers()
        await world.until(lambda: not world.is_ready("member1"), 120)
        await world.until(lambda: is_left(world), 1200)
        condition = not_observed(world, "member1")
        assert condition is not None
        assert (condition.status, condition.reason) == ("False", "NameNotFound")
        world.member("member1").place.audit = None
        await world.until(lambda: world.is_ready("member1"), 120)
        assert not_observed(world, "member1") is None

    play(story, PUSH)


def test_s13_time_in_which_we_could_not_look_completes_no_threshold() -> None:
    """Two failed probes before, and one after: ten minutes between them are no silence."""

    async def story(world: World) -> None:
        await world.sleep_to_whole(10, offset=1)
        world.link("controllers", "member1").cut()
        await world.sleep(10)
        see_again = blind(world, "member1")
        world.link("controllers", "member1").mend()
        await world.sleep(600)
        world.link("controllers", "member1").cut()
        see_again()
        await world.sleep(11)
        assert world.is_ready("member1")
        await world.sleep(40)
        assert not world.is_ready("member1"), "it goes on with what it has seen"

    play(story, PUSH)


def test_s13_no_toleration_ends_while_we_cannot_look() -> None:
    async def story(world: World) -> None:
        await web_runs(world)
        world.link("controllers", "member1").cut()
        await world.until(lambda: no_execute(world), 600)
        see_again = blind(world, "member1")
        world.link("controllers", "member1").mend()
        await world.sleep(1200)
        assert not is_left(world)
        see_again()
        await world.sleep(60)
        assert world.is_ready("member1")
        assert not is_left(world)

    play(story, PUSH)


def now_and_then(world: World, failure: LocalFailure, every: int = 2) -> None:
    """Has each `every`-th look at member1 refused, as by the dead; the others cannot look."""
    numbers = iter(range(1, 1_000_000))

    def answer(_: Request) -> Response:
        if next(numbers) % every:
            raise failure
        raise Unreachable("connection refused")

    answers(world.member("member1").place, answer)


@pytest.mark.parametrize("every", [2, 3, 4])
@pytest.mark.parametrize("failure", [LocalFailure(NO_DESCRIPTOR), NameNotFound("Name or service not known")])
def test_l2_a_dead_cluster_is_found_dead_though_most_looks_cannot_look(failure: LocalFailure, every: int) -> None:
    async def story(world: World) -> None:
        await web_runs(world)
        now_and_then(world, failure, every)
        await world.until(lambda: not world.is_ready("member1"), 600)
        await world.until(lambda: is_left(world), 1800)

    play(story, PUSH)


def test_l2_a_name_is_found_missing_by_a_resolver_that_answers_now_and_then() -> None:
    async def story(world: World) -> None:
        await web_runs(world)
        numbers = iter(range(1, 1_000_000))

        def answer(_: Request) -> Response:
            if next(numbers) % 2:
                raise LocalFailure("Temporary failure in name resolution")
            raise NameNotFound("Name or service not known")

        answers(world.member("member1").place, answer)
        await world.sleep(NAME_HOLDS.total_seconds() + 60)
        assert world.is_ready("member1"), "half of that time nobody could look"
        await world.until(lambda: not world.is_ready("member1"), 1200)

    play(story, PUSH)
