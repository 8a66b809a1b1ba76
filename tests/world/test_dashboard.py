"""News that a page of the dashboard gets while a story goes on: the same rows, sentences and instants as happen."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from kubeapi.loop.supervisor import Supervisor
from kubeclient import Client, Request, Response
from kubecluster.network import LinkedTransport
from leeward.api.resource import CLUSTERS, OUTAGES
from leeward.dashboard.following import KEPT_SECONDS, FleetFollower
from leeward.dashboard.frames import Frame
from leeward.dashboard.rights import NOTHING_SEEN, WHOLE_SIGHT, FleetSight, review_sight
from leeward.dashboard.views import FleetRenderer
from leeward.sim.world import ADMIN, World
from tests.security.worlds import namespaces, user_with
from tests.world.stories import apply, by_weight, deployment, held, in_world, policy, tasks
from tests.world.test_detection import answers, status

WEB = "default/Deployment/web"


class Page:
    """Knowledge of a browser that reads the feed of a scope: collections by name."""

    def __init__(
        self, world: World, supervisor: Supervisor, sight: FleetSight = WHOLE_SIGHT, client: Client | None = None
    ) -> None:
        self._follower = FleetFollower(client or world.client, world.clock, world.randomness, supervisor, "world")
        self._sight = sight
        self._id = ""
        self.collections: dict[str, dict[str, Any]] = {}
        self.resets = 0
        self.changes = 0
        self._reader, frames, self._leave = self._follower.open(sight, "")
        self._take(frames)

    def _take(self, frames: Iterable[Frame]) -> None:
        for frame in frames:
            data = json.loads(frame.plain.split(b"data: ", 1)[1])
            if "collections" in data:
                self.collections, self.resets = data["collections"], self.resets + 1
                continue
            self.changes += 1
            for name, objects in data["set"].items():
                self.collections.setdefault(name, {}).update(objects)
            for name, keys in data["unset"].items():
                for key in keys:
                    del self.collections[name][key]

    async def told(self, world: World, seconds: float = 6) -> None:
        """Reads all that is told of the next seconds."""
        end = world.seconds + seconds
        while (left := end - world.seconds) > 0:
            try:
                frame = await self._reader.next(left)
            except TimeoutError:
                return
            assert frame is not None
            self._take([frame])

    @property
    def fleet(self) -> dict[str, Any]:
        return self.collections["fleet"]["fleet"]

    @property
    def applications(self) -> dict[str, Any]:
        return self.collections["applications"]

    @property
    def web(self) -> dict[str, Any]:
        return self.applications[WEB]

    def coming(self) -> list[tuple[str, str]]:
        return [(line["word"], line["sentence"]) for line in self.fleet["coming"]]


def _fails(*_: object) -> None:
    raise ZeroDivisionError


def _lists(request: Request, path: str) -> bool:
    return request.path == path and "watch" not in request.query


async def placed(world: World, name: str = "web", weights: dict[str, int] | None = None) -> None:
    shares = weights or {"member1": 1, "member2": 2}
    await apply(world.client, deployment(name, 3), policy(name, by_weight(shares)))
    await world.until(lambda: sum(world.assigned(f"{name}-deployment").values()) == 3, 60)


@in_world()
async def test_a_page_watches_a_cluster_die_its_application_move_and_the_cluster_return(world: World) -> None:
    await placed(world)
    async with Supervisor("page") as supervisor:
        page = Page(world, supervisor)
        await page.told(world, 10)
        assert page.fleet["headline"] == "All 3 clusters are ready"
        assert page.fleet["detail"].startswith("1 application, 3 replicas, all in place.")
        assert (page.web["state"], page.web["ready"], page.web["wanted"]) == ("InPlace", 3, 3)

        await world.member("member1").stop()
        await page.told(world, 16)
        assert page.fleet["headline"] == "member1 is failing"
        assert page.collections["clusters"]["member1"]["state"] == "Failing"
        ((word, sentence),) = page.coming()
        assert (word, sentence) == ("Failing", "member1 counts as not Ready, unless it answers again")
        turns_at = page.fleet["coming"][0]["at"]

        await world.until(lambda: not world.is_ready("member1"), 60)
        await page.told(world)
        ready = world.cluster("member1").ready
        assert ready is not None
        assert ready.last_transition_time is not None
        assert turns_at == f"{ready.last_transition_time:%Y-%m-%dT%H:%M:%SZ}"
        assert page.fleet["headline"] == "1 of 1 application serves with fewer replicas"
        assert page.fleet["detail"].startswith("member1 has been down for ")
        assert page.web["state"] == "Due"
        assert page.web["next"] == "leaves member1"
        leaves_at = page.web["nextAt"]
        assert ("Due", "1 application leaves member1") in page.coming()
        (outage,) = page.collections["outages"].values()
        assert (outage["cluster"], outage["running"], outage["due"]) == ("member1", True, 1)

        await world.until(lambda: "member1" not in world.assigned("web-deployment"), 900)
        found = world.binding("web-deployment")
        assert found is not None
        (task,) = found.spec.graceful_eviction_tasks
        assert task.creation_timestamp is not None
        assert leaves_at == f"{task.creation_timestamp:%Y-%m-%dT%H:%M:%SZ}"
        await page.told(world, 1)
        assert page.web["state"] == "Moving"
        await page.told(world, 60)
        assert page.web["state"] == "Moved"
        assert page.fleet["states"]["Moved"] == 1
        assert page.fleet["detail"] == "1 of its 1 application runs elsewhere. Nothing needs you."

        await world.member("member1").start()
        await world.until(lambda: world.is_ready("member1"), 120)
        await page.told(world, 60)
        assert page.fleet["headline"] == "All 3 clusters are ready"
        assert "Last outage: member1 was down for" in page.fleet["detail"]
        assert page.web["state"] == "InPlace"
        assert page.resets == 1


@in_world()
async def test_what_is_held_is_told_first_and_needs_somebody(world: World) -> None:
    await placed(world, weights={"member1": 1})
    async with Supervisor("page") as supervisor:
        page = Page(world, supervisor)
        await world.member("member1").stop()
        await world.until(lambda: held(world, "web-deployment") == "NoPlaceToGo", 1200)
        await page.told(world)
        assert page.web["state"] == "Held"
        assert (page.web["next"], page.web["nextAt"]) == ("waits for free capacity", None)
        line = page.fleet["coming"][0]
        assert (line["word"], line["about"], line["at"]) == ("Held", f"application/{WEB}", None)
        assert line["sentence"].startswith("default/web: ")
        assert page.fleet["detail"].endswith("1 application needs somebody.")


@in_world()
async def test_a_control_plane_that_does_not_answer_is_told_and_what_was_known_stays(world: World) -> None:
    await placed(world)
    async with Supervisor("page") as supervisor:
        page = Page(world, supervisor)
        await page.told(world)
        assert page.fleet["silentSince"] is None
        world.crash_apiserver()
        await page.told(world, 20)
        assert page.fleet["silentSince"] is not None
        assert page.fleet["silence"]
        assert page.fleet["headline"] == "All 3 clusters are ready"
        assert set(page.collections["clusters"]) == {"member1", "member2", "member3"}
        await world.start_apiserver()
        await page.told(world, 30)
        assert page.fleet["silentSince"] is None


@pytest.mark.long
@pytest.mark.parametrize("code", [403, 500])
@in_world()
async def test_a_kind_that_cannot_be_followed_any_more_is_named_until_it_can_be(world: World, code: int) -> None:
    """The last state of the kind is what is shown: a cluster that dies now looks alive."""
    await placed(world)
    client = Client(LinkedTransport(world.place, ADMIN), "page")
    refused = False

    def refuse(request: Request) -> Response | None:
        is_ours = refused and request.headers["user-agent"] == "page"
        return status(code, "Forbidden") if is_ours and request.path.endswith("/clusters") else None

    answers(world.place, refuse)
    async with Supervisor("page") as supervisor:
        page = Page(world, supervisor, client=client)
        await page.told(world, 900)
        assert page.fleet["unseen"] == []
        refused = True
        await page.told(world, 600)
        await world.member("member1").stop()
        await world.until(lambda: not world.is_ready("member1"), 200)
        await page.told(world, 60)
        assert page.collections["clusters"]["member1"]["state"] == "Ready"
        assert page.fleet["unseen"] == ["clusters: cannot be followed any more, and are shown as they were"]
        refused = False
        await page.told(world, 60)
        assert page.collections["clusters"]["member1"]["state"] != "Ready"
        assert page.fleet["unseen"] == []


@pytest.mark.parametrize(
    ("part", "unseen", "is_told", "has_brake"),
    [
        ("/configmaps/leeward-brake", "the brake", True, False),
        ("/namespaces/karmada-system/leases", "the leases", False, True),
    ],
)
@in_world()
async def test_what_the_dashboard_itself_may_not_read_is_named_and_is_no_silence(
    world: World, part: str, unseen: str, is_told: bool, has_brake: bool
) -> None:
    await placed(world)
    client = Client(LinkedTransport(world.place, ADMIN), "page")

    def refuse(request: Request) -> Response | None:
        is_ours = request.headers["user-agent"] == "page" and part in request.path
        return status(403, "Forbidden") if is_ours else None

    answers(world.place, refuse)
    async with Supervisor("page") as supervisor:
        page = Page(world, supervisor, client=client)
        await page.told(world, 30)
        assert page.fleet["silentSince"] is None
        assert page.fleet["unseen"] == [f"{unseen}: the dashboard's own identity cannot read this"]
        assert (page.fleet["settingsTold"], page.fleet["brake"] is not None) == (is_told, has_brake)


@in_world()
async def test_the_card_of_the_brake_names_what_it_holds(world: World) -> None:
    await placed(world)
    async with Supervisor("page") as supervisor:
        page = Page(world, supervisor)
        await page.told(world, 10)
        assert page.fleet["brake"]["holds"] == ""
        for name in ("member1", "member2", "member3"):
            await world.member(name).stop()
        await page.told(world, 900)
        assert page.fleet["brake"]["engaged"]
        assert page.fleet["brake"]["holds"] == "1 application: default/web"


@in_world()
async def test_of_namespaces_that_a_user_may_not_see_no_name_is_told(world: World) -> None:
    await namespaces(world, "open", "closed")
    for name, namespace in (("shop", "open"), ("ledger", "closed")):
        manifests = deployment(name, 3), policy(name, by_weight({"member1": 1}))
        await apply(world.client, *manifests, namespace=namespace)
    await world.until(lambda: bool(world.assigned("ledger-deployment", "closed")), 60)
    jo = await user_with(world, "jo", "open", "work.karmada.io", "resourcebindings")
    sight = await review_sight(jo, "jo", {"open", "closed"})
    assert sight.namespaces == {"open"}
    assert not sight.clusters
    assert sight.shows("open")
    assert not sight.shows("closed")
    assert not sight.shows("")
    assert any("jo may not list resourcebindings.work.karmada.io in all namespaces" in each for each in sight.missing)
    async with Supervisor("page") as supervisor:
        page = Page(world, supervisor, sight)
        await world.member("member1").stop()
        await world.until(lambda: not world.is_ready("member1"), 120)
        await page.told(world, 10)
        assert list(page.applications) == ["open/Deployment/shop"]
        told = json.dumps(page.collections)
        assert "ledger" not in told
        assert page.collections["clusters"] == page.collections["outages"] == page.collections["policies"] == {}
        assert page.fleet["mood"] == "Hidden"
        assert page.fleet["brake"] is None
        assert page.fleet["hidden"]


@in_world()
async def test_of_an_outage_the_figures_are_told_and_only_the_names_that_may_be_seen(world: World) -> None:
    await placed(world, weights={"member1": 1})
    async with Supervisor("page") as supervisor:
        page = Page(world, supervisor, replace(WHOLE_SIGHT, namespaces=frozenset({"other"})))
        await world.member("member1").stop()
        await world.until(lambda: held(world, "web-deployment") == "NoPlaceToGo", 1200)
        await page.told(world, 60)
        (outage,) = page.collections["outages"].values()
        assert (outage["applications"], outage["held"]) == (1, 1)
        assert "web" not in json.dumps({**page.collections, "policies": {}})


@in_world()
async def test_who_looks_between_two_writes_of_an_outage_sees_it_as_it_stands(world: World) -> None:
    """The object waits with what has become of applications; and names nobody more for that."""
    await placed(world)
    async with Supervisor("page") as supervisor:
        page = Page(world, supervisor)
        stranger = Page(world, supervisor, replace(WHOLE_SIGHT, namespaces=frozenset()))
        await page.told(world, 10)
        await world.member("member1").stop()
        await world.until(lambda: world.assigned("web-deployment") == {"member2": 3}, 700)
        await world.until(lambda: not tasks(world, "web-deployment"), 60)
        await page.told(world, 1)
        (outage,) = (await world.client.list(OUTAGES)).items
        assert (outage.status.due, outage.status.moved) == (1, 0), "not written yet"
        assert (page.fleet["states"].get("Due", 0), page.fleet["states"]["Moved"]) == (0, 1)
        (row,) = page.collections["outages"].values()
        assert row["tally"] == "1 of 1 application moved"
        await stranger.told(world, 1)
        (row,) = stranger.collections["outages"].values()
        assert row["tally"] == "1 of 1 application moved"
        assert "web" not in json.dumps({**stranger.collections, "policies": {}})


@in_world()
async def test_a_control_plane_that_keeps_no_outages_is_shown_without_them(world: World) -> None:
    await placed(world)
    answers(world.place, lambda request: status(404, "NotFound") if "/outages" in request.path else None)
    async with Supervisor("page") as supervisor:
        page = Page(world, supervisor)
        await page.told(world, 12)
        assert page.fleet["headline"] == "All 3 clusters are ready"
        assert page.fleet["unseen"] == []
        assert page.collections["outages"] == {}


@in_world()
async def test_who_sees_nothing_is_told_nothing(world: World) -> None:
    await placed(world)
    async with Supervisor("page") as supervisor:
        page = Page(world, supervisor, NOTHING_SEEN)
        await page.told(world)
        assert {name for name, objects in page.collections.items() if objects} == {"fleet"}
        assert "member1" not in json.dumps(page.collections)


@in_world()
async def test_who_comes_first_finds_the_fleet_rendered_and_nobody_renders_it_for_nobody(world: World) -> None:
    await placed(world)
    async with Supervisor("page") as supervisor:
        follower = FleetFollower(world.client, world.clock, world.randomness, supervisor, "world")
        follower.start()
        await world.sleep(30)
        reader, frames, leave = follower.open(WHOLE_SIGHT, "")
        assert b"All 3 clusters are ready" in frames[0].plain
        leave()
        reader.end()
        await world.sleep(KEPT_SECONDS + 30)
        rested = follower.renders
        await world.client.patch(CLUSTERS, "member2", {"spec": {"region": "eu"}})
        await world.sleep(600)
        assert follower.renders == rested
        reader, frames, _ = follower.open(WHOLE_SIGHT, "")
        assert frames == []
        first = await reader.next(0.1)
        assert first is not None
        assert first.plain.startswith(b"event: reset")
        assert b'"region":"eu"' in first.plain


@in_world()
async def test_a_storm_of_changes_is_few_versions(world: World) -> None:
    await placed(world)
    async with Supervisor("page") as supervisor:
        page = Page(world, supervisor)
        await page.told(world)
        before = page.changes
        for number in range(50):
            await world.client.patch(CLUSTERS, "member2", {"metadata": {"labels": {"n": str(number)}}})
        await world.client.patch(CLUSTERS, "member2", {"spec": {"region": "eu"}})
        await page.told(world, 2)
        assert page.collections["clusters"]["member2"]["region"] == "eu"
        assert page.changes - before <= 2


@in_world()
async def test_a_binding_that_cannot_be_read_is_told_and_hides_no_other(world: World) -> None:
    await placed(world)
    async with Supervisor("page") as supervisor:
        unreadable = (
            b'{"kind":"ResourceBindingList","metadata":{"resourceVersion":"1"},"items":[{"metadata":{"name":"odd",'
        )
        unreadable += b'"namespace":"default"},"spec":{"resource":7}}]}'
        listed = "/apis/work.karmada.io/v1alpha2/resourcebindings"
        answers(world.place, lambda request: Response(200, unreadable) if _lists(request, listed) else None)
        page = Page(world, supervisor)
        await page.told(world, 10)
        assert list(page.applications) == [WEB]
        (finding,) = (each for each in page.fleet["findings"] if each["about"] == "bindings")
        assert finding["sentence"] == "1 binding cannot be read: default/odd"


@in_world()
async def test_what_cannot_be_rendered_ends_the_stream_so_that_no_page_looks_live(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Supervisor("page") as supervisor:
        page = Page(world, supervisor)
        await page.told(world)
        monkeypatch.setattr(FleetRenderer, "render", _fails)
        with pytest.raises(AssertionError, match="None is not None"):
            await page.told(world, 20)
