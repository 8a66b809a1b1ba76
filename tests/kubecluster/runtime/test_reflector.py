"""The reflector: its table is what the server said last, through everything that can happen to the two."""

import asyncio
from typing import Any

import pytest

from controller_runtime.cache_budget import CacheBudget
from controller_runtime.follower import LAST_RETRY_SECONDS
from controller_runtime.informers import Informers
from controller_runtime.reflector import Reflector
from kubeapi.core import CONFIG_MAPS, ConfigMap
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeapi.status import Status, StatusDetails
from kubeclient import Client, Response, TooManyRequests, Unreachable
from kubeclient.patience import LONGEST_REST_SECONDS
from tests.kubecluster.runtime.small_world import (
    ScriptedTransport,
    SmallWorld,
    config_map,
    config_maps,
    frame,
    response,
    tell,
)

BYTES = 100


class Names:
    """A table of names and data; each takes 100 bytes."""

    def __init__(self) -> None:
        self.found = dict[str, str]()

    @property
    def count(self) -> int:
        return len(self.found)

    @property
    def size(self) -> int:
        return BYTES * len(self.found)

    def put(self, obj: ConfigMap) -> None:
        self.found[obj.name] = obj.data.get("mode", "")

    def remove(self, obj: ConfigMap) -> None:
        self.found.pop(obj.name, None)


def reflected(world: SmallWorld, budget: CacheBudget | None = None, select: str = "") -> Reflector[Names]:
    informers = Informers(world.client, Randomness(0), world.supervisor, budget)
    return informers.reflect(CONFIG_MAPS, Names, select)


def names(reflector: Reflector[Names]) -> str:
    return "-" if reflector.table is None else "".join(sorted(reflector.table.found))


def follow(transport: ScriptedTransport, seconds: float = 60, budget: CacheBudget | None = None) -> Reflector[Names]:
    """A reflector that has followed the script for a while."""

    async def main() -> Reflector[Names]:
        async with Supervisor() as supervisor:
            informers = Informers(Client(transport), Randomness(0), supervisor, budget)
            reflector = informers.reflect(CONFIG_MAPS, Names)
            await asyncio.sleep(seconds)
            return reflector

    return run_virtual(main())


def test_it_lists_in_pages_and_then_takes_in_every_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller_runtime.follower.PAGE_SIZE", 2)

    async def story(world: SmallWorld) -> None:
        for name in "abcde":
            await world.write(name)
        reflector = reflected(world)
        assert await reflector.synced(10) is reflector.table
        assert names(reflector) == "abcde"
        await world.write("f")
        await world.write("a", mode="sail")
        await world.delete("b")
        await asyncio.sleep(1)
        assert names(reflector) == "acdef"
        assert reflector.table is not None
        assert reflector.table.found["a"] == "sail"

    tell(story)


def test_what_is_left_out_by_the_server_is_left_out_of_list_and_watch() -> None:
    transport = ScriptedTransport(answers=[config_maps(5)])

    async def main() -> None:
        async with Supervisor() as supervisor:
            Informers(Client(transport), Randomness(0), supervisor).reflect(CONFIG_MAPS, Names, "status.phase!=Failed")
            await asyncio.sleep(1)

    run_virtual(main())
    listed, watched = transport.requests
    assert listed.query == {"fieldSelector": "status.phase!=Failed", "limit": "500"}
    assert watched.query["fieldSelector"] == "status.phase!=Failed"
    assert watched.query["resourceVersion"] == "5"


def test_an_outage_keeps_the_table_and_a_new_one_comes_afterwards() -> None:
    async def story(world: SmallWorld) -> None:
        await world.write("a")
        reflector = reflected(world)
        before = await reflector.synced(10)
        world.link.cut()
        await world.delete("a")
        await world.write("b")
        began = asyncio.get_running_loop().time()
        await asyncio.sleep(1_200)
        assert names(reflector) == "a"
        assert reflector.health.failing_since == pytest.approx(began, abs=1)
        world.link.mend()
        await asyncio.sleep(LAST_RETRY_SECONDS * 1.2)
        assert names(reflector) == "b"
        assert reflector.table is not before
        await asyncio.sleep(60)
        assert reflector.health.failing_since is None

    tell(story)


def page(version: int, token: str, *items: dict[str, Any]) -> Response:
    return response({"metadata": {"resourceVersion": str(version), "continue": token}, "items": items})


def test_s5_the_old_table_stays_until_the_new_list_is_complete() -> None:
    transport = ScriptedTransport(
        answers=[
            config_maps(5, config_map("a", 4)),
            page(9, "more", config_map("b", 8)),
            Unreachable("in the middle"),
            page(9, "more", config_map("b", 8)),
            config_maps(9, config_map("c", 8)),
        ],
        watches=[[10.0, frame("ERROR", {"code": 410, "reason": "Expired"})]],
        answer_seconds=1.0,
    )
    assert names(follow(transport, 13.5)) == "a"
    transport.__post_init__()
    assert names(follow(transport, 30)) == "bc"


def test_a_server_that_only_broke_the_stream_is_followed_from_where_it_was() -> None:
    transport = ScriptedTransport(
        answers=[config_maps(5, config_map("a", 4))],
        watches=[
            [1.0, frame("ADDED", config_map("b", 7)), frame("BOOKMARK", config_map("", 9)), Unreachable("broken")],
            [frame("DELETED", config_map("a", 10))],
        ],
    )
    assert names(follow(transport)) == "b"
    watched = [request.query["resourceVersion"] for request in transport.requests if "watch" in request.query]
    assert watched[:2] == ["5", "9"]


@pytest.mark.parametrize("nonsense", [Response(200, b"<html>"), response({"kind": "Status"}, 500), response([])])
def test_a_server_that_answers_nonsense_is_asked_again(nonsense: Response) -> None:
    assert names(follow(ScriptedTransport(answers=[nonsense, config_maps(5, config_map("a", 4))]))) == "a"


def put_off(seconds: int) -> Response:
    return response({"kind": "Status", "code": 429, "details": {"retryAfterSeconds": seconds}}, 429)


def test_a_list_that_is_put_off_is_asked_for_again_when_the_server_wants_it() -> None:
    transport = ScriptedTransport(answers=[put_off(12), put_off(86_400), config_maps(5, config_map("a", 4))])
    assert names(follow(transport)) == "a"
    assert transport.asked_at[:3] == [0, 12, 12 + LONGEST_REST_SECONDS]


def test_a_page_that_is_put_off_is_asked_for_again_and_none_of_those_before_it() -> None:
    first, last = page(5, "next", config_map("a", 4)), page(5, "", config_map("b", 5))
    transport = ScriptedTransport(answers=[first, put_off(3), put_off(3), last])
    assert names(follow(transport)) == "ab"
    assert [request.query.get("continue", "") for request in transport.requests[:4]] == ["", "next", "next", "next"]
    assert transport.asked_at[:4] == [0, 0, 3, 6]


def test_a_server_that_puts_every_page_off_has_its_list_begun_anew() -> None:
    first, last = page(5, "next", config_map("a", 4)), page(5, "", config_map("b", 5))
    transport = ScriptedTransport(answers=[first, *[put_off(20)] * 4, first, last])
    assert names(follow(transport, 300)) == "ab"
    assert [request.query.get("continue", "") for request in transport.requests[:7]].count("") == 2


def test_a_watch_that_is_put_off_ends_nothing_and_nobody_hurries_it() -> None:
    busy = TooManyRequests(Status(code=429, details=StatusDetails(retry_after_seconds=20)))
    transport = ScriptedTransport(answers=[config_maps(5, config_map("a", 4))], watches=[[busy], [1e6]])

    async def main() -> None:
        async with Supervisor() as supervisor:
            informers = Informers(Client(transport), Randomness(0), supervisor)
            reflector = informers.reflect(CONFIG_MAPS, Names)
            await asyncio.sleep(1)
            reflector.hurry()
            await asyncio.sleep(59)
            assert names(reflector) == "a"

    run_virtual(main())
    assert [int(instant) for instant in transport.asked_at] == [0, 0, 20]
    assert "watch" in transport.requests[-1].query, "it is not listed again"


def test_waiting_for_the_first_list_has_a_deadline() -> None:
    async def main() -> None:
        async with Supervisor() as supervisor:
            informers = Informers(Client(ScriptedTransport()), Randomness(0), supervisor)
            reflector = informers.reflect(CONFIG_MAPS, Names)
            with pytest.raises(Unreachable, match="no list of configmaps yet"):
                await reflector.synced(5)
            assert asyncio.get_running_loop().time() == pytest.approx(5, abs=0.1)

    run_virtual(main())


def test_all_that_follow_a_server_are_hurried_together() -> None:
    async def main() -> None:
        transport = ScriptedTransport(answers=[Unreachable("away")] * 20 + [config_maps(5)])
        async with Supervisor() as supervisor:
            informers = Informers(Client(transport), Randomness(0), supervisor)
            informers.reflect(CONFIG_MAPS, Names)
            await asyncio.sleep(30)
            asked = len(transport.requests)
            informers.hurry()
            await asyncio.sleep(0.01)
            assert len(transport.requests) == asked + 1

    run_virtual(main())


def test_the_budget_is_told_of_what_the_table_takes() -> None:
    budget = CacheBudget()
    transport = ScriptedTransport(
        answers=[config_maps(5, config_map("a", 4), config_map("b", 4)), config_maps(20, config_map("d", 20))],
        watches=[
            [10.0, frame("ADDED", config_map("c", 7))],
            [10.0, frame("DELETED", config_map("a", 8)), frame("ERROR", {"code": 410, "reason": "Expired"})],
        ],
    )
    follow(transport, 5, budget)
    assert (budget.used_bytes, budget.used_objects) == (2 * BYTES, 2)
    transport.__post_init__()
    budget = CacheBudget()
    follow(transport, 15, budget)
    assert (budget.used_bytes, budget.used_objects) == (3 * BYTES, 3)
    transport.__post_init__()
    budget = CacheBudget()
    follow(transport, 60, budget)
    assert (budget.used_bytes, budget.used_objects) == (BYTES, 1)


def test_a_table_that_grows_beyond_the_budget_is_told_and_no_new_one_is_adopted() -> None:
    budget = CacheBudget(max_objects=2)
    three = config_maps(9, *(config_map(name, 4) for name in "xyz"))
    transport = ScriptedTransport(
        answers=[config_maps(5, config_map("a", 4), config_map("b", 4)), three, three],
        watches=[[1.0, frame("ADDED", config_map("c", 7)), frame("ADDED", config_map("d", 8))]],
    )
    assert names(follow(transport, 60, budget)) == "abc"
    assert budget.excess == "configmaps: more than 2 objects of all kinds that are followed"
