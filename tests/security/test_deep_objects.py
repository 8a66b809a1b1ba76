"""Custom resources that are nested deeper than Python can follow: a real API server takes 10,000 levels.

has            the right to write custom resources in one namespace
does           nests one more deeply than two states of it can be compared
must not get   others of the kind unpropagated, or nobody told why this one is not carried out
"""

import pytest

from kubeapi.meta import Manifest
from kubeserver import limits
from leeward.sim.world import World
from tests.world.stories import play
from tests.world.test_kinds import CRON_TAB_DEFINITION, CRON_TABS, DEFINITIONS, POLICIES, appears, selecting


@pytest.mark.parametrize("levels", [300, 900])
def test_what_cannot_be_compared_says_so_and_holds_back_no_other(levels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_DEPTH", 10_000)

    async def story(world: World) -> None:
        for client in (world.client, world.member("member1").client):
            await client.create(DEFINITIONS, CRON_TAB_DEFINITION)
        deep: Manifest = {}
        for _ in range(levels):
            deep = {"a": deep}
        for name, spec in (("deep", {"deep": deep}), ("usual", {"at": "02:00"})):
            await world.client.create(CRON_TABS, {"metadata": {"name": name}, "spec": spec}, "default")
            await world.client.create(POLICIES, selecting(CRON_TABS, name, "member1"), "default")
        assert (await appears(world, "member1", CRON_TABS, "usual", "default"))["spec"] == {"at": "02:00"}
        await world.sleep(60)
        binding = world.binding("deep-crontab")
        assert binding is not None
        said = "CronTab default/deep: it is nested too deeply to be compared"
        assert said in binding.status.aggregated_status[0].applied_message

    play(story, {"member1": "Push"})
