"""Lists that become the cache again: what broke off, came late, cannot be read, or was answered to an own write."""

import asyncio
from functools import partial

import pytest

from controller_runtime.cache_budget import CacheBudget
from controller_runtime.identity import Key
from controller_runtime.informer import Informer
from kubeapi.core import CONFIG_MAPS, ConfigMap
from kubeapi.loop.randomness import Randomness
from kubeapi.loop.supervisor import Supervisor
from kubeapi.loop.virtual import run_virtual
from kubeapi.meta import Manifest
from kubeapi.resource import Resource
from kubeclient import Client, Unreachable
from leeward.api.resource import WORKS
from tests.kubeapi.loop.busy_loop import busy, run_busy
from tests.kubecluster.runtime.small_world import ScriptedTransport, config_map, config_maps, frame, response
from tests.unit.runtime.test_informer import names, remembered, work_of, works_at

SECRETS = Resource.of_manifests("v1", "secrets", "Secret", True)
AWAY: list[list[bytes | float | Exception]] = [[20, Unreachable("connection reset")], [Unreachable("refused")]]


def test_a_page_that_was_taken_in_before_a_restore_counts_no_more() -> None:
    """Known up to 900; the server comes back at 2000, breaks off after a page, and is restored to 1500."""
    page = {
        "metadata": {"resourceVersion": "2000", "continue": "more"},
        "items": [config_map("a", 1900, uid="a"), config_map("b", 1800, uid="b")],
    }
    later = frame("MODIFIED", config_map("a", 1600, uid="a"))
    transport = ScriptedTransport(
        answers=[
            config_maps(900, config_map("a", 800, uid="a")),
            response(page),
            Unreachable("connection reset"),
            config_maps(1500, config_map("a", 1400, uid="a")),
        ],
        watches=[*AWAY, [20, later, 1e6]],
    )
    told: list[str] = []

    async def main() -> None:
        async with Supervisor() as supervisor:
            restored = partial(told.append, "restored")
            informer = Informer(Client(transport), CONFIG_MAPS, Randomness(0), restored=restored)
            supervisor.start(informer.run(), "informer")
            await asyncio.sleep(600)
            assert informer.current
            assert {each.name: each.metadata.resource_version for each in informer.list()} == {"a": "1600"}

    run_virtual(main())
    assert told == ["restored"]


@pytest.mark.parametrize("is_known", [False, True])
def test_an_own_write_from_before_a_list_does_not_raise_the_dead_while_others_are_removed(is_known: bool) -> None:
    """The write was at 90, its object was deleted at 95, and listed at 100; the answer is read while what is not in the
    list is removed."""
    gone = [config_map(f"c{number}", 20) for number in range(30)]
    mine = [config_map("mine", 25)] if is_known else []
    transport = ScriptedTransport(answers=[config_maps(30, *gone, *mine), config_maps(100)], watches=[*AWAY, [1e6]])

    async def main() -> None:
        async with Supervisor() as supervisor:
            informer = Informer(Client(transport), CONFIG_MAPS, Randomness(0))
            supervisor.start(informer.run(), "informer")
            await informer.wait_synced()
            answers = [remembered("mine", 90)]

            def changed(old: ConfigMap | None, new: ConfigMap | None) -> None:
                busy().compute(0.004)
                if old is not None and new is None and answers:
                    asyncio.get_running_loop().call_soon(informer.remember, answers.pop())

            informer.on_change(changed)
            await asyncio.sleep(120)
            assert not answers
            assert (informer.current, informer.version) == (True, 100)
            assert names(informer) == set()

    run_busy(main())


def test_what_a_member_answers_to_an_own_write_counts_in_its_budget() -> None:
    def secret(number: int, version: int) -> Manifest:
        return {**config_map(f"c{number}", version, uid="u"), "data": {"a": "x" * 9_000}}

    budget = CacheBudget(max_bytes=1_000_000)
    transport = ScriptedTransport(answers=[config_maps(30, *(secret(number, 20) for number in range(10)))])

    async def main() -> None:
        async with Supervisor() as supervisor:
            informer = Informer(Client(transport), SECRETS, Randomness(0), budget=budget)
            supervisor.start(informer.run(), "informer")
            await informer.wait_synced()
            before = budget.used_bytes
            for number in range(5, 20):
                informer.remember(secret(number, 40 + number))
            assert budget.used_bytes == pytest.approx(2 * before, rel=0.01)

    run_virtual(main())


def test_s5_what_cannot_be_read_is_known_until_another_list_is_complete() -> None:
    """Override policies are asked for what cannot be read: one that is forgotten would not hold up what it selects."""
    listed = works_at(30, {**work_of("bad", 20), "status": 5})
    transport = ScriptedTransport(
        answers=[listed, listed, Unreachable("refused"), Unreachable("refused")], watches=[*AWAY, [1e6]]
    )

    async def main() -> None:
        async with Supervisor() as supervisor:
            informer = Informer(Client(transport), WORKS, Randomness(0))
            supervisor.start(informer.run(), "informer")
            await informer.wait_synced()
            assert Key("es", "bad") in informer.unreadable
            await asyncio.sleep(600)
            assert (informer.synced, informer.current) == (True, False)
            assert Key("es", "bad") in informer.unreadable

    run_virtual(main())
