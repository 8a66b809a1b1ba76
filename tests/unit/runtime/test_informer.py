"""The informer: its cache is what the server said last, through everything that can happen to the two."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from controller_runtime.cache_budget import CacheBudget
from controller_runtime.follower import LAST_RETRY_SECONDS
from controller_runtime.index import Index
from controller_runtime.informer import Informer
from controller_runtime.informers import Informers
from kubeapi.core import CONFIG_MAPS, ConfigMap
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest, ObjectMeta
from kubeapi.status import Status
from kubeclient import Client, Expired, Response, Unreachable
from leeward.api.resource import WORKS
from tests.kubeapi.loop.busy_loop import busy, run_busy
from tests.kubecluster.runtime.small_world import (
    CLOCK,
    ScriptedTransport,
    SmallWorld,
    config_map,
    config_maps,
    frame,
    response,
    tell,
)

Changes = list[tuple[str | None, str | None]]


def names(informer: Informer[ConfigMap]) -> set[str]:
    return {obj.name for obj in informer.list()}


def changes_of(informer: Informer[ConfigMap]) -> Changes:
    """Names of (old, new), noted as they are told."""
    changes: Changes = []
    informer.on_change(lambda old, new: changes.append((old and old.name, new and new.name)))
    return changes


def remembered(name: str, version: int) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(name=name, namespace="default", resource_version=str(version)))


def follow(transport: ScriptedTransport, seconds: float = 60) -> Informer[ConfigMap]:
    """An informer that has followed the script for a while."""

    async def main() -> Informer[ConfigMap]:
        async with Supervisor() as supervisor:
            informer = Informer(Client(transport), CONFIG_MAPS, Randomness(0))
            supervisor.start(informer.run(), "informer")
            await asyncio.sleep(seconds)
            return informer

    return run_virtual(main())


def test_it_lists_in_pages_and_then_follows_every_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller_runtime.follower.PAGE_SIZE", 2)

    async def story(world: SmallWorld) -> None:
        for name in "abcde":
            await world.write(name)
        informer = world.informer()
        changes = changes_of(informer)
        await informer.wait_synced()
        assert changes == [(None, name) for name in "abcde"]
        await world.write("f")
        await world.write("a", mode="sail")
        await world.delete("b")
        await asyncio.sleep(1)
        assert changes[5:] == [(None, "f"), ("a", "a"), ("b", None)]
        assert names(informer) == set("acdef")
        assert {obj.name for obj in informer.list("default")} == set("acdef")
        assert [*informer.list("elsewhere")] == []

    tell(story)


def test_an_outage_keeps_the_cache_and_what_was_missed_comes_afterwards() -> None:
    async def story(world: SmallWorld) -> None:
        await world.write("a")
        informer = world.informer()
        await informer.wait_synced()
        world.link.cut()
        await world.delete("a")
        await world.write("b")
        await asyncio.sleep(1_200)
        assert names(informer) == {"a"}
        world.link.mend()
        await asyncio.sleep(LAST_RETRY_SECONDS * 1.2)
        assert names(informer) == {"b"}

    tell(story)


def test_it_lists_again_when_the_server_has_forgotten_where_it_was() -> None:
    async def story(world: SmallWorld) -> None:
        await world.write("a")
        await world.write("b")
        informer = world.informer()
        await informer.wait_synced()
        changes = changes_of(informer)
        world.link.cut()
        await world.delete("a")
        await world.write("b", mode="sail")
        world.store.compact(world.store.revision)
        world.link.mend()
        await asyncio.sleep(10)
        assert changes[2:] == [("b", "b"), ("a", None)]

    tell(story)


def test_own_writes_are_read_at_once_and_never_raise_the_dead() -> None:
    async def story(world: SmallWorld) -> None:
        informer = world.informer()
        await informer.wait_synced()
        written = await world.write("a")
        informer.remember(written)
        assert informer.get("a", "default") == written
        await world.delete("a")
        await asyncio.sleep(1)
        informer.remember(written)
        assert informer.get("a", "default") is None

    tell(story)


def test_an_own_write_does_not_raise_the_dead_while_the_list_is_made_anew() -> None:
    transport = ScriptedTransport(
        answers=[config_maps(10, config_map("a", 9))],
        watches=[[frame("DELETED", config_map("a", 15)), frame("ERROR", {"code": 410})]],
    )
    informer = follow(transport)
    informer.remember(remembered("a", 12))
    assert names(informer) == set()


def test_an_own_write_survives_a_list_from_before_it_and_the_end_of_its_predecessor() -> None:
    gone = frame("DELETED", config_map("a", version=15))
    answers = [config_maps(10, config_map("a", 9))]
    transport = ScriptedTransport(answers, watches=[[5, gone, 1e6]], answer_seconds=5)

    async def main() -> None:
        async with Supervisor() as supervisor:
            informer = Informer(Client(transport), CONFIG_MAPS, Randomness(0))
            supervisor.start(informer.run(), "informer")
            await asyncio.sleep(1)
            informer.remember(remembered("a", 20))
            informer.remember(remembered("b", 8))
            await informer.wait_synced()
            assert names(informer) == {"a"}
            changes = changes_of(informer)
            await asyncio.sleep(60)
            assert changes == [(None, "a")]

    run_virtual(main())


@pytest.mark.parametrize("too_large", [{"causes": [{"reason": "ResourceVersionTooLarge"}]}, None])
def test_a_server_whose_versions_ran_backwards_is_believed_anew(too_large: object) -> None:
    """The server was restored from a backup, or is another one."""
    refusal = frame("ERROR", {"code": 504 if too_large else 410, "reason": "Timeout", "details": too_large})
    transport = ScriptedTransport(
        answers=[config_maps(900, config_map("a", 800), config_map("b", 850)), config_maps(30, config_map("b", 20))],
        watches=[[refusal], [frame("MODIFIED", config_map("b", 31)), 1e6]],
    )
    informer = follow(transport)
    assert names(informer) == {"b"}
    assert transport.requests[-1].query["resourceVersion"] == "30"
    found = informer.get("b", "default")
    assert found is not None
    assert found.metadata.resource_version == "31"


@pytest.mark.parametrize("later", ["is read again", "is gone", "is deleted"])
def test_s5_what_a_restored_server_has_and_cannot_be_read_stays_until_more_is_known(later: str) -> None:
    """The kind is one of Karmada's, of which one object hides no other. The versions of before count no more."""
    unreadable = {**work_of("a", 20), "spec": {"suspendDispatching": "maybe"}}
    readable = work_of("a", 31)
    lost = frame("DELETED", {**readable, "spec": unreadable["spec"]})
    again = works_at(40) if later != "is read again" else works_at(40, readable)
    followed: list[bytes | float | Exception] = [40.0]
    if later == "is read again":
        followed = [40.0, frame("MODIFIED", readable), 1e6]
    elif later == "is deleted":
        followed = [40.0, lost]
    transport = ScriptedTransport(
        answers=[works_at(900, work_of("a", 800), work_of("b", 850)), *2 * [works_at(30, unreadable)], *2 * [again]],
        watches=[[frame("ERROR", {"code": 410, "reason": "Expired"})], followed, [Expired(Status(code=410))], [1e6]],
    )
    seen: list[dict[str, str]] = []

    async def main() -> None:
        async with Supervisor() as supervisor:
            informer = Informer(Client(transport), WORKS, Randomness(0))
            supervisor.start(informer.run(), "informer")
            for seconds in (20, 100):
                await asyncio.sleep(seconds)
                seen.append({obj.name: obj.metadata.resource_version for obj in informer.list()})

    run_virtual(main())
    assert seen == [{"a": "800"}, {"a": "31"} if later == "is read again" else {}]


def work_of(name: str, version: int) -> Manifest:
    return {"metadata": {"name": name, "namespace": "es", "uid": "u", "resourceVersion": str(version)}, "spec": {}}


def works_at(version: int, *works: Manifest) -> Response:
    return response({"metadata": {"resourceVersion": str(version)}, "items": list(works)})


def test_a_server_that_was_away_is_listed_again_for_its_versions_may_have_overtaken_the_known_one() -> None:
    """The server comes back with other contents: a is gone, b is another one, c an earlier state of what c was."""
    before = [config_map("a", 800), config_map("b", 850, uid="first"), config_map("c", 890)]
    after = [config_map("b", 840, uid="second"), config_map("c", 880)]
    transport = ScriptedTransport(
        answers=[config_maps(900, *before), config_maps(950, *after)],
        watches=[[Unreachable("connection reset")], [Unreachable("connection refused")], [1e6]],
    )
    informer = follow(transport)
    assert {obj.name: (obj.metadata.uid, obj.metadata.resource_version) for obj in informer.list()} == {
        "b": ("second", "840"),
        "c": ("", "880"),
    }


RESTORED = {
    "an earlier state": ([config_map("a", 800, uid="u")], config_maps(950, config_map("a", 700, uid="u")), True),
    "versions that ran backwards": ([config_map("a", 800, uid="u")], config_maps(30), True),
    "another object": ([config_map("a", 800, uid="u")], config_maps(950, config_map("a", 900, uid="v")), False),
    "a later state": ([config_map("a", 800, uid="u")], config_maps(950, config_map("a", 920, uid="u")), False),
    "an absence": ([config_map("a", 800, uid="u")], config_maps(950), False),
}


@pytest.mark.parametrize(("before", "after", "restored"), RESTORED.values(), ids=RESTORED)
def test_a_list_shows_that_its_server_was_restored_by_versions_only(
    before: list[dict[str, Any]], after: Response, *, restored: bool
) -> None:
    transport = ScriptedTransport(
        answers=[config_maps(900, *before), after],
        watches=[[Unreachable("connection reset")], [Unreachable("connection refused")], [1e6]],
    )
    told: list[str] = []

    async def main() -> None:
        async with Supervisor() as supervisor:
            informers = Informers(Client(transport), Randomness(0), supervisor)
            informers.on_restored(lambda: told.append("restored"))
            informers.of(CONFIG_MAPS)
            await asyncio.sleep(60)

    run_virtual(main())
    assert told == ["restored"] * restored


def test_s5_what_has_to_be_listed_again_is_synced_and_not_current() -> None:
    """A stream that breaks once says nothing of the server; one that cannot be reached then may be another one."""
    transport = ScriptedTransport(
        answers=[config_maps(900, config_map("a", 800)), Unreachable("connection refused"), config_maps(950)],
        watches=[[20, Unreachable("connection reset")], [10, Unreachable("connection refused")], [1e6]],
        answer_seconds=5,
    )

    async def main() -> None:
        async with Supervisor() as supervisor:
            informer = Informer(Client(transport), CONFIG_MAPS, Randomness(0))
            supervisor.start(informer.run(), "informer")
            with pytest.raises(Unreachable):
                await informer.wait_current(1)
            await asyncio.sleep(26)
            await informer.wait_current(0.1)
            assert len(transport.requests) == 3, "it is followed from where it was"
            await asyncio.sleep(12)
            await informer.wait_synced(0.1)
            with pytest.raises(Unreachable):
                await informer.wait_current(1)
            assert names(informer) == {"a"}
            await informer.wait_current(20)
            assert names(informer) == set()

    run_virtual(main())


@pytest.mark.parametrize("now_at", [950, 30])
@pytest.mark.parametrize(("budget", "known"), [(None, {"a", "b"}), (CacheBudget(), {"a"})])
def test_s5_a_page_of_the_control_plane_is_taken_in_as_it_comes_and_nothing_is_gone_before_the_last(
    budget: CacheBudget | None, known: set[str], now_at: int
) -> None:
    """A list of others could be beyond the bounds, and is taken in as a whole. The first attempt breaks off. Of a
    restored server, too, whose versions ran backwards."""
    first = {"metadata": {"resourceVersion": str(now_at), "continue": "more"}, "items": [config_map("b", now_at - 10)]}
    answers = [config_maps(900, config_map("a", 800)), response(first), Unreachable("connection reset")]
    transport = ScriptedTransport(
        answers=[*answers, response(first), config_maps(now_at, config_map("c", now_at - 5))],
        watches=[[Unreachable("connection reset")], [Unreachable("connection refused")], [1e6]],
        answer_seconds=5,
    )

    async def main() -> None:
        async with Supervisor() as supervisor:
            informer = Informer(Client(transport), CONFIG_MAPS, Randomness(0), budget=budget)
            supervisor.start(informer.run(), "informer")
            await asyncio.sleep(13.5)
            for _ in range(2):
                assert names(informer) == known
                assert informer.synced
                assert not informer.current
                assert informer.version == 900
                await asyncio.sleep(4)
            await asyncio.sleep(90)
            assert names(informer) == {"b", "c"}
            assert informer.version == now_at

    run_virtual(main())


@pytest.mark.parametrize("now_at", [950, 30])
def test_s5_a_long_list_taken_in_piece_by_piece_never_shows_an_absence_of_what_is_there(now_at: int) -> None:
    """Readers in between see the old state or the new one: after a long absence, and of a restored server."""
    known = [config_map(f"c{number}", 20, uid=f"u{number}") for number in range(60)]
    others = [config_map(f"c{number}", 21, uid=f"v{number}") for number in range(30)]
    lost = config_map("lost", 20)
    transport = ScriptedTransport(
        answers=[config_maps(900, *known, lost), config_maps(now_at, *others, *known[30:])],
        watches=[[20, Unreachable("connection reset")], [Unreachable("connection refused")], [1e6]],
    )
    looks = list[set[str]]()

    async def look(informer: Informer[ConfigMap]) -> None:
        while True:
            looks.append(names(informer))
            await asyncio.sleep(0)
            busy().compute(0.001)

    async def main() -> None:
        async with Supervisor() as supervisor:
            informer = Informer(Client(transport), CONFIG_MAPS, Randomness(0))
            supervisor.start(informer.run(), "informer")
            await informer.wait_synced()
            informer.on_change(lambda _old, _new: busy().compute(0.004))
            supervisor.start(look(informer), "look")
            await asyncio.sleep(60)
            assert {obj.metadata.uid for obj in informer.list()} == {
                *(f"v{number}" for number in range(30)),
                *(f"u{number}" for number in range(30, 60)),
            }

    run_busy(main())
    there = {f"c{number}" for number in range(60)}
    assert all(there <= look for look in looks)
    assert [look - there for look in looks[:1] + looks[-1:]] == [{"lost"}, set()]


def test_a_server_that_only_broke_the_stream_is_followed_from_where_it_was() -> None:
    broken = [frame("MODIFIED", config_map("a", 11)), Unreachable("connection reset")]
    transport = ScriptedTransport(
        answers=[config_maps(10, config_map("a", 9))],
        watches=[broken, [frame("MODIFIED", config_map("a", 12)), 30, Unreachable("connection reset")], [1e6]],
    )
    follow(transport)
    assert [request.query.get("resourceVersion") for request in transport.requests[1:]] == ["10", "11", "12"]


@pytest.mark.parametrize(
    "nonsense",
    [
        response({"metadata": {"resourceVersion": "tuesday"}, "items": []}),
        response({"kind": "List"}),
        response({"metadata": {}, "items": [{"metadata": 1}]}),
    ],
)
def test_a_server_that_answers_nonsense_is_asked_again(nonsense: Response) -> None:
    transport = ScriptedTransport(answers=[nonsense, config_maps(10, config_map("a", 9))])
    assert names(follow(transport)) == {"a"}


def test_a_server_that_ends_every_watch_at_once_is_not_hammered() -> None:
    expired = frame("ERROR", {"code": 410, "reason": "Expired"})
    for watch in ([], [expired]):
        transport = ScriptedTransport(answers=[config_maps(1)] * 100, watches=[watch] * 100)
        follow(transport, seconds=60)
        assert 5 < len(transport.requests) < 50


def test_waiting_for_the_first_list_has_a_deadline() -> None:
    async def story(world: SmallWorld) -> None:
        world.link.hang()
        informer = world.informer()
        with pytest.raises(Unreachable, match="no list of configmaps yet"):
            await informer.wait_synced(7)
        assert CLOCK.monotonic() == 7
        assert not informer.synced
        world.link.flow()
        await informer.wait_synced()
        assert informer.synced

    tell(story)


def test_hurry_ends_a_pause_and_makes_the_next_ones_short() -> None:
    async def story(world: SmallWorld) -> None:
        world.link.cut()
        informer = world.informer()
        await asyncio.sleep(600)
        world.link.mend()
        informer.hurry()
        await informer.wait_synced()
        assert CLOCK.monotonic() == 600

    tell(story)


def test_the_pauses_between_attempts_grow_up_to_a_limit() -> None:
    transport = ScriptedTransport(answers=[Unreachable("gone")] * 20)
    follow(transport, seconds=60)
    pauses = [later - earlier for earlier, later in pairwise(transport.asked_at)]
    assert pauses[0] < 0.2
    assert all(later > 1.5 * earlier for earlier, later in pairwise(pauses[:5]))
    assert LAST_RETRY_SECONDS <= pauses[-1] <= LAST_RETRY_SECONDS * 1.1


def test_a_handler_that_fails_or_unsubscribes_keeps_no_change_from_the_others() -> None:
    async def story(world: SmallWorld) -> None:
        await world.write("a")
        informer = world.informer()
        await informer.wait_synced()
        heard: list[str] = []

        def once(old: ConfigMap | None, new: ConfigMap | None) -> None:
            heard.append("once")
            if old is not None:
                stop()

        informer.on_change(lambda old, new: heard.remove("nothing"))
        stop = informer.on_change(once)
        changes = changes_of(informer)
        await world.write("a", mode="sail")
        await world.write("a", mode="oars")
        await asyncio.sleep(1)
        assert heard == ["once", "once"]
        assert changes == [(None, "a"), ("a", "a"), ("a", "a")]

    tell(story)


def test_an_index_follows_the_values_of_the_objects() -> None:
    async def story(world: SmallWorld) -> None:
        await world.write("a", port="Kiel")
        await world.write("b", port="Kiel")
        await world.write("c")
        informer = world.informer()
        by_port = Index[ConfigMap, str](informer, lambda obj: obj.data.get("port"))
        await informer.wait_synced()
        assert {obj.name for obj in by_port.get("Kiel")} == {"a", "b"}
        await world.write("a", port="Oslo")
        await world.delete("b")
        await asyncio.sleep(1)
        assert by_port.get("Kiel") == []
        assert [obj.name for obj in by_port.get("Oslo")] == ["a"]

    tell(story)
