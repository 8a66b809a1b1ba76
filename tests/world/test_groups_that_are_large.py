"""Groups of the largest size: how often their members are decided while they are held, and what one decision asks."""

from collections import Counter
from typing import Any

import pytest

from leeward.core.moving_together import MOST_MEMBERS
from leeward.planning import group_decisions
from leeward.sim.world import World
from tests.world.stories import held, play
from tests.world.test_groups import THREE, member_of, running
from tests.world.test_reconciliations import reconciled

NAMES = [f"app{number:02}" for number in range(MOST_MEMBERS)]
BINDINGS = [f"{name}-deployment" for name in NAMES]
MINUTES = 10


def test_a_held_group_is_decided_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last one may not leave the dead cluster, so that each member asks whether it would by now."""
    asked = Counter[str]()
    decide = group_decisions.decide

    def counted(snapshot: Any, *more: Any) -> Any:
        asked[snapshot.binding.name] += 1
        return decide(snapshot, *more)

    async def story(world: World) -> None:
        home = await running(
            world, *(member_of("shop", name) for name in NAMES[:-1]), member_of("shop", NAMES[-1], ("member1",))
        )
        await world.member(home).stop()
        await world.until(lambda: all(held(world, name) for name in BINDINGS), 900)
        await world.sleep(120)
        before = reconciled(world)["scheduler"]
        asked.clear()
        await world.sleep(60 * MINUTES)
        looks = reconciled(world)["scheduler"] - before
        assert {held(world, name) for name in BINDINGS[:-1]} == {"GroupHeld"}
        assert looks <= (MINUTES + 1) * MOST_MEMBERS
        assert asked.total() <= looks * 3 * MOST_MEMBERS

    monkeypatch.setattr(group_decisions, "decide", counted)
    play(story, THREE)
