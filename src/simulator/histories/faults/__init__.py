"""Faults: each strikes, lasts, and is mended. Where several hold the same thing, the last one lets it go.

    Faults ─┬─ Outages         processes stop, die and come back, and what they store is lost or old
            ├─ Disturbances    all runs, but slowly, far away, at another time, or it lies
            └─ Holds           who is kept from being well, and by how many

`heal` ends them all at once, whatever is left of them.
"""

from leeward.sim.world import World
from simulator.candidate import Begun
from simulator.histories.faults.disturbances import Disturbances
from simulator.histories.faults.holds import Holds
from simulator.histories.faults.outages import KILLED_AT_AN_AWAIT, Outages
from simulator.histories.model import AnyFault
from simulator.histories.rare import RareSituations
from simulator.stale_reads import StaleReads

__all__ = ["KILLED_AT_AN_AWAIT", "Faults"]


class Faults:
    """`rare` is told of every mishap on a link, and of who dies at what moment; `past` knows the stale answers; `begun`
    sees what replicas write."""

    def __init__(self, world: World, seed: int, rare: RareSituations, past: StaleReads, begun: Begun) -> None:
        self._holds = Holds()
        self._outages = Outages(world, self._holds, rare, begun)
        self._disturbances = Disturbances(world, self._holds, seed, rare, past)

    async def strike(self, fault: AnyFault) -> None:
        """Returns when the fault is over. Raises: AssertionError where nobody knows how it strikes."""
        strike = self._outages.of(fault) or self._disturbances.of(fault)
        assert strike is not None, f"nobody knows how {fault} strikes"
        await strike

    async def heal(self) -> None:
        """Heals all: everything runs, and nothing is in its way."""
        self._holds.let_all_go()
        self._disturbances.heal()
        await self._outages.heal()
        await self._disturbances.mend()
