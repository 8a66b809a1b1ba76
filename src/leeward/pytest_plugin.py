"""A fleet for tests, on the virtual clock: ask pytest for the fixture `leeward_fleet`.

    def test_web_survives(leeward_fleet):
        fleet = leeward_fleet("member1", "member2", "member3")
        fleet.apply("policy.yaml", "web.yaml")
        fleet.wait("1m")
        fleet.fail("member1")
        fleet.wait("15m")
        assert sum(fleet.serving("deploy/web").values()) == 3

API servers, controllers, agents and schedulers are those of production; time, links and Pods are simulated. Twenty
minutes of an outage take about a second. pytest finds the fixture by itself where Leeward is installed.
"""

from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from leeward.sim.virtual_fleet import FleetMember, VirtualFleet


class FleetStarter:
    """Starts fleets of one test: `leeward_fleet("member1", "member2")`."""

    def __init__(self) -> None:
        self._started = list["VirtualFleet"]()

    def __call__(self, *members: "str | FleetMember", seed: int = 0) -> "VirtualFleet":
        """A fleet whose clusters are Ready. A text is the name of a Push member; three of them where none is named."""
        from leeward.sim.virtual_fleet import VirtualFleet

        fleet = VirtualFleet(members or ("member1", "member2", "member3"), seed=seed)
        self._started.append(fleet)
        return fleet

    def close(self) -> None:
        for fleet in self._started:
            fleet.close()


@pytest.fixture
def leeward_fleet() -> Generator[FleetStarter]:
    """Fleets of real controllers on the virtual clock, which end with the test."""
    starter = FleetStarter()
    try:
        yield starter
    finally:
        starter.close()
