"""Systematic modes: a share of the places of each; `make systematic` goes to all of them."""

from collections.abc import Callable, Coroutine
from typing import Any, cast
from unittest import mock

import pytest

from controller_runtime.informer import Informer
from kubeclient import Unreachable
from simulator.histories.playing import play
from simulator.histories.systematic import MODES, OUTAGE, Mode, sweeps

LATE = {"the controllers": 50, "the API server": 40, "m2": 50}
KILLS = [(name, number) for name, late in LATE.items() for number in (2, 30, late)]
EVICTED_FROM = "128 s"
DROPS = [(way, number) for way, most in zip(range(4), (90, 12, 18, 18), strict=True) for number in (2, most)]

WATCH = cast(Callable[[Informer[Any]], Coroutine[Any, Any, bool]], Informer.__dict__["_watch"])


def test_the_outage_itself_holds_every_invariant() -> None:
    assert play(OUTAGE).violations == []


@pytest.mark.parametrize(("who", "number"), KILLS)
def test_whoever_dies_around_an_eviction_changes_nothing_about_its_end(who: str, number: int) -> None:
    sweep = next(s for s in sweeps("kill") if s.name == f"{who} from {EVICTED_FROM} on")
    run = play(sweep.history(number))
    assert (run.reached[sweep.mark], run.violations) == (1, [])


@pytest.mark.parametrize(("way", "number"), DROPS)
def test_a_line_that_is_lost_with_its_watch_is_told_again(way: int, number: int) -> None:
    sweep = list(sweeps("drop"))[way]
    run = play(sweep.history(number))
    assert (run.reached[sweep.mark], run.violations) == (1, [])


@pytest.mark.parametrize("way", range(4))
def test_a_read_that_is_stale_does_no_harm(way: int) -> None:
    sweep = list(sweeps("stale"))[way]
    run = play(sweep.history(6))
    assert (run.reached[sweep.mark], run.violations) == (1, [])


@pytest.mark.parametrize("mode", MODES)
def test_a_sweep_ends_behind_the_last_place(mode: Mode) -> None:
    """Controllers that have no way to a place, or no life, have nothing to lose there."""
    sweep = next(iter(sweeps(mode)))
    assert list(sweep.runs(iter([9_999]))) == []


def test_a_watch_that_goes_on_behind_what_it_lost_is_found() -> None:
    """The watch resumes at what is newest now, instead of at what it was told last."""

    async def watch(self: Informer[Any]) -> bool:
        try:
            return await WATCH(self)
        except Unreachable:
            page = await self._client.list(self.resource, self._namespace, limit=1)  # pyright: ignore[reportPrivateUsage]
            self._version = int(page.resource_version)  # pyright: ignore[reportPrivateUsage]
            raise

    sweep = next(iter(sweeps("drop")))
    with mock.patch.object(Informer, "_watch", watch):
        assert any(play(sweep.history(number)).violations for number in range(1, 20, 3))
