"""Override policies that nobody here has ever been able to read: what they may select is not made without them."""

from typing import Any

import pytest

from kubeclient import Request, Response
from leeward.sim.world import World
from tests.security.worlds import UnaskedWorld, play_in
from tests.world.stories import apply, deployment, policy
from tests.world.test_detection import answers, status
from tests.world.test_overrides import (
    BOTH,
    CLUSTER_OVERRIDES,
    OVERRIDES,
    TWO,
    failure,
    images,
    only,
    open_definition,
    overriding,
    tagged,
    web_runs,
)


@pytest.mark.parametrize("selectors", [[{"apiVersion": "apps/v1", "kind": "Deployment"}], {"by": "query"}])
def test_what_a_policy_of_a_newer_karmada_may_select_is_not_made_without_it_s14(selectors: Any) -> None:
    """The policy has never been read, and no Work names it. What it can select neither way goes on."""

    async def story(world: World) -> None:
        await world.stop_controllers()
        await open_definition(world)
        ours = overriding("ours", {}, imageOverrider=tagged("1"), resourceOverrider=[{"cpu": "1"}])
        ours["spec"]["resourceSelectors"] = selectors
        await world.client.create(OVERRIDES, ours, "default")
        world.start_controllers()
        await apply(world.client, deployment("web", 2), policy("web", BOTH))
        await world.sleep(60)
        assert await images(world) == {}, "nothing runs that was to be overridden"
        assert "OverridePolicy default/ours cannot be read, and may select this (" in failure(world)

        rules = overriding("", imageOverrider=tagged("1"))["spec"]["overrideRules"]
        mended = [{"apiVersion": "apps/v1", "kind": "Deployment"}]
        await world.client.patch(
            OVERRIDES, "ours", {"spec": {"overrideRules": rules, "resourceSelectors": mended}}, "default"
        )
        await world.sleep(60)
        assert failure(world) == ""
        assert await images(world) == {"member1": "nginx:1", "member2": "nginx:1"}

    play_in(UnaskedWorld, story, TWO)


def test_a_policy_that_cannot_be_read_holds_up_nothing_that_it_does_not_select_and_its_deletion_is_noticed() -> None:
    async def story(world: World) -> None:
        await world.stop_controllers()
        await open_definition(world)
        ours = overriding("ours", {"name": "other"}, resourceOverrider=[{"cpu": "1"}])
        await world.client.create(OVERRIDES, ours, "default")
        world.start_controllers()
        await web_runs(world)
        await apply(world.client, deployment("other", 1), policy("other", BOTH))
        await world.sleep(60)
        assert failure(world) == ""
        assert await images(world, "other") == {}
        await world.client.delete(OVERRIDES, "ours", "default")
        await world.sleep(60)
        assert failure(world, "other-deployment") == ""
        assert await images(world, "other") == {"member1": "nginx", "member2": "nginx"}

    play_in(UnaskedWorld, story, TWO)


def test_a_policy_that_cannot_be_read_may_select_by_a_label_that_is_overridden() -> None:
    async def story(world: World) -> None:
        await world.stop_controllers()
        await open_definition(world)
        by_label = {"labelSelector": {"matchLabels": {"tier": "front"}}}
        ours = overriding("ours", by_label, resourceOverrider=[{"cpu": "1"}])
        await world.client.create(OVERRIDES, ours, "default")
        added = [{"operator": "add", "value": {"tier": "front"}}]
        everywhere = overriding("front", {}, only("member1"), labelsOverrider=added)
        await world.client.create(CLUSTER_OVERRIDES, everywhere)
        world.start_controllers()
        await apply(world.client, deployment("web", 2), policy("web", BOTH))
        await world.sleep(60)
        assert await images(world) == {"member2": "nginx"}
        assert "OverridePolicy default/ours cannot be read, and may select this" in failure(world)
        await world.client.delete(OVERRIDES, "ours", "default")
        await world.sleep(60)
        assert failure(world) == ""
        assert await images(world) == {"member1": "nginx", "member2": "nginx"}

    play_in(UnaskedWorld, story, TWO)


def test_s14_a_policy_that_cannot_be_read_is_not_forgotten_while_its_kind_cannot_be_listed() -> None:
    """The control plane comes back, and bindings can be listed before override policies: what ran with them ran
    without, because what could not be read was forgotten when the next list began."""

    async def story(world: World) -> None:
        await world.client.create(OVERRIDES, overriding("ours", {"name": "web"}, imageOverrider=tagged("1")), "default")
        await web_runs(world)
        ours = {"member1": "nginx:1", "member2": "nginx:1"}
        assert await images(world) == ours
        await world.stop_controllers()
        await open_definition(world)
        rules = overriding("", imageOverrider=tagged("1"), resourceOverrider=[{"cpu": "1"}])["spec"]["overrideRules"]
        await world.client.patch(OVERRIDES, "ours", {"spec": {"overrideRules": rules}}, "default")
        world.start_controllers()
        await world.sleep(60)
        assert "OverridePolicy default/ours cannot be read" in failure(world)
        assert await images(world) == ours

        def unlisted(request: Request) -> Response | None:
            if not request.path.endswith("/overridepolicies"):
                return None
            watches = "watch" in request.query
            return status(410, "Expired") if watches else status(503, "ServiceUnavailable")

        answers(world.place, unlisted)
        world.place.link.interrupt()
        await world.sleep(120)
        assert await images(world) == ours

    play_in(UnaskedWorld, story, TWO)
